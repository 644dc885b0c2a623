"""``--layout`` and ``--map``: what becomes of each tensor's axes and name, for every command that writes a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from qcore.formats.content import Deferred
    from qcore.formats.orientation import Move
    from qcore.formats.orientation_map import Rule
    from qcore.formats.protocol import StoredReader, TensorInfo
    from qcore.formats.table import FileFormat

__all__ = ["Arrangement", "LayoutOption", "MapOption", "arrange"]

LayoutOption: TypeAlias = Annotated[
    str | None, typer.Option(help="keep, torch-to-burn or burn-to-torch: how weights of linear layers lie.")
]
MapOption: TypeAlias = Annotated[
    Path | None, typer.Option("--map", help="A TOML file of new names and transposes by glob.")
]

ConventionOption: TypeAlias = Annotated[
    str | None, typer.Option(help="How they lie in the output: qcore, or compressed-tensors (for folders).")
]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The tensors of a file: as they are, what becomes of each, as they will be, and what there is to say."""

    infos: tuple[TensorInfo, ...]
    moves: tuple[Move, ...]
    tensors: tuple[Deferred, ...]
    texts: dict[str, str]
    notes: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether every tensor stays as it is."""
        return all(move.is_nothing for move in self.moves)


def arrange(
    reader: StoredReader,
    row: FileFormat,
    layout: str | None,
    map_file: Path | None,
    said: Callable[[str], None] | None = None,
    *,
    folder: bool = False,
    rules: Sequence[Rule] = (),
) -> Arrangement:
    """Plan the tensors of an open file for a format; refuses a burnpack whose layout is not stated.

    ``rules`` of a recipe come after those of the map.
    In a folder every linear weight lies as ``[out, in]``: those that others keep the other way are turned.
    """
    from qcore.formats import orientation
    from qcore.formats.orientation_map import read_map, unmatched
    from qcore.formats.store import texts_for

    own = () if map_file is None else read_map(map_file)
    rules = (*own, *rules)
    infos = tuple(reader.info(name) for name in reader.names())
    for_burn = row.name == "burnpack"
    if for_burn and layout is None:
        orientation.demand_layout(reader, infos, rules)
    moves = orientation.plan(infos, layout or orientation.KEEP, rules)
    if folder and layout is None:
        moves = tuple(
            replace(move, transpose=True, reason="[in, out] in its file")
            if orientation.lies_turned(info) and move.reason == "kept"
            else move
            for move, info in zip(moves, infos, strict=True)
        )
    notes = [f"warning: {note}" for note in reader.notes]
    notes += [f"warning: the map's rule {rule} matches nothing" for rule in unmatched(own, reader.names())]
    if not for_burn and layout is None and orientation.lies_as_burn(reader) and orientation.matrices(infos):
        notes.append(
            "note: linear weights lie as Burn keeps them, [in, out]; --layout burn-to-torch turns them for others"
        )
    tensors = orientation.arranged(reader, moves, for_burn=for_burn, said=said)
    texts = {**texts_for(reader, row.name), **orientation.recorded(reader, layout, burnpack=for_burn)}
    return Arrangement(
        infos, moves, tuple(tensors.values()), {} if row.name == "npy" else texts, tuple(notes)
    )
