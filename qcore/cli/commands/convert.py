"""``qcore convert``: the same tensors in another format, or lying the other way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore.cli.output import Result, columns, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qcore.formats.orientation import Move
    from qcore.formats.protocol import StoredReader, TensorInfo
    from qcore.formats.table import FileFormat

_WORDS = ("exact", "lossless", "requantized")
"""From the best to the worst."""
_TARGETS = ("burn-flex", "burn-cubecl")


def run(
    settings: Settings,
    source: Annotated[Path, typer.Argument(metavar="IN", help="A .safetensors, .bpk, .npz or .npy file.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    to: Annotated[
        str | None, typer.Option(help="The format to write. [default: what the suffix names]")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="keep, torch-to-burn or burn-to-torch: how weights of linear layers lie."),
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="A TOML file of new names and transposes by glob.")
    ] = None,
    burn: Annotated[
        str | None, typer.Option(help="The Burn version to write a .bpk for: 0.19 to 0.22. [default: the newest]")
    ] = None,
) -> Result:
    """Each tensor is told with a word: exact (only bits move), lossless (equal values after arithmetic), requantized.

    A .bpk is not written from a file of another format with matrices unless --layout or --map says how they lie:
    Burn keeps linear weights as [in, out], nearly everyone else as [out, in]. Names decide what a layout turns: the
    weight of anything but an embedding is transposed, weight and bias of a norm become gamma and beta.
    """
    from qcore import formats
    from qcore.formats import orientation
    from qcore.formats.atomic import destination_of
    from qcore.formats.orientation_map import read_map, unmatched
    from qcore.formats.store import texts_for
    from qcore.formats.table import for_suffix

    row = for_suffix(out, to)
    destination_of(out, overwrite=settings.overwrite)
    rules = () if map_file is None else read_map(map_file)
    with settings.open(source) as reader:
        infos = [reader.info(name) for name in reader.names()]
        for_burn = row.name == "burnpack"
        if for_burn and layout is None and map_file is None:
            orientation.demand_layout(reader, infos)
        moves = orientation.plan(infos, layout or orientation.KEEP, rules)
        notes = [f"warning: {note}" for note in reader.notes]
        notes += [f"warning: the map's rule {rule} matches nothing" for rule in unmatched(rules, reader.names())]
        done = [0]

        def said(name: str) -> None:
            settings.progress(done[0], len(infos), name)
            done[0] += 1

        provenance = _provenance(reader, layout, map_file, row)
        if reader.format == row.name and all(move.is_nothing for move in moves):
            notes.append(f"{source} has this format already; it is written again")
            after = infos
            formats.save(
                out, reader, overwrite=settings.overwrite, provenance=provenance, burn=burn, format=row.name
            )
        else:
            tensors = orientation.arranged(reader, moves, for_burn=for_burn, said=said)
            after = [tensors[move.target].info for move in moves]
            texts = {**texts_for(reader, row.name), **orientation.recorded(reader, layout, burnpack=for_burn)}
            formats.save(
                out, tensors, {} if row.name == "npy" else texts, overwrite=settings.overwrite,
                provenance=provenance, burn=burn, like=reader, format=row.name,
            )  # fmt: skip
        settings.progress(len(infos), len(infos), "")
        if not for_burn and layout is None and orientation.lies_as_burn(reader) and orientation.matrices(infos):
            notes.append(
                "note: linear weights lie as Burn keeps them, [in, out]; --layout burn-to-torch turns them for "
                "other programs"
            )
    words = [_worst(info.fidelity, row.fidelity(made)) for info, made in zip(infos, after, strict=True)]
    return _result(source, out, row, infos, after, moves, words, notes, for_burn=for_burn)


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
        from qcore.formats.content import digest

        told["map_digest"] = digest((map_file.read_bytes(),))
    return told


def _worst(*words: str) -> str:
    return max(words, key=_WORDS.index)


def _result(
    source: Path,
    out: Path,
    row: FileFormat,
    before: Sequence[TensorInfo],
    after: Sequence[TensorInfo],
    moves: Sequence[Move],
    words: Sequence[str],
    notes: list[str],
    *,
    for_burn: bool,
) -> Result:
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
    lines.append(f"{len(words)} tensors: {told}; {turned} transposed; wrote {printable(str(out))} ({row.name})")
    loads: dict[str, int] = {}
    quantized = [info for info in after if info.scheme is not None]
    if for_burn and quantized:
        loads = {target: sum(map(_loads(target), quantized)) for target in _TARGETS}
        lines += [f"{target} loads {count} of {len(quantized)} quantized tensors" for target, count in loads.items()]
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

    return lambda info: bool(check(info.scheme, info.shape, op="load", on=target, codebook=info.scheme.is_lookup))


def _shape(info: TensorInfo) -> str:
    return "x".join(map(str, info.shape)) or "scalar"


def _changes(before: TensorInfo, after: TensorInfo, move: Move) -> str:
    changes = [f"to {_shape(after)}"] if move.transpose else []
    if before.name != after.name:
        changes.append(f"as {after.name}")
    if changes or (len(before.shape) == 2 and move.reason not in ("kept", "no matrix")):
        changes.append(f"({move.reason})")
    return " ".join(changes)
