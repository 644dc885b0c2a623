"""bitsandbytes' 4-bit tables, ggml's Q8_0 and Q4_0, compressed-tensors' packing, and a shipped int8 model."""

from collections import Counter

import numpy as np
import pytest
from peer_data import FOLDER, cases, ggml_blocks, high_nibble_first, load

import qcore

BACKENDS = ("cpu", "reference")


# ---- bitsandbytes ----


@pytest.mark.parametrize(
    ("name", "codebook"), [("nf4", qcore.Codebook.nf4()), ("fp4", qcore.Codebook.fp4_bnb())]
)
def test_tables_equal_bitsandbytes(name: str, codebook: qcore.Codebook) -> None:
    theirs = load("bnb_tables")[name]
    assert codebook.table.tobytes() == theirs.tobytes()


def bnb_differences(name: str, preset: str, backend: str) -> tuple[Counter[tuple[str, str]], int]:
    """Elements whose index differs, by case and by kind, each kind proved on the spot."""
    data, inputs, table = load(f"bnb_{name}"), load("bnb_inputs"), load("bnb_tables")[name].astype(np.float64)
    found: Counter[tuple[str, str]] = Counter()
    elements = 0
    for case, given in cases(data, inputs, "b64__packed"):
        x = given.reshape(-1)
        elements += x.size
        q = qcore.quantize(x, preset, backend=backend)
        np.testing.assert_array_equal(q.scales, data[f"{case}__b64__absmax"])
        theirs = high_nibble_first(data[f"{case}__b64__packed"], x.size)
        for i in np.flatnonzero(q.codes != theirs):
            ours, other = table[q.codes[i]], table[theirs[i]]
            t, middle = float(x[i]) / float(q.scales[i // 64]), (ours + other) / 2
            if ours == other == 0:
                found[case, "zeros"] += 1
                assert q.codes[i] == 0
            else:
                found[case, "near-tie"] += 1
                # they multiply by f32(1/absmax): two roundings of 2^-24 each beside our one
                assert abs(t - middle) <= 3 * 2.0**-24 * abs(t)
    return found, elements


@pytest.mark.parametrize("backend", BACKENDS)
def test_nf4_indices_equal_bitsandbytes_but_for_near_ties(backend: str) -> None:
    found, elements = bnb_differences("nf4", "nf4", backend)
    assert elements == 32711
    assert found == {("ties", "near-tie"): 156}


@pytest.mark.parametrize("backend", BACKENDS)
def test_fp4_indices_equal_bitsandbytes_but_for_near_ties_and_its_second_zero(backend: str) -> None:
    found, elements = bnb_differences("fp4", "fp4-bnb", backend)
    assert elements == 32711
    zeros = {case: n for (case, kind), n in found.items() if kind == "zeros"}
    assert {case for case, kind in found if kind == "near-tie"} == {"ties"}
    assert (found["ties", "near-tie"], sum(zeros.values())) == (186, 218)


@pytest.mark.parametrize("backend", BACKENDS)
def test_zero_blocks_take_the_first_zero_of_the_table(backend: str) -> None:
    zeros = np.zeros(128, np.float32)
    assert set(qcore.quantize(zeros, "nf4", backend=backend).codes.tolist()) == {7}
    assert set(qcore.quantize(zeros, "fp4-bnb", backend=backend).codes.tolist()) == {0}


# ---- ggml ----


def ggml_codes(name: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scales and logical codes of a tensor of blocks."""
    if name == "q8_0":
        scales, payload = ggml_blocks(rows, 34)
        return scales, payload.view(np.int8).reshape(rows.shape[0], -1)
    scales, payload = ggml_blocks(rows, 18)
    nibbles = np.concatenate([payload & 15, payload >> 4], axis=-1)
    return scales, (nibbles.astype(np.int8) - 8).reshape(rows.shape[0], -1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["q8_0", "q4_0"])
def test_blocks_of_ggml_decode_bit_for_bit(name: str, backend: str) -> None:
    data = load(f"ggml_{name}")
    for case in sorted(key.removesuffix("__q") for key in data if key.endswith("__q")):
        scales, codes = ggml_codes(name, data[f"{case}__q"])
        scheme = qcore.PRESETS[name].scheme
        values = codes if name == "q8_0" else qcore.pack(codes, scheme.value, scheme.store)
        stored = qcore.TensorData(values.tobytes() + scales.tobytes(), codes.shape, scheme)
        found = qcore.from_data(stored, backend=backend).dequantize()
        theirs = data[f"{case}__deq"]
        number = ~np.isnan(theirs)
        assert found[number].tobytes() == theirs[number].tobytes(), case
        assert np.isnan(found[~number]).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["q8_0", "q4_0"])
def test_the_ggml_presets_write_ggmls_bytes(name: str, backend: str) -> None:
    data, inputs = load(f"ggml_{name}"), load("ggml_inputs")
    tried = 0
    for case, x in cases(data, inputs, "q"):
        q = qcore.quantize(x, name, backend=backend)
        scales, codes = ggml_codes(name, data[f"{case}__q"])
        assert q.scales.tobytes() == scales.tobytes(), case
        np.testing.assert_array_equal(q.codes, codes, err_msg=case)
        tried += 1
    assert tried == 10


def test_neighbours_do_not_share_a_byte_of_q4_0() -> None:
    j = np.arange(16)
    payload = ((j & 15) | ((15 - j) << 4)).astype(np.uint8)
    block = np.concatenate([np.array([1.0], np.float16).view(np.uint8), payload])[None]
    scales, codes = ggml_codes("q4_0", block)
    assert scales.tolist() == [[1.0]]
    assert codes[0].tolist() == [*(j - 8), *(7 - j)]


# ---- packing and a real model ----


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_words_equal_compressed_tensors_after_their_offset(bits: int) -> None:
    data = load("ct_pack_u32")
    for shape in ((11, 77), (3, 64), (2, 1)):
        key = f"b{bits}__{shape[0]}x{shape[1]}"
        codes = data[f"{key}__q"]
        fields = (codes.astype(np.int16) + 2 ** (bits - 1)).astype(np.uint8)
        for dim, axis in ((0, 1), (1, 0)):
            theirs = data[f"{key}__packed_dim{axis}"].view(np.uint32)
            store = qcore.QuantStore.packed_u32(dim)
            np.testing.assert_array_equal(qcore.pack(fields, f"q{bits}f", store, mode="lookup"), theirs)
            np.testing.assert_array_equal(
                qcore.unpack(theirs, shape, f"q{bits}f", store, mode="lookup"), fields
            )
            # ours are two's complement: the same fields with the top bit turned
            turned = np.uint32(sum(1 << (bits * i + bits - 1) for i in range(32 // bits)))
            used = qcore.pack(np.full(shape, -1, np.int8), f"q{bits}f", store)
            np.testing.assert_array_equal(qcore.pack(codes, f"q{bits}f", store), (theirs ^ turned) & used)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_shipped_int8_model_has_our_codes(backend: str) -> None:
    weight = np.load(FOLDER.parents[2] / "qcore" / "sample" / "minilm_l0_query_384x384.npy")
    codes = np.load(FOLDER / "minilm_l0_query_int8_384x384.npy").T
    scale = np.load(FOLDER / "minilm_l0_query_int8_scale.npy")[0]
    q = qcore.quantize(weight, "int8-channel", backend=backend)
    np.testing.assert_array_equal(q.codes, codes)
    np.testing.assert_array_equal(q.scales, np.broadcast_to(scale[:, None], q.scales.shape))
