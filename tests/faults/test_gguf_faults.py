"""Faults that other readers and writers of GGUF shipped: each is impossible here."""

import time
import tracemalloc

import gguf_bytes
import numpy as np
import pytest

import qcore
from qcore import errors


@pytest.mark.parametrize(
    ("dims", "rank"),
    [
        ((1 << 32, 1 << 32), None),
        ((1 << 22, 1 << 22, 1 << 20), None),
        ((1 << 32, 1 << 32, 0), None),
        ((4,), 5),
        ((4,), 9),
        ((4,), 0xFFFFFFFF),
    ],
)
def test_a_product_that_wraps_or_a_rank_that_lies_is_refused_at_once(tmp_path, dims, rank):
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_bytes.File([gguf_bytes.Tensor(dims=dims, rank=rank, data=b"")]).build())
    begun = time.monotonic()
    tracemalloc.start()
    with pytest.raises(errors.FormatError):
        qcore.open(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("alignment", [None, 8, 16, 24, 32, 64, 4096])
@pytest.mark.parametrize("length", range(32))
def test_an_alignment_of_any_kind_gives_each_tensor_its_own_bytes(tmp_path, alignment, length):
    keys = [(b"general.name", gguf_bytes.File().scalar("str", b"n" * length))]
    if alignment is not None:
        keys.append((b"general.alignment", gguf_bytes.File().scalar("u32", alignment)))
    tensors = [gguf_bytes.Tensor(b"t%d" % n, (16,), 24, bytes([n + 1] * 16)) for n in range(3)]
    path, again = tmp_path / "x.gguf", tmp_path / "y.gguf"
    path.write_bytes(gguf_bytes.File(tensors, keys, alignment=alignment or 32).build())
    with qcore.open(path) as f:
        found = {name: f.tensor(name) for name in f.names()}
        qcore.save(again, found, dict(f.metadata))
    with qcore.open(again) as g:
        kept = alignment in (None, 24)  # ggml wants powers of two: what is none is read, and written as 32
        assert g.metadata.get("general.alignment") == (
            {None: None, 24: "32"}[alignment] if kept else str(alignment)
        )
        for n in range(3):
            assert found[f"t{n}"].tolist() == [n + 1] * 16
            assert g.tensor(f"t{n}").tolist() == [n + 1] * 16


def test_halves_of_a_block_are_no_neighbours_and_codes_no_twos_complement(tmp_path):
    block = np.float16(1).tobytes() + bytes((j & 15) | (15 - j) << 4 for j in range(16))
    tensors = [
        gguf_bytes.Tensor(b"q", (32,), 2, block),
        gguf_bytes.Tensor(b"m", (32,), 39, b"\x7f" + block[2:]),
    ]
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_bytes.File(tensors).build())
    with qcore.open(path) as f:
        assert f.tensor("q").dequantize().tolist() == [j - 8 for j in range(16)] + [7 - j for j in range(16)]
        e2m1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
        values = e2m1 + [-v for v in e2m1]
        assert f.tensor("m").dequantize().tolist() == values + values[::-1]
