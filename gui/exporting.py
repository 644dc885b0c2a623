"""What can be taken along: tables, arrays, recipes, reports, code."""

from __future__ import annotations

import csv
import html
import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

import qcore
from qcore import errors
from qcore.scheme.resolve import resolve

from .lens import NotShown, lens_of
from .present import export_tables, png
from .source import Session
from .state import Choice, State

CODE: Final = ("rust", "python", "cli")


def write(what: str, path: str, state: State, session: Session, token: Any) -> None:
    """Write what was asked for; the suffix of ``path`` is the person's business."""
    kind, _, part = what.partition(":")
    if kind == "npy":
        _write_array(part, path, state, session)
        return
    text = {
        "csv": lambda: to_csv(*export_tables.TABLES[part](state)),
        "recipe": lambda: recipe(state),
        "report": lambda: report(state),
        "json": lambda: json.dumps(facts(state), indent=2),
    }[kind]()
    with qcore_atomic(path) as file:
        file.write(text.encode())
    if kind == "report":
        with qcore_atomic(str(Path(path).with_suffix(".json"))) as file:
            file.write(json.dumps(facts(state), indent=2).encode())


def qcore_atomic(path: str) -> Any:
    """Open a file that appears whole or not at all; the file dialog has asked whether one may be replaced."""
    from qcore.formats.atomic import atomic_write

    return atomic_write(Path(path), overwrite=True)


def _write_array(part: str, path: str, state: State, session: Session) -> None:
    if state.selected is None:
        raise NotShown("Select a tensor first.")
    matrix = session.matrix(state.selected.name)
    if matrix.array is None:
        raise NotShown("A tensor this large is written by `qcore dequantize`, not from here.")
    lens = lens_of(matrix, state.choice)
    decoded = lens.q.dequantize()  # type: ignore[union-attr]  # a matrix in memory has the whole lens
    with np.errstate(invalid="ignore"):
        array = decoded if part == "dequantized" else decoded - matrix.array.astype(np.float32)
    qcore.save(path, {state.selected.name: array}, overwrite=True)


def to_csv(headers: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    r"""Write a table as CSV.

    Examples
    --------
    >>> to_csv(("a", "b"), [(1, "x,y")])
    'a,b\n1,"x,y"\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return out.getvalue()


def code(choice: Choice, what: str, tensor: str = "x") -> str:
    """Write a choice as a program would: ``rust``, ``python`` or ``cli``.

    Examples
    --------
    >>> code(Choice("q4s/u32/b32:f16", calibration="mse"), "cli")
    'qcore quantize model.safetensors -o out.safetensors --scheme q4s/u32/b32:f16 --calibration mse'
    """
    options = [
        (name, value)
        for name, value in (("calibration", choice.calibration), ("scale_rounding", choice.scale_rounding))
        if value is not None
    ]
    if choice.rounding != "half-away":
        options.append(("rounding", choice.rounding))
    if what == "rust":
        return resolve(choice.scheme).scheme.to_rust()
    if what == "python":
        words = "".join(f", {name}={value!r}" for name, value in options)
        return f"import qcore\n\nq = qcore.quantize({tensor}, {choice.scheme!r}{words})\n"
    flags = "".join(f" --{name.replace('_', '-')} {value}" for name, value in options)
    return f"qcore quantize model.safetensors -o out.safetensors --scheme {choice.scheme}{flags}"


def recipe(state: State) -> str:
    """Write the rules that were collected as TOML, the first that matches wins.

    Examples
    --------
    >>> print(recipe(State(recipe=(("a.weight", "int4-b32"),))), end="")
    # qcore recipe: the first rule whose pattern matches a tensor's name applies
    [[rule]]
    match = "a.weight"
    scheme = "int4-b32"
    """
    lines = ["# qcore recipe: the first rule whose pattern matches a tensor's name applies"]
    for name, scheme in state.recipe:
        lines += ["[[rule]]", f"match = {json.dumps(name)}", f"scheme = {json.dumps(scheme)}"]
    return "\n".join(lines) + "\n"


def facts(state: State) -> dict[str, Any]:
    """Collect what a report says, as plain data."""
    row = state.selected
    found: dict[str, Any] = {
        "schema": "qcore.inspector/1",
        "qcore": qcore.__version__,
        "file": None if state.file is None else state.file.title,
        "tensor": None if row is None else {"name": row.name, "shape": list(row.shape), "dtype": row.kind},
    }
    for letter in ("a", "b"):
        choice, measured = getattr(state, f"choice_{letter}"), getattr(state, f"measured_{letter}")
        refused = getattr(state, f"refused_{letter}")
        if choice is None:
            continue
        found[letter] = {
            "scheme": choice.scheme, "calibration": choice.calibration, "scale_rounding": choice.scale_rounding,
            "rounding": choice.rounding, "refused": None if refused is None else f"[{refused.title}] {refused.text}",
        }  # fmt: skip
        if measured is not None:
            names, rows = export_tables.metrics(measured)
            found[letter]["metrics"] = dict(zip(names, rows[0], strict=True))
    if state.sweep is not None:
        found["sweep"] = {"note": state.sweep_note, **json.loads(state.sweep.to_json())}
    return found


def report(state: State) -> str:
    """Write one page of HTML that needs nothing else: what is shown, its numbers, the sweep."""
    row = state.selected
    title = "qcore report" if row is None else f"{row.name} \u00b7 {state.choice.scheme}"
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if row is not None and state.file is not None:
        where = f"{state.file.title}: shape {list(row.shape)}, {row.kind}"
        parts.append(f"<p>{html.escape(where)} \u00b7 qcore {qcore.__version__}</p>")
    for refused in (state.refused_a, state.refused_b):
        if refused is not None:
            todo = "".join(f"<li>{html.escape(text)}</li>" for text in refused.solutions)
            head = f"<h2>Refused: {html.escape(refused.title)}</h2><p>{html.escape(refused.text)}</p>"
            parts.append(f"{head}<ul>{todo}</ul>")
    if state.picture is not None and state.picture.cells.size:
        caption = f"{state.picture.what}, rows {state.picture.top}\u2013{state.picture.bottom}, columns \
{state.picture.left}\u2013{state.picture.right}, colours {state.picture.low:.4g} to {state.picture.high:.4g}"
        parts.append(f"<figure>{png.image(state.picture)}<figcaption>{html.escape(caption)}</figcaption></figure>")
    for name in ("metrics", "worst blocks", "sweep"):
        headers, rows = export_tables.TABLES[name](state)
        if rows:
            parts.append(f"<h2>{name.capitalize()}</h2>{_table(headers, rows)}")
    if state.sweep is not None and state.sweep_note:
        parts.append(f"<p>{html.escape(state.sweep_note)}</p>")
    try:
        parts.append(f"<h2>The scheme</h2><pre>{html.escape(code(state.choice, 'rust'))}</pre>")
    except errors.QuantError:
        parts.append(f"<h2>The scheme</h2><pre>{html.escape(state.choice.scheme)}</pre>")
    style = "body{font:15px system-ui;margin:2em;max-width:70em}td,th{padding:.2em .8em;text-align:right;\
border-bottom:1px solid #ccc}td:first-child,th:first-child{text-align:left}img{image-rendering:pixelated;width:100%}"
    head = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style>"
    return head + "".join(parts)


def _table(headers: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    head = "".join(f"<th>{html.escape(h)}</th>" for h in headers)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(v))}</td>" for v in r) + "</tr>" for r in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
