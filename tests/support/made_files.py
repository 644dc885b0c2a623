"""Small files of every format put together by hand from a shape, a length and a name, sensible or not."""

import io
import json
import struct
import zipfile

import bpk
import gguf_bytes
import pt_bytes

READERS = ("safetensors", "bpk", "gguf", "npy", "npz", "pt")


def made(suffix, shape, nbytes=0, name="w", data=b""):
    """One tensor of F32 of any claimed shape and length of its data, as bytes."""
    return _MAKERS[suffix](tuple(shape), nbytes, name, data)


def _safetensors(shape, nbytes, name, data):
    head = {name: {"dtype": "F32", "shape": list(shape), "data_offsets": [0, nbytes]}}
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + data


def _bpk(shape, nbytes, name, data):
    top = (1 << 64) - 1  # as far as CBOR's numbers go
    about = bpk.tensor("F32", [min(dim, top) for dim in shape], 0, min(nbytes, top))
    return bpk.file({"tensors": {name: about}}, data)


def _gguf(shape, nbytes, name, data):
    return gguf_bytes.File([gguf_bytes.Tensor(name=name.encode(), dims=shape[::-1], data=data)]).build()


def _npy(shape, nbytes, name, data):
    words = "(" + "".join(f"{dim}," for dim in shape) + ")"
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {words}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def _npz(shape, nbytes, name, data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}.npy", _npy(shape, nbytes, name, data))
    return file.getvalue()


def _pt(shape, nbytes, name, data):
    held = pt_bytes.storage(count=nbytes // 4)
    strides, step = [], 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    body = pt_bytes.tensor(held, 0, tuple(shape), tuple(reversed(strides)))
    file = io.BytesIO()
    pt_bytes.archive(file, pt_bytes.whole(pt_bytes.table(**{name: body})), [("data/0", data)])
    return file.getvalue()


_MAKERS = {"safetensors": _safetensors, "bpk": _bpk, "gguf": _gguf, "npy": _npy, "npz": _npz, "pt": _pt}
