"""``qcore quantize``: the tensors of a file into another."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.arranging import ConventionOption, LayoutOption, MapOption, arrange
from qcore.cli.jobs import Job, describe, kept_lines, run_jobs, totals
from qcore.cli.output import Result, columns, printable
from qcore.cli.recipes import (
    RecipeOption,
    SchemeOption,
    asked_recipe,
    describe_rules,
    resolved_settings,
    rule_lines,
)
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.protocol import StoredReader

_WORST = 5
_END = 1 << 20


def run(
    settings: Settings,
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A .safetensors, .bpk, .gguf, .npz, .npy or .pt file, or a folder.")
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file to write: .safetensors, .bpk, .gguf or .npz; no suffix: a folder."),
    ],
    scheme: SchemeOption = None,
    recipe: RecipeOption = None,
    calibration: Annotated[str | None, typer.Option(help="minmax, absmean, percentile[:P] or mse.")] = None,
    scale_rounding: Annotated[str | None, typer.Option(help="up, nearest, floor or even.")] = None,
    rounding: Annotated[
        str | None, typer.Option(help="half-away or half-even. [default: half-away]")
    ] = None,
    nonfinite: Annotated[str | None, typer.Option(help="raise or saturate. [default: raise]")] = None,
    codebook: Annotated[str | None, typer.Option(help="A table's name, or an .npy file with one.")] = None,
    tied: Annotated[str | None, typer.Option(help="row: one calibration for each row.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Quantize only names that match a glob.")] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "--keep-float", help="Keep names that match a glob as they are."),
    ] = None,
    on_invalid: Annotated[
        str | None, typer.Option(help="error, or float: keep what a scheme cannot take. [default: error]")
    ] = None,
    layout: LayoutOption = None,
    map_file: MapOption = None,
    convention: ConventionOption = None,
    whole_digest: Annotated[
        bool, typer.Option("--source-digest", help="Record a digest of the whole input, which is read once more.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do none of it.")
    ] = False,
) -> Result:
    """Give --scheme for all tensors, or --recipe for a TOML file of rules.

    Tensors that are not floats, or quantized already, are kept as they are. A float tensor that its scheme
    cannot take is an error before any work starts, unless --on-invalid float keeps it. Nothing is written unless
    everything succeeds. --layout and --map transpose before anything is quantized; a .bpk asks for one of them.
    Options given here win over those of a recipe.
    """
    from qcore.formats.checkpoint_save import is_folder
    from qcore.formats.store import hold_destination, hold_form

    row = hold_destination(out, overwrite=None if dry_run else settings.overwrite)
    asked = asked_recipe(scheme, recipe)
    words: dict[str, Any] = {
        "calibration": calibration, "codebook": _table(codebook, settings), "rounding": rounding,
        "scale_rounding": scale_rounding, "tied": tied, "nonfinite": nonfinite,
    }  # fmt: skip
    with settings.open(source) as reader:
        layout = layout or asked.settings.get("layout")
        arranged = arrange(
            reader, row, layout, map_file, folder=is_folder(out), rules=asked.moving
        )  # fmt: skip
        plan = asked.plan(
            arranged.infos,
            arranged=[
                (move, deferred.info)
                for move, deferred in zip(arranged.moves, arranged.tensors, strict=True)
            ],
            include=include or (), exclude=exclude or (), overrides=words, on_invalid=on_invalid,
            backend=settings.backend, threads=settings.threads,
            hold=partial(hold_form, path=out, convention=convention),
        )  # fmt: skip
        plan.demand()
        jobs = [
            Job(decision.info, decision.after, decision.kept, decision.ask or None, source=deferred)
            for decision, deferred in zip(plan, arranged.tensors, strict=True)
        ]
        chosen = [job for job in jobs if job.kept is None]
        if not chosen:
            raise errors.build("nothing-selected", path=str(source), count=len(jobs))
        if row.name == "npy":
            what = f"a quantized tensor ({chosen[0].after.scheme})"
            raise errors.build(
                "file-cannot-hold", tensor=chosen[0].info.name, path=str(out), format="npy", what=what
            )
        resolved = resolved_settings(plan, words, settings)
        # threads are told, and kept out of the record: the bytes do not depend on them
        shown = {**resolved, "threads": settings.threads}
        told = [f"  {key}: {value}" for key, value in shown.items() if value is not None]
        settings.note("\n".join((f"{source} -> {out}", *told)))
        globs = [("--include", glob) for glob in include or ()] + [
            ("--exclude", glob) for glob in exclude or ()
        ]
        notes = list(arranged.notes)
        notes += [
            f"warning: {option} {glob} matches nothing"
            for option, glob in globs
            if not any(fnmatchcase(job.info.name, glob) for job in jobs)
        ]
        notes += [f"warning: {sentence}" for sentence in plan.dead]
        document: dict[str, Any] = {
            "source": str(source),
            "out": str(out),
            "settings": resolved,
            "dry_run": dry_run,
            "rules": describe_rules(plan),
            "dead_rules": list(plan.dead),
        }
        if dry_run:
            lines = [*_plan_lines(chosen), "", *rule_lines(plan), "", *kept_lines(jobs), totals(jobs)]
            return Result({**document, **describe(jobs)}, lines, notes=notes)
        made = _provenance(reader, {**resolved, "layout": layout}, whole=whole_digest)
        run_jobs(settings, reader, jobs, out, made, metadata=arranged.texts, convention=convention)
    lines = [*_worst_lines(chosen), *kept_lines(jobs), totals(jobs), f"wrote {printable(str(out))}"]
    return Result({**document, **describe(jobs)}, lines, notes=notes)


def _table(text: str | None, settings: Settings) -> Any:
    if text is None or not text.lower().endswith(".npy"):
        return text
    with settings.open(Path(text)) as reader:
        return reader.tensor(reader.names()[0])


def _provenance(reader: StoredReader, resolved: dict[str, Any], *, whole: bool) -> dict[str, str]:
    """How the output says it was made; the same input and settings give the same texts.

    The input is told by its length and a digest of its ends, where its header lies, unless one of the whole is asked
    for.
    """
    from qcore.formats.digests import digest
    from qcore.formats.source import pieces

    size = reader.source.size
    begin = size if whole else min(_END, size)
    end = max(size - _END, begin)
    read = chain(pieces(reader.source, 0, begin), pieces(reader.source, end, size - end))
    told = {"source_bytes": str(size), "source_digest" if whole else "source_ends": digest(read)}
    settings = {key: str(value) for key, value in resolved.items() if value is not None}
    return {"command": "quantize", **told, **settings}


def _plan_lines(chosen: Sequence[Job]) -> list[str]:
    rows = [
        (job.info.name, "x".join(map(str, job.info.shape)), f"{job.info.nbytes:,}", f"{job.after.nbytes:,}",
         f"{job.after.bits_per_weight:.2f}", job.after.kind)
        for job in chosen
    ]  # fmt: skip
    return columns(("tensor", "shape", "before", "after", "bits/w", "scheme"), rows, right="llrrr")


def _worst_lines(chosen: Sequence[Job]) -> list[str]:
    measured = [(job, job.report) for job in chosen if job.report is not None]
    measured.sort(key=lambda pair: pair[1].sqnr_db)
    rows = [
        (job.info.name, "x".join(map(str, job.info.shape)), f"{report.sqnr_db:.2f}", f"{report.max_abs:.4g}",
         f"{job.after.bits_per_weight:.2f}")
        for job, report in measured[:_WORST]
    ]  # fmt: skip
    title = (
        "all tensors, the worst first:"
        if len(measured) <= _WORST
        else f"the worst {_WORST} of {len(measured)} tensors:"
    )
    return [title, *columns(("tensor", "shape", "SQNR dB", "max error", "bits/w"), rows, right="llrrr")]
