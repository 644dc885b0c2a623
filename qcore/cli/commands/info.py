"""``qcore info``: what a file holds."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore.cli.output import Result, columns, human_bytes, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.protocol import StoredReader, TensorInfo


def run(
    settings: Settings,
    files: Annotated[list[Path], typer.Argument(help="Files to list.")],
    tree: Annotated[bool, typer.Option("--tree", help="Indent names by their dots.")] = False,
    pattern: Annotated[str | None, typer.Option(help="List only names that match this glob.")] = None,
) -> Result:
    """Nothing but headers is read."""
    documents: list[dict[str, Any]] = []
    lines: list[str] = []
    notes: list[str] = []
    for file in files:
        with settings.open(file) as reader:
            infos = [
                reader.info(name) for name in reader.names() if pattern is None or fnmatchcase(name, pattern)
            ]
            if settings.json:  # whole: a vocabulary takes a while
                documents.append(_document(reader, infos))
            notes += [f"{printable(str(file))}: {note}" for note in reader.notes]
            lines += ["", *_lines(reader, infos, tree)] if lines else _lines(reader, infos, tree)
    return Result({"files": documents}, lines, notes=notes)


def _document(reader: StoredReader, infos: Sequence[TensorInfo]) -> dict[str, Any]:
    tensors = [
        {
            "name": info.name,
            "shape": list(info.shape),
            "dtype": info.dtype,
            "scheme": None if info.scheme is None else str(info.scheme),
            "parameters": info.size,
            "nbytes": info.nbytes,
            "bits_per_weight": round(info.bits_per_weight, 4),
            "rules": dict(info.rules),
            "origin": info.origin,
            "fidelity": info.fidelity,
        }
        for info in infos
    ]
    totals = {"parameters": sum(i.size for i in infos), "nbytes": sum(i.nbytes for i in infos)}
    return {
        "path": str(reader.path),
        "format": reader.format,
        "metadata": dict(sorted(reader.metadata.items())),
        "notes": list(reader.notes),
        "tensors": tensors,
        **totals,
    }


def _lines(reader: StoredReader, infos: Sequence[TensorInfo], tree: bool) -> list[str]:
    lines = [f"{printable(str(reader.path))}: {reader.format}, {len(infos)} tensors"]
    # how the keys were laid out is for writers, and finding out takes a look at every key
    names = sorted(key for key in reader.text_names() if key != "gguf.layout")
    lines += [f"  {printable(key)}: {printable(reader.brief(key))}" for key in names]
    rows: list[tuple[object, ...]] = []
    above: list[str] = []
    for info in sorted(infos, key=lambda info: info.name.split(".")) if tree else infos:
        path = info.name.split(".") if tree else [info.name]
        shared = _shared(above, path[:-1])
        rows += [("  " * depth + path[depth], *[""] * 5) for depth in range(shared, len(path) - 1)]
        above = path[:-1]
        shape = "x".join(map(str, info.shape)) or "scalar"
        bits = f"{info.bits_per_weight:.2f}"
        kind = f"{info.kind} ({info.origin})" if info.origin else info.kind
        rows.append(("  " * len(above) + path[-1], shape, kind, f"{info.size:,}", f"{info.nbytes:,}", bits))
    lines += columns(
        ("name", "shape", "dtype or scheme", "parameters", "bytes", "bits/w"), rows, right="lllrrr"
    )
    size, nbytes = sum(i.size for i in infos), sum(i.nbytes for i in infos)
    average = 8 * nbytes / size if size else 0.0
    lines.append(f"{size:,} parameters, {nbytes:,} bytes ({human_bytes(nbytes)}), {average:.2f} bits/weight")
    return lines


def _shared(above: Sequence[str], path: Sequence[str]) -> int:
    count = 0
    for mine, theirs in zip(path, above, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
