"""``qcore check``: would it be taken, without doing any of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli import exits
from qcore.cli.output import Result, columns, printable
from qcore.cli.recipes import RecipeOption, describe_rules, rule_lines
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.capability import Verdict


def run(
    settings: Settings,
    file: Annotated[Path | None, typer.Argument(help="Ask about each tensor of this file.")] = None,
    *,
    scheme: Annotated[
        str | None,
        typer.Option("--scheme", "-s", help="A scheme's text or a preset's name, for its float tensors."),
    ] = None,
    recipe: RecipeOption = None,
    shape: Annotated[str | None, typer.Option(help="Ask about one tensor of this shape: R,C.")] = None,
    on: Annotated[
        str | None, typer.Option(help="A backend or target, such as cpu, burn-cubecl or gguf.")
    ] = None,
    calibration: Annotated[str | None, typer.Option(help="minmax, absmean, percentile[:P] or mse.")] = None,
) -> Result:
    """With --on, exit code 3 on any refusal. Without, every backend is asked to quantize and every target to load.

    With --recipe, the whole recipe is held against the file: every refusal by name, rules that decide nothing, and
    what each rule makes; exit code 3 on any refusal.

    Without either, the file's own quantized tensors are asked about: would they load as they are?
    """
    if recipe is not None:
        if scheme is not None or file is None:
            got = "--scheme too" if scheme is not None else "no file"
            raise errors.build("option-value", option="--recipe", expected="a file, and no --scheme", got=got)
        return _under_recipe(settings, file, recipe, on)
    if scheme is None:
        return _as_they_are(settings, file, on)
    tensors = list(_tensors(settings, file, shape))
    if on is None:
        return _surveyed(scheme, tensors)
    from qcore.capability import check, row_of

    op = row_of(on)[0].survey_op
    verdicts = [
        (name, dims, check(scheme, dims, op=op, on=on, dtype=dtype, calibration=calibration))
        for name, dims, dtype in tensors
    ]
    lines = [line for name, dims, verdict in verdicts for line in _lines(name, dims, verdict)]
    refused = sum(not verdict for *_, verdict in verdicts)
    lines.append(f"{op} {printable(scheme)} on {on}: {len(verdicts) - refused} fine, {refused} refused")
    rows = [{"name": name, "shape": list(dims), **_document(verdict)} for name, dims, verdict in verdicts]
    document = {"scheme": scheme, "on": on, "op": op, "ok": not refused, "tensors": rows}
    return Result(document, lines, exits.REFUSED if refused else exits.OK)


def _as_they_are(settings: Settings, file: Path | None, on: str | None) -> Result:
    """Ask whether the quantized tensors of a file load."""
    from qcore.capability import TABLE, check

    if file is None:
        raise errors.build("option-value", option="check", expected="a file or --scheme", got="neither")
    with settings.open(file) as reader:
        infos = [reader.info(name) for name in reader.names()]
    quantized = [(info, info.scheme) for info in infos if info.scheme is not None]
    if not quantized:
        raise errors.build("nothing-selected", path=str(file), count=len(infos))
    places: dict[str, Any] = {}
    lines: list[str] = []
    table = []
    for place in TABLE if on is None else (on,):
        answers = [
            (info, check(scheme, info.shape, op="load", on=place, codebook=scheme.is_lookup))
            for info, scheme in quantized
        ]
        if on is not None:
            lines += [line for info, verdict in answers for line in _lines(info.name, info.shape, verdict)]
        refused = [(info.name, verdict) for info, verdict in answers if not verdict]
        first = f"{short(refused[0][1])} ({refused[0][0]})" if refused else ""
        fine = len(answers) - len(refused)
        table.append(
            (place, f"{fine} load" if not refused else f"{fine} load, {len(refused)} refused", first)
        )
        refusals = [{"name": name, **_document(verdict)} for name, verdict in refused]
        places[place] = {"op": "load", "fine": fine, "refused": refusals}
    lines += columns(("where", "answer", "first refusal"), table)
    bad = on is not None and any(place["refused"] for place in places.values())
    document = {"path": str(file), "on": on, "tensors": len(quantized), "places": places}
    return Result(document, lines, exits.REFUSED if bad else exits.OK)


def _under_recipe(settings: Settings, file: Path, path: Path, on: str | None) -> Result:
    """Hold a recipe against a file."""
    from qcore.capability import check, row_of
    from qcore.recipe import Recipe

    recipe = Recipe.load(path)
    with settings.open(file) as reader:
        plan = recipe.plan([reader.info(name) for name in reader.names()])
    refusals = list(plan.refusals)
    if on is not None:
        op = row_of(on)[0].survey_op
        for decision in plan.chosen:
            after = decision.after
            assert after.scheme is not None
            verdict = check(after.scheme, after.shape, op=op, on=on, codebook=after.codebook is not None)
            refusals += [error.for_tensor(decision.name) for error in verdict.refusals]
    lines = rule_lines(plan)
    for error in refusals:
        lines.append(f"error[{error.code}]: {printable(str(error.tensor))}: {error}")
        lines += [f"    - {solution}" for solution in error.solutions]
    where = "" if on is None else f" on {on}"
    lines.append(f"{printable(str(path))}{where}: {len(plan.chosen)} of {len(plan)} tensors, {len(refusals)} refused")
    document = {
        "path": str(file), "recipe": str(path), "on": on, "ok": not refusals, "rules": describe_rules(plan),
        "dead_rules": list(plan.dead),
        "refusals": [{"name": error.tensor, **_refusal(error)} for error in refusals],
    }  # fmt: skip
    notes = [f"warning: {sentence}" for sentence in plan.dead]
    return Result(document, lines, exits.REFUSED if refusals else exits.OK, notes)


def _tensors(
    settings: Settings, file: Path | None, shape: str | None
) -> Iterator[tuple[str, tuple[int, ...], str]]:
    if (file is None) == (shape is None):
        got = "neither" if file is None else "both"
        raise errors.build("option-value", option="check", expected="a file or --shape", got=got)
    if shape is not None:
        yield f"[{shape}]", parse_shape(shape), "f32"
    if file is not None:
        from qcore.recipe import FLOATS

        with settings.open(file) as reader:
            infos = [reader.info(name) for name in reader.names()]
        floats = [info for info in infos if info.dtype in FLOATS]
        if not floats:
            raise errors.build("nothing-selected", path=str(file), count=len(infos))
        yield from ((info.name, info.shape, FLOATS[info.dtype]) for info in floats if info.dtype)


def parse_shape(text: str) -> tuple[int, ...]:
    """Read ``R,C`` or ``RxC``.

    Examples
    --------
    >>> parse_shape("4096,4096"), parse_shape("2x3x4")
    ((4096, 4096), (2, 3, 4))
    """
    words = text.replace("x", ",").split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise errors.build(
            "option-value", option="--shape", expected="whole numbers, as in 4096,4096", got=text
        )
    return tuple(int(word) for word in words)


def short(verdict: Verdict) -> str:
    """The first refusal in one line; the scheme, which stands above, is not spelled out again."""
    import re

    error = verdict.refusals[0]
    return f"[{error.code}] " + re.sub(r"QuantScheme \{.*\}", "QuantScheme { ... }", str(error))


def _lines(name: str, shape: tuple[int, ...], verdict: Verdict) -> Iterator[str]:
    dims = "x".join(map(str, shape))
    if verdict:
        yield f"{printable(name)} {dims}: fine"
    for error in verdict.refusals:
        yield f"error[{error.code}]: {printable(name)} {dims}: {error}"
        yield from (f"    - {solution}" for solution in error.solutions)


def _document(verdict: Verdict) -> dict[str, Any]:
    return {"ok": bool(verdict), "refusals": [_refusal(error) for error in verdict.refusals]}


def _refusal(error: errors.QuantError) -> dict[str, Any]:
    return {
        "code": error.code, "message": str(error), "cause": error.cause, "solutions": list(error.solutions)
    }  # fmt: skip


def _surveyed(scheme: str, tensors: list[tuple[str, tuple[int, ...], str]]) -> Result:
    from qcore.capability import TABLE, check

    places: dict[str, Any] = {}
    rows = []
    for place, row in TABLE.items():
        answers = [
            (name, check(scheme, dims, op=row.survey_op, on=place, dtype=dtype))
            for name, dims, dtype in tensors
        ]
        refused = [(name, verdict) for name, verdict in answers if not verdict]
        told = (
            f"{len(answers)} fine"
            if not refused
            else f"{len(answers) - len(refused)} fine, {len(refused)} refused"
        )
        first = f"{short(refused[0][1])} ({refused[0][0]})" if refused else ""
        rows.append((place, row.survey_op, told, first))
        refusals = [{"name": name, **_document(verdict)} for name, verdict in refused]
        places[place] = {"op": row.survey_op, "fine": len(answers) - len(refused), "refused": refusals}
    lines = columns(("where", "asked", "answer", "first refusal"), rows)
    return Result({"scheme": scheme, "tensors": len(tensors), "places": places}, lines)
