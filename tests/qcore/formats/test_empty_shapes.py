"""A dimension of zero hides nothing beside it: what NumPy could not describe is refused when the file is opened."""

import json
import struct

import gguf_bytes
import numpy as np
import pytest

import qcore
from qcore import errors


def safetensors(dims):
    text = json.dumps({"w": {"dtype": "F32", "shape": dims, "data_offsets": [0, 0]}}).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def npy(dims):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(dims)}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def gguf(dims):
    return gguf_bytes.File([gguf_bytes.Tensor(dims=dims[::-1], data=b"")]).build()


def burnpack(dims):
    dims = b"\x82" + b"".join(b"\x1b" + struct.pack(">Q", dim) for dim in dims)
    entry = b"\xa3\x65dtype\x63F32\x65shape" + dims + b"\x6cdata_offsets\x82\x00\x00"
    root = b"\xa1\x67tensors\xa1\x61w" + entry
    head = b"NRUB\x01\x00" + struct.pack("<I", len(root)) + root
    return head + bytes(-len(head) % 256)


@pytest.mark.parametrize("make", [safetensors, npy, gguf, burnpack])
def test_a_zero_hides_no_dimension(tmp_path, make):
    path = tmp_path / f"w.{ {'burnpack': 'bpk'}.get(make.__name__, make.__name__) }"
    for dims in ([2**62, 0], [0, 2**62], [2**59, 0], [0, 2**63 - 1]):
        path.write_bytes(make(dims))
        with pytest.raises(errors.FormatError, match="number of elements"):
            qcore.open(path)
    for dims in ([2**32, 0], [0, 3], [0, 2**58]):
        path.write_bytes(make(dims))
        with qcore.open(path) as f:
            (name,) = f.names()
            assert np.asarray(f.tensor(name)).shape == tuple(dims)
