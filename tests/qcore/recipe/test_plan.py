"""What a recipe makes of the tensors of a file: decided whole, before any work."""

import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.formats.protocol import TensorInfo
from qcore.recipe import Recipe, Rule
from qcore.recipe.ties import tie_of


def info(name, *shape, dtype="float32"):
    return TensorInfo(name, shape, dtype, None, 4 * int(np.prod(shape)), (name,))


MODEL = [
    info("layers.0.attn.q_proj.weight", 64, 64),
    info("layers.0.attn.k_proj.weight", 32, 64),
    info("layers.0.attn.v_proj.weight", 32, 64),
    info("layers.0.norm.weight", 64),
    info("layers.0.mlp.down_proj.weight", 64, 96),
    info("ids", 9, dtype="int64"),
]


def plan(text, infos=MODEL, **options):
    return Recipe.loads("version = 1\n" + text).plan(infos, **options)


def kept(found):
    return {decision.name: decision.kept for decision in found if decision.kept}


def test_the_first_rule_that_matches_decides():
    found = plan("""
default = "int4-b32"
[[rule]]
match = "*.norm.*"
action = "keep"
note = "norms"
[[rule]]
match = "*.down_proj.weight"
scheme = "int8"
[[rule]]
match = "*.weight"
scheme = "fp8"
""")
    assert [(d.name.split(".")[-2:][0], d.rule, d.after.kind) for d in found] == [
        ("q_proj", 2, "e4m3/native/t:f32"),
        ("k_proj", 2, "e4m3/native/t:f32"),
        ("v_proj", 2, "e4m3/native/t:f32"),
        ("norm", 0, "float32"),
        ("down_proj", 1, "q8s/native/t:f32"),
        ("ids", None, "int64"),
    ]
    assert kept(found) == {
        "layers.0.norm.weight": "rule 1 keeps it: norms",
        "ids": "int64 is no float that is quantized",
    }
    found.demand()
    assert not found.dead


def test_rules_that_decide_nothing_are_told_with_the_reason():
    found = plan("""
[[rule]]
match = "*"
action = "keep"
[[rule]]
match = "*.q_proj.*"
scheme = "int8"
[[rule]]
match = "*.lm_head"
scheme = "int8"
""")
    assert found.dead == (
        "rule 2 (*.q_proj.*) decides nothing: earlier rules match its 1 tensors",
        "rule 3 (*.lm_head) matches nothing",
    )


def test_without_a_default_what_no_rule_matches_stays():
    assert set(kept(plan(""))) == {item.name for item in MODEL}


def test_one_refusal_is_raised_as_it_is_and_several_are_listed_by_name():
    found = plan("[[rule]]\nmatch = '*.norm.*'\nscheme = 'q4s/u32/b2x16:f16'")
    assert [(error.code, error.tensor) for error in found.refusals] == [("block-rank", "layers.0.norm.weight")]
    with pytest.raises(errors.QuantError) as caught:
        found.demand()
    assert (caught.value.code, caught.value.tensor) == ("block-rank", "layers.0.norm.weight")
    two = plan("default = 'q4s/u32/b2x16:f16'", [info("a", 8), info("b", 8, 32), info("c", 9)])
    with pytest.raises(errors.InvalidSchemeError) as caught:
        two.demand()
    assert caught.value.code == "recipe-refused"
    assert "2 of 3 tensors" in str(caught.value)
    assert all(f"{name}: [block-rank]" in str(caught.value) for name in ("a", "c"))


def test_what_cannot_be_taken_is_kept_when_the_recipe_or_the_caller_says_so():
    text = "default = 'q4s/u32/b2x16:f16'\n"
    for found in (plan(text, on_invalid="float"), plan(text + "[settings]\non_invalid = 'float'")):
        found.demand()
        assert kept(found)["layers.0.norm.weight"].startswith("[block-rank]")


def test_flags_win_over_rules_and_rules_over_settings():
    text = """
default = "int4-b32"
[settings]
calibration = "mse"
scale_rounding = "nearest"
[[rule]]
match = "*.down_proj.*"
calibration = "absmean"
"""
    rules = {d.name: d.after.rules for d in plan(text) if not d.kept}
    assert rules["layers.0.mlp.down_proj.weight"]["calibration"] == "absmean"
    assert rules["layers.0.attn.q_proj.weight"]["calibration"] == "mse"
    assert {rule["scale_rounding"] for rule in rules.values()} == {"nearest"}
    flags = {d.after.rules["calibration"] for d in plan(text, overrides={"calibration": "minmax"}) if not d.kept}
    assert flags == {"minmax"}


def test_a_rule_moves_a_tensor_before_it_is_quantized():
    found = plan("""
[[rule]]
match = "layers.*.mlp.down_proj.weight"
rename = "blocks.*.down"
transpose = true
scheme = "int4-b32"
""")
    (moved,) = [d for d in found if not d.kept]
    assert (moved.target, moved.move.transpose, moved.after.shape) == ("blocks.0.down", True, (96, 64))
    assert moved.after.nbytes == qcore.quantized_data_len("q4s/u32/b32:f16", (96, 64))


def test_a_rule_about_schemes_leaves_the_layout_to_decide():
    found = plan("[[rule]]\nmatch = '*.weight'\nscheme = 'int8'", layout="torch-to-burn")
    assert [d.move.transpose for d in found] == [True, True, True, False, True, False]


def test_what_is_planned_is_what_quantize_makes():
    x = np.random.default_rng(1).standard_normal((64, 96)).astype(np.float32)
    for scheme in ("int4-b32", "nvfp4", "nf4", "int8-channel", "mxfp4"):
        (decision,) = Recipe.of(scheme).plan([info("w", 64, 96)])
        made = qcore.quantize(x, **decision.ask)
        table = 0 if made.codebook is None else made.codebook.table.nbytes
        assert (made.scheme, made.nbytes + table) == (decision.after.scheme, decision.after.nbytes)
        assert dict(made.rules) == dict(decision.after.rules)


def test_totals_of_rules_add_up():
    found = plan("default = 'int4-b32'\n[[rule]]\nmatch = '*.norm.*'\naction = 'keep'")
    rows = found.by_rule()
    assert sum(len(row.decisions) for row in rows) == len(MODEL)
    assert sum(row.after for row in rows) == sum(d.after.nbytes for d in found)
    assert [row.scheme for row in rows] == ["keep", "int4-b32"]


TIED = """
ties = ["qkv"]
default = "nvfp4"
"""


def test_tied_tensors_share_a_global_scale_under_two_levels_only():
    groups = plan(TIED).groups()
    assert [[d.name.split(".")[-2] for d in members] for members in groups.values()] == [["q_proj", "k_proj", "v_proj"]]
    assert not plan(TIED.replace("nvfp4", "int8")).groups()


@pytest.mark.parametrize("rule", ["scheme = 'int8'", "action = 'keep'", "calibration = 'mse'"])
def test_tied_tensors_that_are_told_apart_are_refused(rule):
    found = plan(TIED + f"[[rule]]\nmatch = '*.k_proj.*'\n{rule}")
    assert [error.code for error in found.refusals] == ["recipe-tied-apart"]
    assert "k_proj" in str(found.refusals[0])


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("h.1.attn.wq.weight", "h.1.attn.wk.weight"), "qkv"),
        (("blk.0.attn_q.weight", "blk.0.attn_v.weight"), "qkv"),
        (("l.self.query.weight", "l.self.value.weight"), "qkv"),
        (("m.gate_proj.weight", "m.up_proj.weight"), "gate-up"),
    ],
)
def test_names_of_many_projects_tie(names, kind):
    groups = {tie_of(name, (kind,)) for name in names}
    assert len(groups) == 1
    assert None not in groups


@pytest.mark.parametrize("name", ["a.q_proj.bias", "a.qkv_proj.weight", "wqx.weight", "b.q_proj.weight.scale"])
def test_other_names_do_not_tie(name):
    assert tie_of(name, ("qkv", "gate-up")) is None


def test_rules_can_be_made_in_programs():
    recipe = Recipe(default="int8", rules=(Rule.of(match="*.norm.weight", action="keep"),))
    assert len(recipe.plan(MODEL).chosen) == 4
