"""Every block type of ggml decodes to ggml's floats, bit for bit, through a file; the types that are schemes of ours
come back byte for byte."""

import gguf_bytes
import numpy as np
import peer_data
import pytest
from gguf import GGMLQuantizationType, quants

import qcore
from qcore.formats import gguf_repack
from qcore.formats.foreign import ForeignTensor
from qcore.formats.gguf_types import BY_NAME

PEERS = peer_data.load("ggml_decode")
TYPES = sorted({key.split("__")[0] for key in PEERS})
VECTORS = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")


def through_a_file(tmp_path, row, blocks, order="<"):
    tensor = gguf_bytes.Tensor(b"w", (row.block, len(blocks)), row.id, blocks.tobytes())
    path = tmp_path / "w.gguf"
    path.write_bytes(gguf_bytes.File([tensor], order=order).build())
    with qcore.open(path) as f:
        return f.info("w"), f.tensor("w")


def decoded(found):
    with np.errstate(all="ignore"):
        y = found.dequantize()
    if isinstance(found, ForeignTensor):
        hold_foreign(found, y)
    return y


def hold_foreign(found, y):
    """What is there to look at makes the values."""
    if found.codes is None:
        return
    with np.errstate(all="ignore"):
        runs = found.codes.reshape(*found.scales.shape, found.block) * found.scales[..., None]
        runs = runs.astype(np.float32) + found.minima[..., None]
    hold_equal(runs.reshape(y.shape), y)


def hold_equal(found, expected, *, sign_of_zero=True):
    same = found.view(np.uint32) == expected.view(np.uint32)
    same |= np.isnan(found) & np.isnan(expected)
    if not sign_of_zero:
        same |= (found == 0) & (expected == 0)
    assert same.all(), f"{(~same).sum()} of {same.size} differ"


@pytest.mark.parametrize("name", [n for n in TYPES if n not in ("mxfp4", "nvfp4", "tq2_0")])
def test_blocks_decode_to_the_floats_of_ggml_bit_for_bit(tmp_path, name):
    info, found = through_a_file(tmp_path, BY_NAME[name.upper()], PEERS[f"{name}__q"])
    assert info.foreign == isinstance(found, ForeignTensor)
    hold_equal(decoded(found), PEERS[f"{name}__deq"])


def test_ternary_blocks_with_a_code_of_two_change_the_sign_of_zeros_only(tmp_path):
    blocks, expected = PEERS["tq2_0__q"], PEERS["tq2_0__deq"]
    odd = (blocks[:, :64, None] >> np.arange(0, 8, 2) & 3).max(axis=(1, 2)) == 3
    assert odd.any()
    _, found = through_a_file(tmp_path, BY_NAME["TQ2_0"], blocks)
    assert found.scheme.value is qcore.QuantValue.Q2F
    hold_equal(decoded(found), expected, sign_of_zero=False)
    _, found = through_a_file(tmp_path, BY_NAME["TQ2_0"], blocks[~odd])
    assert found.scheme.value is qcore.QuantValue.Q2S
    hold_equal(decoded(found), expected[~odd])


def test_microscaling_blocks_keep_the_sign_of_zero_and_the_scale_that_is_no_number(tmp_path):
    blocks, expected = PEERS["mxfp4__q"], PEERS["mxfp4__deq"]
    _, found = through_a_file(tmp_path, BY_NAME["MXFP4"], blocks)
    numbers = blocks[:, 0] != 255
    y = decoded(found)
    hold_equal(y[numbers], expected[numbers], sign_of_zero=False)
    assert np.isnan(y[~numbers]).all()
    assert (~numbers).any()


def test_scales_of_nvfp4_have_seven_bits_and_the_last_code_is_zero(tmp_path, caplog):
    blocks, expected = PEERS["nvfp4__q"], PEERS["nvfp4__deq"]
    _, found = through_a_file(tmp_path, BY_NAME["NVFP4"], blocks)
    wide = np.repeat(blocks[:, :4] == 0xFF, 16, axis=1)
    y = decoded(found)
    hold_equal(y[~wide], expected[~wide], sign_of_zero=False)
    assert wide.any()
    assert not y[wide].any()
    assert f"{wide.sum() // 16} scales of 'w' are the byte 0xFF" in caplog.text


def binary_1_and_2(rng):
    """Blocks that no package quantizes, and their values as the C source has them."""
    q1 = rng.integers(0, 256, (8, 18), np.uint8)
    q2 = rng.integers(0, 256, (8, 18), np.uint8)
    scales = rng.standard_normal(8).astype(np.float16)
    q1[:, :2] = q2[:, :2] = scales[:, None].view(np.uint8)
    d = scales.astype(np.float32)[:, None]
    bits = np.array([[row[2 + i // 8] >> (i % 8) & 1 for i in range(128)] for row in q1], np.float32)
    fields = np.array([[row[2 + i // 4] >> (2 * (i % 4)) & 3 for i in range(64)] for row in q2], np.float32)
    return {"Q1_0": (q1, d * (2 * bits - 1)), "Q2_0": (q2, d * (fields - 1))}


@pytest.mark.parametrize("name", ["Q1_0", "Q2_0"])
def test_blocks_of_one_and_two_bits_decode_as_written_down(tmp_path, name):
    blocks, expected = binary_1_and_2(np.random.default_rng(1))[name]
    _, found = through_a_file(tmp_path, BY_NAME[name], blocks)
    hold_equal(decoded(found), expected, sign_of_zero=False)


@pytest.mark.parametrize("name", VECTORS)
def test_codebooks_of_vectors_are_decoded_by_the_package_of_ggml(tmp_path, name):
    row = BY_NAME[name]
    blocks = np.random.default_rng(2).integers(0, 256, (6, row.nbytes), np.uint8)
    info, found = through_a_file(tmp_path, row, blocks)
    assert (info.foreign, info.kind, info.origin, found.kind) == (True, "float32", name, name)
    assert (found.codes, found.scales, found.minima) == (None, None, None)
    with np.errstate(all="ignore"):
        hold_equal(decoded(found), quants.dequantize(blocks, GGMLQuantizationType[name]))


EXACT = ("q8_0", "q4_0", "iq4_nl", "mxfp4", "nvfp4")


@pytest.mark.parametrize("name", EXACT)
def test_blocks_taken_apart_and_put_together_are_the_same_bytes(tmp_path, name):
    row, blocks = BY_NAME[name.upper()], PEERS[f"{name}__q"]
    if name == "nvfp4":
        blocks = blocks[(blocks[:, :4] < 0x7F).all(axis=1)]
    _, found = through_a_file(tmp_path, row, blocks)
    book = None if found.codebook is None else found.codebook.name
    assert gguf_repack.type_of(found.scheme, book) is row
    assert np.array_equal(gguf_repack.blocks_of(row, found, "x", "w"), blocks)


SWAPS = {
    "F32": [(0, 4)], "F16": [(0, 2)], "I64": [(0, 8)], "Q8_0": [(0, 2)], "Q4_1": [(0, 2), (2, 4)],
    "Q5_0": [(0, 2), (2, 6)], "Q5_1": [(0, 2), (2, 4), (4, 8)], "Q2_K": [(80, 82), (82, 84)], "Q3_K": [(108, 110)],
    "Q4_K": [(0, 2), (2, 4)], "Q6_K": [(208, 210)], "IQ4_XS": [(0, 2), (2, 4)], "TQ1_0": [(52, 54)],
    "TQ2_0": [(64, 66)], "MXFP4": [],
}  # fmt: skip


@pytest.mark.parametrize("name", SWAPS)
def test_a_big_endian_file_holds_the_same_tensors(tmp_path, name):
    row = BY_NAME[name]
    blocks = np.random.default_rng(3).integers(0, 127, (4, row.nbytes), np.uint8)
    swapped = blocks.copy()
    for start, end in SWAPS[name]:
        swapped[:, start:end] = blocks[:, start:end][:, ::-1]
    _, little = through_a_file(tmp_path, row, blocks)
    _, big = through_a_file(tmp_path, row, swapped, ">")
    assert np.asarray(big).tobytes() == np.asarray(little).tobytes()


def test_a_type_whose_big_endian_form_nobody_wrote_down_is_refused(tmp_path):
    row = BY_NAME["IQ2_XXS"]
    with pytest.raises(qcore.errors.FormatError, match="big-endian form is known"):
        through_a_file(tmp_path, row, np.zeros((1, row.nbytes), np.uint8), ">")
