"""Where the tensors of a burnpack lie: ranges that may not overlap, and a beginning that the file's length tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from qcore import errors
from qcore.formats.faults import malformed, truncated

if TYPE_CHECKING:
    from qcore.formats.burnpack_words import ElementWord
    from qcore.scheme import QuantScheme

__all__ = ["ALIGNMENT", "Descriptor", "aligned", "hold_apart", "is_legacy", "notes_on"]

ALIGNMENT: Final = 256


def aligned(offset: int) -> int:
    """The next multiple of 256.

    Examples
    --------
    >>> aligned(0), aligned(1), aligned(256)
    (0, 256, 256)
    """
    return -(-offset // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One tensor of the metadata: a plain element type or a scheme, and the range of its data."""

    name: str
    word: ElementWord | None
    scheme: QuantScheme | None
    shape: tuple[int, ...]
    begin: int
    end: int
    param_id: int | None
    newest: bool
    """Whether its type is spelled as the newest Burn spells it."""
    unknown: Mapping[str, bytes]
    """What later or private keys say, encoded."""

    @property
    def kind(self) -> str:
        """The element type's word, or the scheme's text."""
        return str(self.scheme) if self.word is None else self.word.word


def hold_apart(ordered: list[Descriptor], path: str) -> None:
    """Hold that no two tensors share a byte."""
    covered, previous = 0, ""
    for tensor in ordered:
        if tensor.begin == tensor.end:
            continue
        if tensor.begin < covered:
            found = f"{tensor.begin} to {tensor.end}, which overlaps {previous!r}"
            raise malformed(path, "in its metadata", "the range of the data", found, f"{covered} on",
                            tensor=tensor.name)  # fmt: skip
        covered, previous = tensor.end, tensor.name


def is_legacy(
    ordered: list[Descriptor], texts: Mapping[str, str], unaligned: int, path: str, size: int
) -> bool:
    """Whether the file has the length of Burn 0.19's layout and not that of the later ones."""
    if not ordered:
        return False
    last = max(tensor.end for tensor in ordered)
    needed = aligned(unaligned) + last
    if size >= needed:
        return False
    if size == unaligned + last:
        touching, at = True, 0
        for tensor in ordered:
            touching, at = touching and tensor.begin == at, tensor.end
        odd = any(tensor.begin % ALIGNMENT for tensor in ordered)
        if (touching and odd) or texts.get("version", "").startswith("0.19"):
            return True
        raise errors.build(
            "file-truncated",
            variant="perhaps-burn-0.19",
            path=path,
            size=size,
            what="its data",
            needed=needed,
        )
    raise truncated(path, size, "its data", needed)


def notes_on(ordered: list[Descriptor], start: int, legacy: bool, path: str, size: int) -> tuple[str, ...]:
    """What is unusual about a file that can be read."""
    end = start + max((tensor.end for tensor in ordered), default=0)
    if size < end and ordered:
        raise truncated(path, size, "its data", end)
    notes = []
    if legacy:
        notes.append(
            "the data is not aligned, as Burn 0.19 wrote it; later versions misread it: qcore upgrade"
        )
    elif not all(tensor.newest for tensor in ordered):
        notes.append(
            "types are spelled as by an older Burn; newer versions refuse or misread them: qcore upgrade"
        )
    odd = sum(tensor.begin % ALIGNMENT != 0 for tensor in ordered)
    if odd and not legacy:
        notes.append(f"{odd} of {len(ordered)} tensors do not begin on a multiple of {ALIGNMENT} bytes")
    if size > max(end, start):
        notes.append(f"{size - max(end, start)} bytes follow the last tensor")
    return tuple(notes)
