"""The header and metadata of a burnpack file, held against every rule before a byte of data is looked at.

Beside Burn's own checks: ranges that overlap, lengths that do not follow from shape and type, schemes that mean
nothing for their shape, keys and names that stand there twice. Which generation a file is of follows from its words,
and for the oldest one, whose data is not aligned, from the file's length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from qcore import errors
from qcore.formats.burnpack_ranges import Descriptor, aligned, hold_apart, is_legacy, notes_on
from qcore.formats.burnpack_words import DTYPES, ElementWord, bool_word, generation
from qcore.formats.cbor_cursor import Cursor
from qcore.formats.faults import malformed, truncated

if TYPE_CHECKING:
    from qcore.formats.limits import Limits
    from qcore.formats.source import Source
    from qcore.scheme import QuantScheme

__all__ = ["MAGIC", "PREFIX_BYTES", "Header", "hold_scalars", "read_header"]

MAGIC: Final = b"NRUB"
PREFIX_BYTES: Final = 10
_VERSION: Final = 1
_SCHEME_KEYS: Final = 24
_OFFSETS = 2
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Header:
    """The metadata: tensors in its order, texts, and the other keys of its map, encoded, in their order."""

    tensors: Mapping[str, Descriptor]
    texts: Mapping[str, str]
    keys: Mapping[str, bytes]
    start: int
    """Where in the file the data begins."""
    legacy: bool
    """Whether the data follows the metadata without alignment, as Burn 0.19 wrote it."""
    notes: tuple[str, ...]

    @property
    def is_newest(self) -> bool:
        """Whether the file has the form that the newest Burn writes."""
        return not self.legacy and all(tensor.newest for tensor in self.tensors.values())


@dataclass(slots=True)
class _Metadata:
    tensors: dict[str, Descriptor] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)


def read_header(source: Source, limits: Limits, burn: str | None = None) -> Header:
    """Read and check everything before the data of an open file.

    Parameters
    ----------
    source, limits
        The file, and what it may ask for.
    burn
        The Burn version that wrote the file, where that is known: ``"0.19"`` says that the data is not aligned.
    """
    path, size = source.name, source.size
    made_by = None if burn is None else generation(burn)
    if size < PREFIX_BYTES:
        raise truncated(path, size, "the header", PREFIX_BYTES)
    head = source.read(0, PREFIX_BYTES)
    if head[:4] != MAGIC:
        raise malformed(path, 0, "the mark of the format", repr(head[:4]), repr(MAGIC))
    version = int.from_bytes(head[4:6], "little")
    if version > _VERSION:
        raise malformed(path, 4, "the version", version, f"0 to {_VERSION}")
    length = int.from_bytes(head[6:], "little")
    limits.hold("burnpack-metadata", length, path=path)
    if PREFIX_BYTES + length > size:
        raise truncated(path, size, "the metadata", PREFIX_BYTES + length)
    cursor = Cursor(source.read(PREFIX_BYTES, length), path=path, base=PREFIX_BYTES, limits=limits)
    found = _metadata(cursor, limits, path)
    ordered = sorted(found.tensors.values(), key=lambda tensor: (tensor.begin, tensor.end))
    hold_apart(ordered, path)
    unaligned = PREFIX_BYTES + length
    legacy = not made_by.aligned if made_by else is_legacy(ordered, found.texts, unaligned, path, size)
    start = unaligned if legacy else aligned(unaligned)
    notes = notes_on(ordered, start, legacy, path, size)
    return Header(found.tensors, found.texts, found.keys, start, legacy, notes)


def _metadata(cursor: Cursor, limits: Limits, path: str) -> _Metadata:
    found = _Metadata()
    seen_tensors = False
    for key, _ in cursor.keys("a map, the metadata"):
        start = cursor.at
        if key == "tensors":
            seen_tensors = True
            for name, at in cursor.keys("a map of tensors"):
                limits.hold("burnpack-tensors", len(found.tensors) + 1, path=path)
                limits.hold("name", len(name.encode()), path=path)
                found.tensors[name] = _descriptor(cursor, name, at, limits, path)
        elif key == "metadata":
            for word, _ in cursor.keys("a map of texts"):
                limits.hold("burnpack-texts", len(found.texts) + 1, path=path)
                found.texts[word] = cursor.text("a text")
        elif key == "scalars":
            _scalars(cursor, limits, path)
        else:
            cursor.skip()
        found.keys[key] = cursor.span(start)
    if not seen_tensors:
        raise cursor.fault("no tensors", "a map with the key 'tensors'", at=0)
    return found


def hold_scalars(data: bytes, path: str, limits: Limits) -> None:
    """Hold the CBOR of a map of scalars that does not come from a burnpack against the rules of one."""
    cursor = Cursor(data, path=path, base=0, limits=limits)
    _scalars(cursor, limits, path)
    if cursor.at != len(data):
        raise cursor.fault(f"{len(data) - cursor.at} bytes more", "nothing after the scalars", at=cursor.at)


def _scalars(cursor: Cursor, limits: Limits, path: str) -> None:
    for number, (word, _) in enumerate(cursor.keys("a map of scalars")):
        limits.hold("burnpack-texts", number + 1, path=path)
        _scalar(cursor, word)


_SCALARS: Final[Mapping[str, tuple[str, int, int]]] = {
    "Int": ("int", -(1 << 63), _MOST),
    "UInt": ("int", 0, (1 << 64) - 1),
    "Float": ("float", 0, 0),
    "Bool": ("bool", 0, 1),
}


def _scalar(cursor: Cursor, name: str) -> None:
    """Hold a scalar as Burn does: an integer is no Float, and a float none of the others."""
    at = cursor.at
    variant = cursor.variant("a scalar: a map with Int, UInt, Float or Bool alone")
    if variant not in _SCALARS:
        raise cursor.fault(f"the scalar {variant!r}", f"one of {', '.join(_SCALARS)}", at=at)
    kind, low, high = _SCALARS[variant]
    got, value = cursor.scalar()
    if got != kind or (kind == "int" and not low <= value <= high):
        raise cursor.fault(f"the {got} {value}", f"what {variant} holds", at=at, rule=f"the scalar {name!r}")


def _descriptor(cursor: Cursor, name: str, at: int, limits: Limits, path: str) -> Descriptor:
    """Read one tensor's descriptor and hold what can be checked of it alone."""
    typed: tuple[ElementWord | None, QuantScheme | None, bool] | None = None
    shape: tuple[int, ...] | None = None
    span: tuple[int, ...] | None = None
    param_id: int | None = None
    unknown: dict[str, bytes] = {}
    number = "a whole number from 0 to 2^64 - 1"
    for key, _ in cursor.keys("a map, the tensor's descriptor"):
        start = cursor.at
        if key == "dtype":
            typed = _dtype(cursor, name)
        elif key == "shape":
            shape = tuple(cursor.natural(number) for _ in _few(cursor, limits["rank"], "dimensions", name))
        elif key == "data_offsets":
            span = tuple(cursor.natural(number) for _ in _few(cursor, _OFFSETS, "offsets", name))
        elif key == "param_id":
            param_id = _optional(cursor, lambda: cursor.natural(number))
        else:
            cursor.skip()
            unknown[key] = cursor.span(start)
    for wanted, got in (("dtype", typed), ("shape", shape), ("data_offsets", span)):
        if got is None:
            raise cursor.fault(f"no {wanted}", "dtype, shape and data_offsets", at=at, tensor=name)
    assert typed is not None
    assert shape is not None
    assert span is not None
    if len(span) != _OFFSETS:
        raise cursor.fault(len(span), _OFFSETS, at=at, rule="the number of data_offsets", tensor=name)
    word, scheme, newest = typed
    found = Descriptor(name, word, scheme, shape, span[0], span[1], param_id, newest, unknown)
    try:
        allowed = _lengths(found, limits, path)
    except errors.QuantError as problem:
        if problem.code.startswith("file-"):
            raise
        raise cursor.fault(problem, "a scheme that loads", at=at, rule="the scheme", tensor=name) from problem
    if found.end - found.begin not in allowed or found.end > _MOST:
        needed = " or ".join(f"{count} bytes" for count in allowed)
        text = f"{needed} for {found.kind} {list(shape)}"
        raise cursor.fault(
            f"{found.begin} to {found.end}", text, at=at, rule="the range of the data", tensor=name
        )
    return found


def _few(cursor: Cursor, most: int, what: str, tensor: str) -> Any:
    for index in cursor.items(f"a list of {what}"):
        if index >= most:
            raise cursor.fault(f"more than {most} {what}", f"at most {most}", tensor=tensor)
        yield index


def _optional(cursor: Cursor, read: Callable[[], int]) -> int | None:
    """Read a number, or the null that stands for none."""
    if cursor.shown() == "none":
        cursor.skip()
        return None
    return read()


def _dtype(cursor: Cursor, tensor: str) -> tuple[ElementWord | None, QuantScheme | None, bool]:
    """Read an element type: a word, or a map of one variant to its content."""
    at = cursor.at
    try:
        word = cursor.text("a dtype")
    except errors.QuantError:
        cursor.at = at
    else:
        if word == "Bool":
            return bool_word("Native"), None, False
        if word in DTYPES:
            return DTYPES[word], None, True
        choices = f"one of {', '.join(DTYPES)}, Bool or QFloat"
        raise cursor.fault(f"the dtype {word!r}", choices, at=at, tensor=tensor)
    variant = cursor.variant("a dtype: a text, or a map with Bool or QFloat alone")
    if variant == "Bool":
        found = bool_word(cursor.text("Native, U8 or U32"))
        if found is None:
            raise cursor.fault("another store of Bool", "Native, U8 or U32", at=at, tensor=tensor)
        return found, None, True
    if variant != "QFloat":
        raise cursor.fault(f"the dtype {variant!r}", "Bool or QFloat", at=at, tensor=tensor)
    from qcore.scheme import QuantScheme

    said = cursor.small(_SCHEME_KEYS, "a scheme")
    try:
        scheme = QuantScheme.from_dict(said)
    except errors.QuantError as problem:
        raise cursor.fault(problem, "a scheme of Burn", at=at, rule="the scheme", tensor=tensor) from problem
    return None, scheme, "level" not in said and "param" not in said


def _lengths(found: Descriptor, limits: Limits, path: str) -> tuple[int, ...]:
    """The lengths that the data may have: one, or two where Burn's CPU leaves ragged lines unpadded."""
    count = limits.hold_shape(found.shape, path=path, tensor=found.name)
    if found.scheme is None:
        assert found.word is not None
        needed = count * found.word.nbytes
        limits.hold("elements", needed, path=path, tensor=found.name)
        return (needed,)
    from qcore.capability import check
    from qcore.layout import packing

    check(found.scheme, found.shape, op="load", on="cpu", codebook=found.scheme.is_lookup).demand(found.name)
    flat = packing.unpadded_q8_len(found.scheme, found.shape)
    whole = packing.quantized_data_len(found.scheme, found.shape)
    limits.hold("elements", whole, path=path, tensor=found.name)
    return (whole,) if flat is None else (whole, flat)
