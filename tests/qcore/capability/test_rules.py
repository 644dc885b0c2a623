"""Rules and sets, each by itself."""

import pytest

import qcore
from qcore import errors
from qcore.capability import TABLE, Problem, rules
from qcore.capability.families import BLOCKS, NATIVE, Q4, Q8, SYMMETRIC, TWO_LEVELS, Family, Form
from qcore.scheme import ScaleDtype


def ask(text, shape=None, **question):
    return Problem(qcore.QuantScheme.parse(text), shape, **question)


def test_a_family_is_the_schemes_that_each_of_its_sets_admits():
    family = Family(values=Q8, stores=NATIVE, modes=SYMMETRIC, levels=BLOCKS)
    assert ask("q8s/native/b32:f16") in family
    for other in ("q4s/native/b32:f16", "q8s/u32/b32:f16", "q8s/native/lookup/b32:f16", "q8s/native/t:f16"):
        assert ask(other) not in family
    assert ask("q8s/native/b32:f16/t:f32") not in family
    assert ask("q8s/native/b32:f16/t:f32") in Family(levels=TWO_LEVELS)
    assert "q8s/native" not in Family()
    assert ask("nvfp4") in Family()


def test_a_family_may_ask_for_scales_extents_the_packed_axis_and_calibrating():
    assert ask("q8s/native/b2x16:f16") in Family(
        scales=frozenset({ScaleDtype.F16}), extents=frozenset({(2, 16)})
    )
    assert ask("q8s/native/t:f16") not in Family(extents=frozenset({(2, 16)}))
    assert ask("q8s/u32:1") in Family(packed_outside=True)
    assert ask("q8s/u32") not in Family(packed_outside=True)
    assert ask("q8s/u32") in Family(calibrating=True)
    assert ask("q8s/u32", params=True) not in Family(calibrating=True)
    assert ask("q8s/u32", op="load") not in Family(calibrating=True)


def test_levels_are_named_by_what_multiplies():
    levels = [
        ask(text).level for text in ("q8s/native", "q8s/native/t:f16", "q8s/b32:f16", "q8s/b32:f16/t:f32")
    ]
    assert levels == ["tensor", "tensor", "block", "two"]


def test_a_form_takes_blocks_of_its_rank_and_rows_of_its_multiple():
    form = Form("f", Family(values=Q4), max_extent=128)
    assert form.takes(ask("q4s/b128:f16"))
    assert not form.takes(ask("q4s/b129:f16"))
    assert not form.takes(ask("q4s/b2x16:f16"))
    assert form.multiple(ask("q4s/b32:f16")) == 32
    assert form.multiple(ask("q4s")) == 1
    assert Form("g", Family(), max_block_rank=2).multiple(ask("q4s/b32:f16")) == 1
    assert Form("h", Family(), row_multiple=64).multiple(ask("q4s/b32:f16")) == 64


def test_inside_and_outside_are_opposites():
    family = Family(values=Q8)
    inside, outside = rules.within("unsupported-scheme", family), rules.outside("unsupported-scheme", family)
    for text in ("q8s/native", "q4s/native"):
        assert (inside.refusal(ask(text)) is None) is not (outside.refusal(ask(text)) is None)


def test_a_misreading_names_the_place_and_the_reason():
    error = rules.misread("it counts backwards", Family()).refusal(ask("q8s/native", place="burn-flex"))
    assert str(error).startswith("burn-flex would misread QuantScheme { value: Q8S, ")
    assert str(error).endswith(": it counts backwards")


@pytest.mark.parametrize(
    ("rule", "problem", "message"),
    [
        (rules.NOT_DIVISIBLE, ask("q8s/b4:f32", (2, 5)),
         "Tensor Shape { dims: [2, 5] } must be evenly divisible by block size [1, 4]"),
        (rules.BLOCK_NOT_PACKED, ask("q4s/u32/b4:f32"), "Block size must be divisible by 8, got block_size=4"),
        (rules.BLOCK_NOT_PACKED, ask("q8s/u32/b1:f32"), "Block size must be divisible by 4, got block_size=1"),
        (rules.U32_LINE, ask("q2s/u32", (3, 8)), "Can't store in u32"),
        (rules.FLAT_U32_LINE, ask("q2s/u32", (3, 8), place="burn-flex"),
         "burn-flex reads packed words as one flat run, but lines of 8 values end inside a word of 16"),
        (rules.LOOKUP_NOT_U32, ask("q8s/native/lookup"),
         "lookup decode is only wired for packed-u32 storage, got Native"),
        (rules.MEANINGLESS[0], ask("q8s/packed"), "Q8S doesn't support native packing"),
        (rules.MEANINGLESS[3], ask("q8s/b2x2:f16", (4,)),
         "a block BlockSize([2, 2]) has more extents than the tensor's 1 dimensions"),
    ],
)  # fmt: skip
def test_a_rule_fills_its_message(rule, problem, message):
    assert str(rule.refusal(problem)) == message


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (rules.NOT_DIVISIBLE, ask("q8s/b4:f32")),
        (rules.NOT_DIVISIBLE, ask("q8s/b4:f32", (0, 4))),
        (rules.NOT_DIVISIBLE, ask("q8s/b4x4:f32", (5,))),
        (rules.RAGGED_CALIBRATION, ask("q8s/b4:f32", (5,), params=True)),
        (rules.U32_LINE, ask("q8s/native", (3,))),
        (rules.U32_LINE, ask("q8s/u32")),
        (rules.BLOCK_NOT_PACKED, ask("q8s/native/b3:f16")),
        (rules.BLOCK_NOT_PACKED, ask("q8s/u32")),
    ],
)
def test_a_rule_without_a_case_says_nothing(rule, problem):
    assert rule.refusal(problem) is None


def test_every_rule_of_the_table_builds_the_error_of_its_code():
    schemes = [
        "e4m3/packed:1/lookup/b2x3:ue8m0/t:f16",
        "q2s/native/b3:f32/t:f32",
        "q8s/u32:1/b3:ue4m3",
        "e2m1/packed",
        "q8f",
    ]
    seen = set()
    for row in TABLE.values():
        for op, rows in row.rules.items():
            for text in schemes:
                problem = ask(text, (5, 7), op=op, dtype="I8", calibration="absmean", place=row.name)
                found = [rule.refusal(problem) for rule in rows]
                seen |= {error.code for error in found if error is not None}
                assert all(
                    error is None or isinstance(error, errors.CATALOG[error.code].family) for error in found
                )
    assert len(seen) > 20
