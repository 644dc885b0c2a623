"""``qcore convert``: the same tensors in another format, or lying the other way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore.cli.arranging import Arrangement, ConventionOption, LayoutOption, MapOption, arrange
from qcore.cli.output import Result, columns, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.orientation import Move
    from qcore.formats.protocol import StoredReader, TensorInfo
    from qcore.formats.table import FileFormat

_WORDS = ("exact", "lossless", "requantized")
"""From the best to the worst."""
_TARGETS = ("burn-flex", "burn-cubecl")


def run(
    settings: Settings,
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A .safetensors, .bpk, .gguf, .npz, .npy or .pt file, or a folder.")
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    to: Annotated[
        str | None, typer.Option(help="The format to write. [default: what the suffix names]")
    ] = None,
    layout: LayoutOption = None,
    map_file: MapOption = None,
    convention: ConventionOption = None,
    burn: Annotated[
        str | None,
        typer.Option(help="The Burn version to write a .bpk for: 0.19 to 0.22. [default: the newest]"),
    ] = None,
) -> Result:
    """Each tensor is told with a word: exact (only bits move), lossless (equal values after arithmetic), requantized.

    A .bpk is not written from a file of another format with matrices unless --layout or --map says how they lie:
    Burn keeps linear weights as [in, out], nearly everyone else as [out, in]. Names decide what a layout turns: the
    weight of anything but an embedding is transposed, weight and bias of a norm become gamma and beta.
    """
    from qcore import formats
    from qcore.formats.checkpoint_save import is_folder
    from qcore.formats.store import hold_destination

    row = hold_destination(out, overwrite=settings.overwrite, format=to)
    with settings.open(source) as reader:
        done, total = [0], len(reader)

        def said(name: str) -> None:
            settings.progress(done[0], total, name)
            done[0] += 1

        arranged = arrange(reader, row, layout, map_file, said, folder=to is None and is_folder(out))
        notes = list(arranged.notes)
        keep: dict[str, Any] = {
            "overwrite": settings.overwrite, "burn": burn, "format": to,
            "provenance": _provenance(reader, layout, map_file, row), "convention": convention,
            "companions": reader.folder,
        }  # fmt: skip
        if reader.format == row.name and arranged.is_nothing:
            notes.append(f"note: {printable(str(source))} has this format already; it is written again")
            formats.save(out, reader, **keep)
        else:
            tensors = {deferred.info.name: deferred for deferred in arranged.tensors}
            formats.save(out, tensors, arranged.texts, like=reader, **keep)
        settings.progress(total, total, "")
        lookups = sum(info.scheme is not None and info.scheme.is_lookup for info in arranged.infos)
        if row.name == "burnpack" and lookups:
            notes.append(
                f"note: {lookups} lookup tensors keep their tables by a convention of qcore: nothing in Burn "
                "loads them"
            )
    return _result(source, out, row, arranged, notes)


def _provenance(
    reader: StoredReader, layout: str | None, map_file: Path | None, row: FileFormat
) -> dict[str, str] | bool:
    """How the output says it was made; an .npy file has no place for it."""
    if row.name == "npy":
        return False
    told = {"command": "convert", "from": reader.format}
    if layout is not None:
        told["layout"] = layout
    if map_file is not None:
        from qcore.formats.digests import digest

        told["map_digest"] = digest((map_file.read_bytes(),))
    return told


def _worst(*words: str) -> str:
    return max(words, key=_WORDS.index)


def _result(source: Path, out: Path, row: FileFormat, arranged: Arrangement, notes: list[str]) -> Result:
    before, moves = arranged.infos, arranged.moves
    after = [deferred.info for deferred in arranged.tensors]
    # what is taken over as it is stored stays what it is, whatever its type
    kept = [
        (stored := deferred.as_stored) is not None and stored.format == row.name
        for deferred in arranged.tensors
    ]
    words = [
        _WORDS[0] if same else _worst(old.fidelity, row.fidelity(new))
        for old, new, same in zip(before, after, kept, strict=True)
    ]
    lines = columns(
        ("tensor", "shape", "dtype or scheme", "becomes", ""),
        [
            (old.name, _shape(old), new.kind, word, _changes(old, new, move))
            for old, new, move, word in zip(before, after, moves, words, strict=True)
        ],
    )
    counts = {word: words.count(word) for word in _WORDS}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"
    turned = sum(move.transpose for move in moves)
    lines.append(
        f"{len(words)} tensors: {told}; {turned} transposed; wrote {printable(str(out))} ({row.name})"
    )
    loads: dict[str, int] = {}
    quantized = [info for info in after if info.scheme is not None]
    if row.name == "burnpack" and quantized:
        loads = {target: sum(map(_loads(target), quantized)) for target in _TARGETS}
        lines += [
            f"{target} loads {count} of {len(quantized)} quantized tensors" for target, count in loads.items()
        ]
    document: dict[str, Any] = {
        "source": str(source),
        "out": str(out),
        "format": row.name,
        "tensors": [
            {
                "name": old.name, "to": new.name, "shape": list(new.shape), "dtype": new.dtype,
                "scheme": None if new.scheme is None else str(new.scheme), "fidelity": word,
                "transposed": move.transpose, "reason": move.reason,
            }
            for old, new, move, word in zip(before, after, moves, words, strict=True)
        ],
        "totals": counts,
        "loads": loads,
    }  # fmt: skip
    return Result(document, lines, notes=notes)


def _loads(target: str) -> Any:
    from qcore.capability import check

    return lambda info: bool(
        check(info.scheme, info.shape, op="load", on=target, codebook=info.scheme.is_lookup)
    )


def _shape(info: TensorInfo) -> str:
    return "x".join(map(str, info.shape)) or "scalar"


def _changes(before: TensorInfo, after: TensorInfo, move: Move) -> str:
    changes = [f"to {_shape(after)}"] if move.transpose else []
    if before.name != after.name:
        changes.append(f"as {after.name}")
    if changes or (len(before.shape) == 2 and move.reason not in ("kept", "no matrix")):
        changes.append(f"({move.reason})")
    return " ".join(changes)
