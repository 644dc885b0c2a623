"""Scales that a caller brings."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qcore import errors
from qcore.calibration import QuantParams
from qcore.calibration.explicit import normalise
from qcore.plan import Plan, make_plan
from qcore.scheme import BlockScale, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype


def plan_of(dtype: ScaleDtype = ScaleDtype.F32, *, two_level: bool = False, rule: str = "up") -> Plan:
    """Three blocks of two."""
    scheme = QuantScheme(
        QuantValue.E2M1, QuantStore.native(), QuantMode.SYMMETRIC, ScaleDtype.F32 if two_level else None,
        BlockScale([2], dtype),
    )  # fmt: skip
    return make_plan(scheme, (1, 6), scale_rounding=rule)


PER_TENSOR = make_plan(QuantScheme(QuantValue.Q8S, QuantStore.native()), (2, 5))


def code_of(params: Any, plan: Plan, **keywords: Any) -> errors.QuantError:
    with pytest.raises(errors.QuantError) as caught:
        normalise(params, plan, **keywords)
    return caught.value


@pytest.mark.parametrize(
    "given",
    [
        [1.0, 2.0, 3.0],
        np.float64([[[1], [2], [3]]]),
        np.float16([1, 2, 3]),
        np.array([1, 2, 3], ml_dtypes.bfloat16),
    ],
)
def test_one_scale_per_block_in_any_shape_and_float_dtype(given: Any) -> None:
    scales, global_scale = normalise(QuantParams(given), plan_of())
    assert scales.dtype == np.float32
    assert scales.tolist() == [[1.0, 2.0, 3.0]]
    assert global_scale is None


def test_one_scale_may_stand_for_all_blocks() -> None:
    assert normalise(QuantParams(0.5), plan_of())[0].tolist() == [[0.5, 0.5, 0.5]]
    error = code_of(QuantParams(0.5), plan_of(), broadcast=False)
    assert error.code == "wrong-scale-count"


def test_a_wrong_count_names_the_count_the_shape_and_the_block() -> None:
    error = code_of(QuantParams([1.0, 2.0]), plan_of())
    assert isinstance(error, errors.ScaleError)
    assert str(error) == (
        "Invalid per-block quantization: 2 blocks for a Shape { dims: [1, 6] } tensor with BlockSize([2]) blocks"
    )


def test_per_tensor_takes_exactly_one_scale() -> None:
    assert normalise(QuantParams([[0.25]]), PER_TENSOR)[0].tolist() == [0.25]
    error = code_of(QuantParams([1.0, 2.0]), PER_TENSOR)
    assert error.code == "wrong-scale-count"
    assert error.params["count"] == 2


def test_two_levels_need_a_global_scale_and_one_level_refuses_it() -> None:
    missing = code_of(QuantParams([1.0]), plan_of(ScaleDtype.F16, two_level=True))
    assert (missing.code, str(missing)) == (
        "missing-global-scale",
        "a two-level scheme should have a per-tensor scale",
    )
    assert code_of(QuantParams([1.0], 2.0), plan_of()).code == "superfluous-global-scale"


def test_the_global_scale_is_one_number() -> None:
    plan = plan_of(ScaleDtype.F16, two_level=True)
    error = code_of(QuantParams([1.0], [1.0, 2.0]), plan)
    assert (error.code, error.params["dims"]) == ("global-scale-size", "[2]")
    for given in (0.1, [0.1], np.float64([[0.1]])):
        global_scale = normalise(QuantParams([1.0], given), plan)[1]
        assert isinstance(global_scale, np.float32)
        assert global_scale == np.float32(0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_a_scale_that_is_not_a_finite_float32_is_refused_with_its_place(value: float) -> None:
    error = code_of(QuantParams([1.0, value, 1.0]), plan_of())
    assert error.code == "non-finite-scale"
    assert (error.params["what"], error.params["index"]) == ("scales", 1)
    error = code_of(QuantParams([1.0], value), plan_of(ScaleDtype.F16, two_level=True))
    assert (error.code, error.params["what"]) == ("non-finite-scale", "the global scale")


def test_a_negative_scale_is_refused_and_negative_zero_is_zero() -> None:
    error = code_of(QuantParams([1.0, 1.0, -0.5]), plan_of())
    assert (error.code, error.params["index"], error.params["value"]) == ("negative-scale", 2, -0.5)
    assert code_of(QuantParams([1.0], -1.0), plan_of(ScaleDtype.F16, two_level=True)).code == "negative-scale"
    scales, global_scale = normalise(
        QuantParams([1.0, 1.0, -0.0], -0.0), plan_of(ScaleDtype.F16, two_level=True)
    )
    assert not np.signbit(scales).any()
    assert global_scale is not None
    assert not np.signbit(global_scale)


@pytest.mark.parametrize(
    ("dtype", "rule", "expected"),
    [
        (ScaleDtype.F16, "up", 0.300048828125),
        (ScaleDtype.UE4M3, "up", 0.3125),
        (ScaleDtype.UE8M0, "up", 0.5),
        (ScaleDtype.UE8M0, "nearest", 0.25),
        (ScaleDtype.UE8M0, "floor", 0.25),
        (ScaleDtype.UE8M0, "even", 0.25),
    ],
)
def test_given_scales_round_by_the_rule_of_computed_ones(
    dtype: ScaleDtype, rule: str, expected: float
) -> None:
    assert normalise(QuantParams([0.3]), plan_of(dtype, rule=rule))[0].tolist() == [[expected] * 3]


def test_what_is_not_made_of_numbers_is_a_type_error() -> None:
    for params in (
        QuantParams(["a"]),
        QuantParams([1j]),
        QuantParams([True]),
        QuantParams(object()),
        QuantParams([[1.0], [1.0, 2.0]]),
    ):
        error = code_of(params, plan_of())
        assert isinstance(error, TypeError)
        assert error.code == "argument-type"
    assert code_of([1.0, 2.0, 3.0], plan_of()).code == "argument-type"
