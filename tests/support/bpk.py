"""Burnpack files built by hand: a small CBOR encoder of its own, and metadata as plain dictionaries to change."""

import struct


class Raw(bytes):
    """Bytes that stand for an item as they are."""


class Pairs(list):
    """A map whose keys may stand there twice."""


def head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    for low, code in ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if argument < 1 << (8 * struct.calcsize(code)):
            return bytes([major << 5 | low]) + struct.pack(code, argument)
    raise AssertionError(argument)


def cbor(value):
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, Pairs):
        return head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value)
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, dict):
        return head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())
    return head(4, len(value)) + b"".join(map(cbor, value))


def file(root, data=b"", *, aligned=True, version=1, magic=b"NRUB", metadata=None, size=None):
    """Bytes of a file: the metadata, zeros up to a multiple of 256, the data."""
    metadata = cbor(root) if metadata is None else metadata
    start = magic + struct.pack("<HI", version, len(metadata) if size is None else size) + metadata
    return start + bytes(-len(start) % 256 if aligned else 0) + data


def tensor(dtype, shape, begin, end, **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end], **more}


def scheme(value="Q8S", store="Native", *, tensor="F32", block=None, mode="Symmetric"):
    """A scheme in today's form; ``block`` is extents and a dtype."""
    level = None if block is None else {"size": size(*block[0]), "dtype": block[1]}
    return {"QFloat": {"value": value, "store": store, "mode": mode, "tensor": tensor, "block": level}}


def size(*extents, length=None):
    storage = [*extents, *[1] * (5 - len(extents))]
    return {"storage": storage, "len": len(extents) if length is None else length}
