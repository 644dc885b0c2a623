"""GGUF files as users meet them: against the package of ggml, through other formats and back."""

import logging

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants
from gguf_bytes import File, Tensor

import qcore
from qcore import errors
from qcore.formats.content import Deferred
from qcore.formats.foreign import ForeignTensor
from qcore.formats.gguf_types import BY_ID, BY_NAME

X = np.random.default_rng(7).standard_normal((4, 256)).astype(np.float32)
EXACT = ("Q8_0", "Q4_0", "MXFP4", "NVFP4", "IQ4_NL")
MEASURED = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "TQ1_0", "TQ2_0", "MXFP4")
MADE_UP = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS", "IQ3_S", "IQ1_M", "IQ4_XS", "IQ4_NL", "NVFP4")
OTHERS = ("safetensors", "npz")


def by_ggml(path, *, sidecar=False, types=(*MEASURED, *MADE_UP), bfloat=True):
    """A model of every type, as the package of ggml writes one."""
    rng = np.random.default_rng(1)
    w = GGUFWriter(path, "llama")
    w.add_uint32("llama.block_count", 3)
    w.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    w.add_array("tokenizer.ggml.tokens", ["<s>", "ü", "", "▁a"])
    w.add_array("tokenizer.ggml.scores", [0.1, -2.0, 3.5, float("-inf")])
    w.add_bool("tokenizer.ggml.add_bos_token", True)
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    w.add_quantization_version(2)
    w.add_tensor("token_embd.weight", X.astype(np.float16))
    w.add_tensor("output_norm.weight", X[0])
    if bfloat:
        w.add_tensor("b", quants.quantize(X, GGMLQuantizationType.BF16), raw_dtype=GGMLQuantizationType.BF16)
    for name in types:
        kind = GGMLQuantizationType[name]
        if name in MEASURED:
            data = quants.quantize(X, kind)
        else:
            data = rng.integers(0, 64, (4, BY_NAME[name].nbytes_of(256)), dtype=np.uint8)
        w.add_tensor(f"blk.0.{name}.weight", data, raw_dtype=kind)
    if sidecar:
        w.add_tensor("blk.0.NVFP4.scale", np.array([0.25], np.float32))
        w.add_tensor("blk.0.NVFP4.input_scale", np.array([3.0], np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return path


def deferred(f, names=None):
    return {name: Deferred.of(f, name) for name in (f.names() if names is None else names)}


def test_every_type_of_ggmls_package_is_known_as_it_is_there():
    stored = {t for t in GGMLQuantizationType if t.name not in ("Q8_1", "Q8_K")}
    assert {t.value for t in stored} <= set(BY_ID)
    for t in stored:
        row = BY_ID[t.value]
        assert (row.name, row.block, row.nbytes) == (t.name, *gguf.GGML_QUANT_SIZES[t])
        if row.file_type is not None:
            assert t.name.removesuffix("_XS") in gguf.LlamaFileType(row.file_type).name


def test_a_file_of_ggmls_package_is_read_as_it_reads_it(tmp_path):
    path = by_ggml(tmp_path / "m.gguf")
    reader = GGUFReader(path)
    with qcore.open(path) as f:
        assert f.names() == tuple(t.name for t in reader.tensors)
        for t in reader.tensors:
            info, found = f.info(t.name), f.tensor(t.name)
            assert info.origin == ("" if BY_NAME[t.tensor_type.name].is_plain else t.tensor_type.name)
            assert info.shape == found.shape
            assert info.nbytes == t.n_bytes
            assert info.foreign == isinstance(found, ForeignTensor)
            if isinstance(found, qcore.QTensor):
                assert found.scheme == info.scheme
                assert found.to_data().shape == info.shape
            assert np.array_equal(np.asarray(found, np.float32), quants.dequantize(t.data, t.tensor_type)), (
                t.name
            )


def test_keys_are_texts_with_their_kinds_beside_them(tmp_path):
    with qcore.open(by_ggml(tmp_path / "m.gguf", types=())) as f:
        found = f.metadata
    assert found["general.architecture"] == "llama"
    assert found["llama.block_count"] == "3"
    assert found["llama.attention.layer_norm_rms_epsilon"] == "1e-05"
    assert found["tokenizer.ggml.add_bos_token"] == "true"
    assert found["tokenizer.ggml.tokens"] == '["<s>", "\\u00fc", "", "\\u2581a"]'
    assert '"llama.block_count":"u32"' in found["gguf.layout"]


def test_a_copy_that_is_put_together_again_is_the_same_file(tmp_path):
    path = by_ggml(tmp_path / "m.gguf", sidecar=True)
    with qcore.open(path) as f:
        qcore.save(tmp_path / "copied.gguf", f)
        qcore.save(tmp_path / "joined.gguf", deferred(f), dict(f.metadata))
        qcore.save(tmp_path / "loaded.gguf", {n: f.tensor(n) for n in f.names() if f.info(n).foreign})
    assert (tmp_path / "copied.gguf").read_bytes() == path.read_bytes()
    assert (tmp_path / "joined.gguf").read_bytes() == path.read_bytes()
    with qcore.open(tmp_path / "loaded.gguf") as g:
        assert "blk.0.Q4_K.weight" in g.names()


@pytest.mark.parametrize("suffix", OTHERS)
@pytest.mark.parametrize("sidecar", [False, True])
def test_a_file_that_goes_through_another_format_comes_back_byte_for_byte(tmp_path, suffix, sidecar):
    path = by_ggml(tmp_path / "m.gguf", sidecar=sidecar, types=EXACT)
    other, back = tmp_path / f"m.{suffix}", tmp_path / "back.gguf"
    with qcore.open(path) as f:
        qcore.save(other, f)
    with qcore.open(other) as f:
        qcore.save(back, f)
    assert back.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("there", ["keep", "torch-to-burn"])
def test_a_file_that_goes_through_a_burnpack_comes_back_byte_for_byte(tmp_path, there):
    path = by_ggml(tmp_path / "m.gguf", sidecar=True, types=EXACT)
    with qcore.open(path) as f:
        qcore.save(tmp_path / "m.bpk", f, layout=there)
    with qcore.open(tmp_path / "m.bpk") as f:
        if there == "keep":
            qcore.save(tmp_path / "back.gguf", deferred(f), dict(f.metadata))
        else:
            qcore.save(tmp_path / "back.gguf", f, layout="burn-to-torch")
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def test_how_a_tensor_was_packed_on_its_way_leaves_no_trace(tmp_path):
    path = by_ggml(tmp_path / "m.gguf", types=("Q4_0",))
    with qcore.open(path) as f:
        q = f.tensor("blk.0.Q4_0.weight")
        other = qcore.TensorData.quantized(q.codes, q.shape, "q4f/u32:1/b32:f16", q.scales)
        tensors = deferred(f) | {"blk.0.Q4_0.weight": qcore.from_data(other)}
        qcore.save(tmp_path / "back.gguf", tensors, dict(f.metadata))
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def test_what_a_record_says_stays_when_the_tensor_is_taken_over(tmp_path):
    qcore.save(tmp_path / "a.gguf", WRITTEN, {"general.architecture": "llama"})
    with qcore.open(tmp_path / "a.gguf") as f:
        qcore.save(tmp_path / "b.gguf", deferred(f), dict(f.metadata))
    assert (tmp_path / "b.gguf").read_bytes() == (tmp_path / "a.gguf").read_bytes()


def test_the_factor_beside_an_nvfp4_tensor_is_its_global_scale(tmp_path):
    with qcore.open(by_ggml(tmp_path / "m.gguf", sidecar=True)) as f:
        q = f.tensor("blk.0.NVFP4.weight")
        info = f.info("blk.0.NVFP4.weight")
        assert q.global_scale == np.float32(0.25)
        assert q.scheme == info.scheme == qcore.QuantScheme.nvfp4()
        assert info.parts == ("blk.0.NVFP4.weight", "blk.0.NVFP4.scale")
        assert "blk.0.NVFP4.scale" not in f.names()
        assert f.tensor("blk.0.NVFP4.input_scale").tolist() == [3.0]


def test_factors_of_many_experts_stay_a_tensor_of_their_own(tmp_path):
    tensors = [Tensor(b"x.weight", (64, 1, 2), 40, bytes(72)), Tensor(b"x.scale", (2,), 0, bytes(8))]
    (tmp_path / "m.gguf").write_bytes(File(tensors).build())
    with qcore.open(tmp_path / "m.gguf") as f:
        assert f.names() == ("x.weight", "x.scale")
        assert f.tensor("x.weight").global_scale is None


WRITTEN = {
    "f32": X, "f16": X.astype(np.float16), "bf16": X.astype("bfloat16"), "f64": X.astype(np.float64),
    "i8": np.arange(6, dtype=np.int8).reshape(2, 3), "i64": np.array(-5), "none": np.zeros((0, 32), np.float32),
    **{name: qcore.quantize(X, name) for name in ("q8_0", "q4_0", "mxfp4", "nvfp4", "int4-b32", "int8-b32")},
    "q8f": qcore.quantize(X, "q8f/u32/b32:f16"), "mx-native": qcore.quantize(X, "e2m1/native/b32:ue8m0"),
    "u32:1": qcore.quantize(X, "q4s/u32:1/b32:f16"), "mx-u32": qcore.quantize(X, "e2m1/u32/b32:ue8m0"),
    "q4-native": qcore.quantize(X, "q4f/native/b32:f16"), "nv:1": qcore.quantize(X, "e2m1/packed:1/b16:ue4m3/t:f32"),
    "iq4-native": qcore.quantize(X, "q4f/native/lookup:iq4-nl/b32:f16"),
    "q8-u32:1": qcore.quantize(X, "q8s/u32:1/b32:f16"),
    "iq4": qcore.quantize(X, "q4f/u32/lookup:iq4-nl/b32:f16"), "one-level": qcore.quantize(X, "e2m1/packed/b16:ue4m3"),
}  # fmt: skip


def test_what_is_written_comes_back_equal_and_the_package_of_ggml_reads_it(tmp_path):
    path = tmp_path / "w.gguf"
    qcore.save(path, WRITTEN, {"general.architecture": "llama", "note": "ü"})
    packages = {t.name: t for t in GGUFReader(path).tensors}
    with qcore.open(path) as f:
        assert f.metadata["note"] == "ü"
        for name, value in WRITTEN.items():
            found = f.tensor(name)
            theirs = packages[name].data
            if isinstance(value, qcore.QTensor):
                assert found == value
                assert found.rules == value.rules
                assert f.info(name).rules == value.rules
                level = found.global_scale if found.global_scale is not None else np.float32(1)
                theirs = quants.dequantize(theirs, packages[name].tensor_type)
                # with a factor beside them they multiply in another order
                np.testing.assert_allclose(theirs * level, value.dequantize(), rtol=2e-7 if level != 1 else 0)
            else:
                assert (found.dtype, found.shape) == (value.dtype, value.shape)
                assert found.tobytes() == value.tobytes()
                assert theirs.tobytes() == value.tobytes()
    assert packages["q8_0"].data.tobytes() == quants.quantize(X, GGMLQuantizationType.Q8_0).tobytes()
    assert packages["q4_0"].data.tobytes() == quants.quantize(X, GGMLQuantizationType.Q4_0).tobytes()


REFUSED = {
    "an int8 tensor": qcore.quantize(X, "int8"),
    "blocks of 64": qcore.quantize(X, "q8s/native/b64:f16"),
    "scales in f32": qcore.quantize(X, "q8s/native/b32:f32"),
    "two levels of integers": qcore.quantize(X, "q8s/native/b32:f16/t:f32"),
    "another table": qcore.quantize(X, "q4f/u32/lookup:nf4/b32:f16"),
    "rows that are no blocks": qcore.quantize(X[:, :40], "q4_0"),
    "rows of half a block": qcore.quantize(X[:, :32], "nvfp4"),
    "no row": qcore.quantize(np.float32(1), "q8s/native/b32:f16"),
    "unsigned bytes": np.zeros(3, np.uint8),
    "five dimensions": np.zeros((1,) * 5, np.float32),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_type_holds_exactly_is_refused_and_nothing_written(tmp_path, what):
    with pytest.raises(errors.UnsupportedSchemeError) as caught:
        qcore.save(tmp_path / "w.gguf", {"w": REFUSED[what]})
    assert (caught.value.code, caught.value.tensor) == ("file-cannot-hold", "w")
    assert not list(tmp_path.iterdir())


def test_the_writer_takes_what_the_rules_of_the_target_say(tmp_path):
    values = ("q8f", "q8s", "q4f", "q4s", "q2f", "q2s", "e4m3", "e5m2", "e2m1")
    levels = (
        "",
        "/t:f32",
        "/b16:f16",
        "/b32:f16",
        "/b2x32:f16",
        "/b32:f32",
        "/b64:f16",
        "/b32:ue8m0",
        "/b16:ue8m0",
    )
    levels += ("/b16:ue4m3", "/b16:ue4m3/t:f32", "/b32:f16/t:f32", "/b32:bf16", "/b32:ue4m3")
    shapes = ((4, 64), (4, 32), (64,), (1, 1, 1, 1, 64), (4, 48), (3, 0))
    taken = 0
    for text in (
        v + store + level for v in values for store in ("/native", "/u32", "/packed") for level in levels
    ):
        scheme = qcore.QuantScheme.parse(text)
        for shape in shapes:
            if not qcore.check(scheme, shape, op="load"):
                continue
            q = qcore.from_data(
                qcore.TensorData(bytes(qcore.quantized_data_len(scheme, shape)), shape, scheme)
            )
            try:
                qcore.save(tmp_path / "w.gguf", {"w": q}, overwrite=True)
                accepted = True
            except errors.UnsupportedSchemeError:
                accepted = False
            assert accepted == bool(qcore.check(scheme, shape, op="load", on="gguf")), (text, shape)
            taken += accepted
    assert taken > 50


@pytest.mark.parametrize("byte", [0x7F, 0x80, 0xFF])
def test_a_scale_that_ggml_reads_as_another_number_is_refused(tmp_path, byte):
    q = qcore.quantize(X, "e2m1/packed/b16:ue4m3")
    data = bytearray(q.to_data().bytes)
    data[-3] = byte
    odd = qcore.from_data(qcore.TensorData(bytes(data), q.shape, q.scheme))
    with pytest.raises(errors.UnsupportedSchemeError, match=f"0x{byte:02x}"):
        qcore.save(tmp_path / "w.gguf", {"w": odd})


@pytest.mark.parametrize("name", ["n" * 64, "ü" * 32, "a\0b", "\udc80"])
def test_a_name_that_ggml_would_not_read_is_refused(tmp_path, name):
    qcore.save(tmp_path / "ok.gguf", {"n" * 63: X})
    with pytest.raises(errors.FormatError) as caught:
        qcore.save(tmp_path / "w.gguf", {name: X})
    assert caught.value.code == "file-name-refused"


def test_the_factor_of_a_tensor_and_a_tensor_of_that_name_cannot_both_be(tmp_path):
    with pytest.raises(errors.FormatError, match="taken by another tensor"):
        qcore.save(tmp_path / "w.gguf", {"x.weight": WRITTEN["nvfp4"], "x.scale": X})


def test_the_file_type_follows_the_tensors_and_the_other_keys_stay(tmp_path):
    path = by_ggml(tmp_path / "m.gguf", types=("Q4_0", "Q6_K"))
    with qcore.open(path) as f:
        tensors = deferred(f)
        for name in ("token_embd.weight", "blk.0.Q4_0.weight", "b"):
            tensors[name] = qcore.quantize(X, "q8_0")
        qcore.save(tmp_path / "q.gguf", tensors, dict(f.metadata))
        before = dict(f.metadata)
    with qcore.open(tmp_path / "q.gguf") as g:
        after = dict(g.metadata)
        assert g.info("blk.0.Q6_K.weight").origin == "Q6_K"
    assert (before.pop("general.file_type"), after.pop("general.file_type")) == ("2", "7")
    del before["gguf.layout"], after["gguf.layout"]
    assert before == after
    theirs = GGUFReader(tmp_path / "q.gguf").fields
    assert theirs["tokenizer.ggml.tokens"].contents() == ["<s>", "ü", "", "▁a"]


def test_tensors_without_a_models_keys_are_said_to_be_no_model(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        qcore.save(tmp_path / "w.gguf", {"w": X})
        assert "tensors only: llama.cpp will not load this" in caplog.text
        caplog.clear()
        qcore.save(tmp_path / "m.gguf", {"w": X}, {"general.architecture": "llama"})
        assert not caplog.text


def test_digests_are_recorded_and_hold(tmp_path):
    path = tmp_path / "w.gguf"
    qcore.save(path, {"x.weight": WRITTEN["nvfp4"], "b": X}, provenance=True)
    from qcore.formats.digests import digest

    with qcore.open(path) as f:
        assert set(f.stored.digests) == {"x.weight", "x.scale", "b"}
        for name, text in f.stored.digests.items():
            assert digest(f.stored.raw(name)) == text


def test_a_record_that_says_another_tensor_is_refused(tmp_path):
    path = tmp_path / "w.gguf"
    qcore.save(path, {"w": WRITTEN["int4-b32"]})
    for old, new in ((b'"Q4S"', b'"Q8S"'), (b'"shape":[4,256]', b'"shape":[4,255]'), (b'"F16"', b'"F32"')):
        wrong = path.read_bytes().replace(old, new)
        assert wrong != path.read_bytes()
        (tmp_path / "v.gguf").write_bytes(wrong)
        with pytest.raises(errors.FormatError) as caught:
            qcore.open(tmp_path / "v.gguf")
        assert caught.value.tensor == "w"


def test_the_same_tensors_give_the_same_bytes_in_any_order(tmp_path):
    qcore.save(tmp_path / "a.gguf", WRITTEN, {"b": "1", "a": "2"})
    qcore.save(tmp_path / "b.gguf", dict(reversed(WRITTEN.items())), {"a": "2", "b": "1"})
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()


def test_a_file_without_tensors_is_a_file(tmp_path):
    qcore.save(tmp_path / "none.gguf", {}, {"general.architecture": "llama"})
    with qcore.open(tmp_path / "none.gguf") as f:
        assert f.names() == ()
    assert not GGUFReader(tmp_path / "none.gguf").tensors


@pytest.mark.parametrize("suffix", OTHERS)
def test_what_is_foreign_elsewhere_is_what_it_decodes_to(tmp_path, suffix):
    with qcore.open(by_ggml(tmp_path / "m.gguf", types=("Q4_K", "IQ3_S"))) as f:
        qcore.save(tmp_path / f"w.{suffix}", f)
        with qcore.open(tmp_path / f"w.{suffix}") as g:
            for name in f.names():
                assert np.array_equal(np.asarray(g.tensor(name)), np.asarray(f.tensor(name)))
                assert (g.info(name).dtype, g.info(name).shape) == (f.info(name).dtype, f.info(name).shape)
        q = qcore.quantize(f.tensor("blk.0.Q4_K.weight"), "q8_0")
        assert q == qcore.quantize(f.tensor("blk.0.Q4_K.weight").dequantize(), "q8_0")


def test_a_foreign_form_of_another_format_is_written_as_what_it_decodes_to(tmp_path):
    odd = ForeignTensor(
        "halves", (4,), 1, np.arange(4, dtype=np.uint8).reshape(1, 4), lambda r: r / 2, format="odd"
    )
    qcore.save(tmp_path / "w.gguf", {"w": odd})
    with qcore.open(tmp_path / "w.gguf") as f:
        assert (f.tensor("w").tolist(), f.info("w").dtype) == ([0, 0.5, 1, 1.5], "float32")


def test_the_page_of_gguf_says_what_the_table_does(request):
    page = (request.config.rootpath / "docs" / "gguf.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    for row in BY_ID.values():
        names = (row.name, row.name.split("_")[0] + "_*")
        line = next(
            line for line in lines if any(n in line.split("|")[1].replace(",", "").split() for n in names)
        )
        if row.scheme is not None:
            assert row.scheme.replace("lookup:iq4-nl", "lookup") in line, line
        if not row.is_plain:
            assert f"| {row.fidelity} |" in line, line
