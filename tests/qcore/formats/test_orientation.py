"""Which tensors a layout turns, what a map may say, and that turning is exact."""

import numpy as np
import pytest

import qcore
from qcore.formats import orientation, orientation_map
from qcore.formats.protocol import TensorInfo

X = np.random.default_rng(7).standard_normal((32, 64), dtype=np.float32)


def info(name, *shape):
    return TensorInfo(name, shape, "float32", None, 4 * int(np.prod(shape)), (name,))


# name, shape -> what torch-to-burn makes of it: new name, transposed
TO_BURN = {
    ("fc.weight", (4, 8)): ("fc.weight", True),
    ("fc.bias", (4,)): ("fc.bias", False),
    ("weight", (4, 8)): ("weight", True),
    ("model.embed_tokens.weight", (100, 8)): ("model.embed_tokens.weight", False),
    ("embeddings.word_embeddings.weight", (100, 8)): ("embeddings.word_embeddings.weight", False),
    ("wte.weight", (100, 8)): ("wte.weight", False),
    ("token_embd.weight", (100, 8)): ("token_embd.weight", False),
    ("emb.0.weight", (100, 8)): ("emb.0.weight", False),
    ("remember.weight", (4, 8)): ("remember.weight", True),
    ("conv.weight", (4, 8, 3, 3)): ("conv.weight", False),
    ("lstm.weight_ih_l0", (16, 8)): ("lstm.weight_ih_l0", False),
    ("norm.weight", (4,)): ("norm.gamma", False),
    ("norm.bias", (4,)): ("norm.beta", False),
    ("layers.0.ln_1.weight", (4,)): ("layers.0.ln_1.gamma", False),
    ("layers.0.input_layernorm.weight", (4,)): ("layers.0.input_layernorm.gamma", False),
    ("encoder.LayerNorm.bias", (4,)): ("encoder.LayerNorm.beta", False),
    ("norms.norm.3.weight", (4,)): ("norms.norm.3.gamma", False),
    ("bn2.weight", (4,)): ("bn2.gamma", False),
    ("ln_f.weight", (4,)): ("ln_f.gamma", False),
    ("bn2.running_mean", (4,)): ("bn2.running_mean", False),
    ("down.1.weight", (4,)): ("down.1.weight", False),
    ("online.bias", (4,)): ("online.bias", False),
}


@pytest.mark.parametrize("name", TO_BURN, ids=lambda case: case[0])
def test_names_decide_what_a_layout_turns(name):
    (move,) = orientation.plan([info(name[0], *name[1])], "torch-to-burn")
    assert (move.target, move.transpose) == TO_BURN[name]
    (same,) = orientation.plan([info(name[0], *name[1])], "keep")
    assert same.is_nothing


def test_statistics_beside_it_make_a_norm_of_any_name():
    found = orientation.plan([info("down.1.weight", 4), info("down.1.running_mean", 4)], "torch-to-burn")
    assert [move.target for move in found] == ["down.1.gamma", "down.1.running_mean"]


def test_there_and_back_is_nothing():
    names = [info(*case[:1], *case[1]) for case in TO_BURN]
    there = orientation.plan(names, "torch-to-burn")
    turned = [
        TensorInfo(move.target, old.shape[::-1] if move.transpose else old.shape, "float32", None, 0, ())
        for move, old in zip(there, names, strict=True)
    ]
    back = orientation.plan(turned, "burn-to-torch")
    assert [move.target for move in back] == [old.name for old in names]
    assert [move.transpose for move in back] == [move.transpose for move in there]


def test_a_layout_that_is_none_and_two_tensors_of_one_name_are_refused(refused):
    refused(orientation.plan, [info("a.weight", 2, 2)], "sideways", code="unknown-name")
    rules = [orientation_map.make_rule({"match": "*.weight", "rename": "same"}, "rule 1")]
    error = refused(orientation.plan, [info("a.weight", 2, 2), info("b.weight", 2, 2)], "keep", rules,
                    code="file-name-refused")  # fmt: skip
    assert "'a.weight'" in str(error)
    turn = [orientation_map.make_rule({"match": "*", "transpose": True}, "rule 1")]
    refused(orientation.plan, [info("a.weight", 2, 2, 2)], "keep", turn, code="axis-invalid")


@pytest.mark.parametrize(
    "scheme", ["q8s/native/b1x8:f16", "q4s/u32/b2x8:f32", "nvfp4", "q2f/u32:1/b4:bf16", "nf4", "fp8"]
)
def test_turning_a_quantized_tensor_is_exact(tmp_path, scheme):
    q = qcore.quantize(X, scheme, backend="reference")
    qcore.save(tmp_path / "t.safetensors", {"fc.weight": q})
    with qcore.open(tmp_path / "t.safetensors") as f:
        qcore.save(tmp_path / "b.bpk", f, layout="torch-to-burn")
    with qcore.open(tmp_path / "b.bpk") as f:
        turned = f.tensor("fc.weight")
        assert f.info("fc.weight").scheme == turned.scheme
        assert f.info("fc.weight").nbytes == turned.nbytes + (0 if q.codebook is None else 64)
        assert turned.scheme.store.packing_dim in (None, 0)
        assert turned.dequantize().tobytes() == q.dequantize().T.tobytes()
        qcore.save(tmp_path / "back.safetensors", f, layout="burn-to-torch")
    with qcore.open(tmp_path / "back.safetensors") as f:
        assert (f.tensor("fc.weight").dequantize() == q.dequantize()).all()
        assert (f.tensor("fc.weight").codes == q.codes).all()


def test_a_square_matrix_is_never_written_for_burn_without_a_word(tmp_path, refused):
    qcore.save(tmp_path / "t.safetensors", {"a.weight": X[:, :32], "a.bias": X[0], "conv": X.reshape(2, 4, 4, 64)})
    with qcore.open(tmp_path / "t.safetensors") as f:
        error = refused(qcore.save, tmp_path / "b.bpk", f, code="state-the-layout")
        assert error.params["tensors"] == ("a.weight [32, 32]",)
        assert "a.weight [32, 32]" in str(error)
        assert all(f'layout="{word}"' in " ".join(error.solutions) for word in ("keep", "torch-to-burn"))
        assert not (tmp_path / "b.bpk").exists()
        qcore.save(tmp_path / "b.bpk", f, layout="torch-to-burn")
        qcore.save(tmp_path / "k.bpk", f, layout="keep")
    with qcore.open(tmp_path / "b.bpk") as f, qcore.open(tmp_path / "k.bpk") as g:
        assert (f.tensor("a.weight") == X[:, :32].T).all()
        assert (g.tensor("a.weight") == X[:, :32]).all()


def test_many_matrices_are_listed_in_short(tmp_path, refused):
    qcore.save(tmp_path / "t.safetensors", {f"{number}.weight": X[:2, :2] for number in range(10)})
    with qcore.open(tmp_path / "t.safetensors") as f:
        error = refused(qcore.save, tmp_path / "b.bpk", f, code="state-the-layout")
    assert "and 2 more" in str(error)
    assert len(error.params["tensors"]) == 10


def test_what_needs_no_word_is_written(tmp_path):
    qcore.save(tmp_path / "vectors.safetensors", {"a": X[0], "b": X.reshape(2, 16, 64)})
    qcore.save(tmp_path / "burn.safetensors", {"a.weight": X, "n.gamma": X[0]}, {"producer": "burn"})
    for name in ("vectors", "burn"):
        with qcore.open(tmp_path / f"{name}.safetensors") as f:
            qcore.save(tmp_path / f"{name}.bpk", f)
    with qcore.open(tmp_path / "burn.bpk") as f:
        qcore.save(tmp_path / "out.safetensors", f)
        assert (f.tensor("a.weight") == X).all()
    with qcore.open(tmp_path / "out.safetensors") as f:
        assert f.stored.metadata["qcore.layout"] == "burn"
        qcore.save(tmp_path / "again.bpk", f)


@pytest.mark.parametrize("metadata", [{"producer": "burn"}, {}], ids=["by Burn", "by others"])
def test_one_sign_of_burn_alone_proves_nothing(tmp_path, refused, metadata):
    names = {"a.weight": X} if metadata else {"a.weight": X, "n.gamma": X[0]}
    qcore.save(tmp_path / "x.safetensors", names, metadata)
    with qcore.open(tmp_path / "x.safetensors") as f:
        refused(qcore.save, tmp_path / "b.bpk", f, code="state-the-layout")


def test_a_layout_needs_an_open_file(tmp_path, refused):
    refused(qcore.save, tmp_path / "x.bpk", {"a": X}, layout="keep", code="option-value")


# ---- maps ----

MAP = """
version = 1
[[rule]]
match = "bert.*.layer.*.weight"
rename = "*.l*.weight"
transpose = true
[[rule]]
regex = 'bert\\.(\\w+)\\.bias'
rename = '\\1.b'
note = "biases"
[[rule]]
match = "bert.pooler"
"""


def test_rules_are_asked_in_order_and_stars_take_what_was_found(tmp_path):
    (tmp_path / "m.toml").write_text(MAP)
    rules = orientation_map.read_map(tmp_path / "m.toml")
    infos = [info("bert.encoder.layer.3.weight", 2, 3), info("bert.x.bias", 2), info("bert.pooler", 2), info("y", 2)]
    moves = orientation.plan(infos, "keep", rules)
    assert [(move.target, move.transpose) for move in moves] == [
        ("encoder.l3.weight", True), ("x.b", False), ("bert.pooler", False), ("y", False),
    ]  # fmt: skip
    assert orientation_map.unmatched(rules, ["y", "bert.pooler"]) == ("bert.*.layer.*.weight", r"bert\.(\w+)\.bias")


def test_a_rule_goes_before_the_layout_and_leaves_the_rest_to_it():
    rules = [orientation_map.make_rule(said, "rule") for said in (
        {"match": "lm_head.weight", "transpose": False}, {"match": "old.*", "rename": "new.*"},
    )]  # fmt: skip
    infos = [info("lm_head.weight", 2, 3), info("old.weight", 2, 3), info("fc.weight", 2, 3)]
    moves = orientation.plan(infos, "torch-to-burn", rules)
    assert [(move.target, move.transpose) for move in moves] == [
        ("lm_head.weight", False), ("new.weight", True), ("fc.weight", True),
    ]  # fmt: skip


BAD_MAPS = {
    "no TOML": ("version = ", "TOML"),
    "version": ("version = 2", "version = 1"),
    "another key": ("rules = []", "rules"),
    "rule no table": ("rule = [1]", "no tables"),
    "unknown key": ('[[rule]]\nmatch = "a"\nscheme = "int8"', "'scheme'"),
    "neither": ("[[rule]]\ntranspose = true", "neither"),
    "both": ('[[rule]]\nmatch = "a"\nregex = "a"', "both"),
    "match no text": ("[[rule]]\nmatch = 1", "a text for match"),
    "transpose no truth": ('[[rule]]\nmatch = "a"\ntranspose = 1', "true or false"),
    "stars": ('[[rule]]\nmatch = "a.*"\nrename = "*.*"', "1 stars"),
    "regex": ('[[rule]]\nregex = "("', "regular expression"),
    "group": ('[[rule]]\nregex = "a"\nrename = \'\\1\'', "groups"),
    "escape": ('[[rule]]\nregex = "a"\nrename = \'\\q\'', "groups"),
}


@pytest.mark.parametrize("case", BAD_MAPS)
def test_a_map_that_says_something_else_is_refused_by_name(tmp_path, refused, case):
    text, words = BAD_MAPS[case]
    (tmp_path / "m.toml").write_text(text)
    error = refused(orientation_map.read_map, tmp_path / "m.toml", code="option-value")
    assert words in str(error)
    assert "m.toml" in str(error)
