"""Whatever the writer of GGUF accepts comes back equal, and the package of ggml reads the same numbers."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants

import qcore
from qcore import errors
from qcore.formats.content import Deferred

pytestmark = pytest.mark.reliability

SCHEMES = (
    "q8_0", "q4_0", "mxfp4", "nvfp4", "int8-b32", "int4-b32", "q8f/u32/b32:f16", "q4f/native/b32:f16",
    "e2m1/packed/b16:ue4m3", "q4f/u32/lookup:iq4-nl/b32:f16", "e2m1/u32/b32:ue8m0", "int8", "nf4", "q8s/native/b32:f32",
)  # fmt: skip
DTYPES = ("float32", "float16", "float64", "int8", "int16", "int32", "int64")
MADE_BY_THEM = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "TQ1_0", "TQ2_0", "MXFP4", "BF16", "F16")


def any_shape(rng, multiple):
    rank = int(rng.integers(1, 5))
    return (*rng.integers(0, 4, rank - 1).tolist(), int(rng.integers(1, 5)) * multiple)


def any_tensor(rng):
    if rng.integers(2):
        shape = any_shape(rng, int(rng.choice([1, 32, 64])))
        return (rng.standard_normal(shape) * 50).astype(str(rng.choice(DTYPES)))
    x = rng.standard_normal(any_shape(rng, int(rng.choice([16, 32, 64])))).astype(np.float32)
    return qcore.quantize(x * np.float32(10.0) ** rng.integers(-8, 4), str(rng.choice(SCHEMES)))


@pytest.mark.parametrize("seed", range(300))
def test_what_is_accepted_comes_back_equal_here_and_there(tmp_path, seed):
    rng = np.random.default_rng(seed)
    tensors = {f"t.{n}.weight": any_tensor(rng) for n in range(rng.integers(0, 9))}
    path = tmp_path / "w.gguf"
    while True:
        try:
            qcore.save(path, tensors, {"general.architecture": "llama"}, provenance=bool(seed % 2))
            break
        except errors.UnsupportedSchemeError as refusal:
            del tensors[refusal.tensor]
    theirs = {t.name: t for t in GGUFReader(path).tensors}
    with qcore.open(path) as f:
        assert set(f.names()) == set(tensors)
        for name, value in tensors.items():
            found, peer = f.tensor(name), theirs[name]
            if not isinstance(value, qcore.QTensor):
                assert (found.dtype, found.shape, found.tobytes()) == (
                    value.dtype,
                    value.shape,
                    value.tobytes(),
                )
                assert peer.data.tobytes() == value.tobytes()
                continue
            assert found == value
            assert dict(found.rules) == dict(value.rules)
            if value.size:
                level = np.float32(1) if value.global_scale is None else value.global_scale
                decoded = quants.dequantize(peer.data, peer.tensor_type) * level
                np.testing.assert_allclose(decoded, value.dequantize(), rtol=3e-7, atol=1e-44)


@pytest.mark.parametrize("seed", range(150))
def test_what_the_package_of_ggml_writes_is_read_as_it_reads_it(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "w.gguf"
    w = GGUFWriter(path, "llama")
    alignment = int(rng.choice([8, 16, 32, 64, 256]))
    w.add_custom_alignment(alignment)
    w.add_string("general.name", "n" * int(rng.integers(0, 70)))
    for n in range(int(rng.integers(1, 8))):
        x = rng.standard_normal((int(rng.integers(1, 4)), 256)).astype(np.float32)
        kind = GGMLQuantizationType[str(rng.choice(MADE_BY_THEM))]
        w.add_tensor(f"t{n}", quants.quantize(x, kind), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    with qcore.open(path) as f:
        for t in GGUFReader(path).tensors:
            expected = quants.dequantize(t.data, t.tensor_type)
            assert np.array_equal(np.asarray(f.tensor(t.name), np.float32), expected)
        qcore.save(
            tmp_path / "again.gguf", {name: Deferred.of(f, name) for name in f.names()}, dict(f.metadata)
        )
        with qcore.open(tmp_path / "again.gguf") as g:
            for name in f.names():
                assert np.array_equal(
                    np.asarray(g.tensor(name), np.float32), np.asarray(f.tensor(name), np.float32)
                )
