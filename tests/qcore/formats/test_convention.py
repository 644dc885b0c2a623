import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qcore
from qcore import errors

X = np.random.default_rng(0).normal(size=(6, 64)).astype(np.float32)
SCHEMES = [
    *qcore.PRESETS,
    "q4f/native/b16:bf16",
    "q8s/u32:1/b2x16:f16",
    "q2f/u32/b3:ue8m0",
    "e5m2/u32/t:f16",
    "q2s/u32/lookup/b8:ue4m3",
    "q8f/native/lookup/t:bf16",
    "e2m1/native/b16:f16/t:f32",
]
BOOKS = {"q2s/u32/lookup/b8:ue4m3": [-1, -0.25, 0, 1], "q8f/native/lookup/t:bf16": np.linspace(-1, 1, 256)}


def quantized(scheme, x=X):
    return qcore.quantize(x, scheme, codebook=BOOKS.get(scheme))


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_quantized_tensor_comes_back_equal_with_its_rules(tmp_path, scheme, suffix):
    for x in (X, X[0], X[:, :7], X[:2, None, :5], X[:0], X[0, 0]):
        if scheme == "q8s/u32:1/b2x16:f16" and x.ndim < 2:
            continue
        q = quantized(scheme, x)
        path = tmp_path / f"x.{suffix}"
        qcore.save(path, {"w.weight": q, "w.bias": x}, overwrite=True)
        with qcore.open(path) as f:
            assert set(f.names()) == {"w.weight", "w.bias"}
            info, got = f.info("w.weight"), f.tensor("w.weight")
        assert got == q
        assert dict(got.rules) == dict(q.rules)
        assert (info.scheme, info.shape, dict(info.rules)) == (q.scheme, q.shape, dict(q.rules))
        assert info.nbytes == q.nbytes + (0 if q.codebook is None else q.codebook.table.nbytes)
        assert got.codebook == q.codebook


def test_the_record_is_burns_form_with_the_shape_and_the_rules(tmp_path):
    q = quantized("nvfp4")
    qcore.save(tmp_path / "x.safetensors", {"w": q})
    with qcore.open(tmp_path / "x.safetensors") as f:
        texts = f.stored.metadata
    record = json.loads(texts["qcore.scheme.w"])
    assert record.pop("shape") == [6, 64]
    assert record.pop("rules")["scale_rounding"] == "nearest"
    assert record == q.scheme.to_dict()
    assert texts["format"] == "pt"
    assert texts["qcore.version"] == qcore.__version__


def test_a_rewrite_keeps_everything(tmp_path):
    one, two, three = (tmp_path / name for name in ("1.safetensors", "2.npz", "3.safetensors"))
    qcore.save(one, {"w": quantized("nf4"), "b": X}, {"k": "v", "format": "pt"})
    for source, target in ((one, two), (two, three)):
        with qcore.open(source) as f:
            qcore.save(target, f)
    assert one.read_bytes() == three.read_bytes()


def _parts(scheme="int4-b32"):
    q = quantized(scheme)
    record = {**q.scheme.to_dict(), "shape": list(q.shape), "rules": dict(q.rules)}
    return {"w": q.values, "w.scale": q.scales}, record


BROKEN = {
    "no JSON": lambda a, r: "{",
    "a list": lambda a, r: [],
    "no value": lambda a, r: r.pop("value") and r,
    "an unknown value": lambda a, r: r | {"value": "Q3S"},
    "a value that is a number": lambda a, r: r | {"value": 4},
    "a store that is a list": lambda a, r: r | {"store": []},
    "a packing dim beyond the rank": lambda a, r: r | {"store": {"PackedU32": 2}},
    "a packing dim of 2^70": lambda a, r: r | {"store": {"PackedU32": 2**70}},
    "a mode that is null": lambda a, r: r | {"mode": None},
    "a block of extent 0": lambda a, r: (
        r | {"block": {"size": {"storage": [0, 1, 1, 1, 1], "len": 1}, "dtype": "F16"}}
    ),
    "a block of length 9": lambda a, r: (
        r | {"block": {"size": {"storage": [2] * 5, "len": 9}, "dtype": "F16"}}
    ),
    "a block that is true": lambda a, r: r | {"block": True},
    "a level of another dtype": lambda a, r: r | {"tensor": "F16"},
    "no shape": lambda a, r: r.pop("shape") and r,
    "a negative shape": lambda a, r: r | {"shape": [-6, -64]},
    "a shape of floats": lambda a, r: r | {"shape": [6.0, 64]},
    "a shape of truth values": lambda a, r: r | {"shape": [True, 64]},
    "a shape of 2^62 squared": lambda a, r: r | {"shape": [2**62, 2**62]},
    "nine dimensions": lambda a, r: r | {"shape": [1] * 9},
    "another shape": lambda a, r: r | {"shape": [5, 64]},
    "another shape of as many words": lambda a, r: r | {"shape": [12, 32]},
    "rules that are nested": lambda a, r: r | {"rules": {"a": {"b": 1}}},
    "rules that are a text": lambda a, r: r | {"rules": "minmax"},
    "a codebook that is a number": lambda a, r: r | {"codebook": 3},
    "scales of another dtype": lambda a, r: a.update({"w.scale": a["w.scale"].astype(np.float32)}) or r,
    "scales of another shape": lambda a, r: a.update({"w.scale": a["w.scale"].reshape(-1)}) or r,
    "no scales": lambda a, r: a.pop("w.scale") is None or r,
    "no values": lambda a, r: a.pop("w") is None or r,
    "values of another dtype": lambda a, r: a.update({"w": a["w"].view(np.int32)}) or r,
    "no table": lambda a, r: r | {"mode": "Lookup"},
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_record_that_its_arrays_do_not_keep_is_refused_at_opening(tmp_path, refused, rule):
    arrays, record = _parts()
    record = BROKEN[rule](arrays, record)
    text = record if isinstance(record, str) else json.dumps(record)
    qcore.save(tmp_path / "x.safetensors", arrays, {"qcore.scheme.w": text})
    error = refused(qcore.open, tmp_path / "x.safetensors")
    assert isinstance(error, errors.FormatError)
    assert "x.safetensors" in str(error)


def test_a_part_belongs_to_one_tensor(tmp_path, refused):
    arrays, record = _parts()
    record = record | {"store": "Native", "value": "Q8S", "shape": [6, 64], "block": None, "tensor": "F32"}
    arrays = {"w": np.zeros((6, 64), np.int8), "w.scale": np.ones(1, np.float32)}
    scale = record | {"shape": [1]}
    texts = {"qcore.scheme.w": json.dumps(record), "qcore.scheme.w.scale": json.dumps(scale)}
    qcore.save(tmp_path / "x.safetensors", arrays, texts)
    refused(qcore.open, tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"value":"Q8S","value":"Q8F"}', "each key once"),
        ('{"shape":[1],"rules":{"a":NaN}}', "a finite number"),
        ('{"shape":[1],"rules":{"a":1e999}}', "a finite number"),
        (json.dumps({"shape": [1], "rules": {"a": "x" * (1 << 20)}}), "limit metadata-record"),
        (json.dumps({"shape": [1] * 9, "value": "nonsense"}), "limit rank"),
    ],
)
def test_a_record_says_what_is_wrong_with_it(tmp_path, refused, text, words):
    qcore.save(tmp_path / "x.safetensors", {"w": X}, {"qcore.scheme.w": text})
    assert words in str(refused(qcore.open, tmp_path / "x.safetensors"))


def test_a_table_of_nonsense_is_refused_naming_the_tensor(tmp_path, refused):
    q = quantized("nf4")
    qcore.save(tmp_path / "x.safetensors", {"w": q})
    data = (tmp_path / "x.safetensors").read_bytes()
    nan = np.full(16, np.nan, np.float32).tobytes()
    (tmp_path / "x.safetensors").write_bytes(data.replace(q.codebook.table.tobytes(), nan))
    with qcore.open(tmp_path / "x.safetensors") as f:
        assert refused(f.tensor, "w", code="bad-codebook").tensor == "w"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["value", "store", "mode", "tensor", "block", "shape", "rules", "codebook"]), JSON
    )
)
def test_any_record_ends_in_a_tensor_or_a_documented_error(tmp_path_factory, fields):
    arrays, record = _parts()
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    qcore.save(path, arrays, {"qcore.scheme.w": json.dumps(record | fields)})
    try:
        with qcore.open(path) as f:
            f.tensor("w")
    except errors.QuantError:
        pass
