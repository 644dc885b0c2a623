"""Scales that the caller brings: counted, checked, and rounded as computed ones are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore import errors
from qcore.calibration.params import QuantParams
from qcore.calibration.scale_rounding import round_scales

if TYPE_CHECKING:
    from qcore.plan import Plan

_SCALES: Final = "scales"
_GLOBAL: Final = "the global scale"


def normalise(
    params: QuantParams, plan: Plan, *, broadcast: bool = True
) -> tuple[np.ndarray, np.float32 | None]:
    """Bring explicit parameters into the form that :func:`qcore.calibration.solve.solve` gives.

    Parameters
    ----------
    params
        Scales of any shape with one per block in C order, or exactly one for all blocks; a global scale where, and
        only where, the plan has two levels.
    plan
        What they are meant for: it tells the count, the dtype and the rounding rule. Under floor and even a given scale
        keeps its exponent; nothing is subtracted.
    broadcast
        Whether one scale may stand for all blocks.

    Returns
    -------
    tuple
        Scales as float32 numbers their dtype represents, in the grid's shape; the global scale or None.

    Raises
    ------
    qcore.errors.ScaleError
        ``missing-global-scale``, ``superfluous-global-scale``, ``global-scale-size``, ``wrong-scale-count``,
        ``non-finite-scale`` or ``negative-scale``, looked for in this order.
    qcore.errors.DTypeError
        ``argument-type`` for what is not made of real numbers.

    Examples
    --------
    >>> from qcore.calibration.params import QuantParams
    >>> from qcore.plan import make_plan
    >>> from qcore.scheme import QuantScheme
    >>> plan = make_plan(QuantScheme.parse("q8s/native/b2:f32"), (4,))
    >>> normalise(QuantParams([0.5, -0.0]), plan)[0].tolist()
    [0.5, 0.0]
    """
    if not isinstance(params, QuantParams):
        raise errors.build(
            "argument-type", argument="params", expected="QuantParams", got=type(params).__name__
        )
    if plan.two_level and params.global_scale is None:
        raise errors.build("missing-global-scale")
    if not plan.two_level and params.global_scale is not None:
        raise errors.build("superfluous-global-scale")
    given = None if params.global_scale is None else _floats(params.global_scale, _GLOBAL)
    if given is not None and given.size != 1:
        raise errors.build("global-scale-size", dims=_dims(given.shape))
    scales = _one_per_block(_floats(params.scales, _SCALES), plan, broadcast)
    stored = round_scales(_checked(scales, _SCALES), plan.scale)
    return stored.reshape(plan.grid), None if given is None else np.float32(_checked(given, _GLOBAL).item())


def _floats(values: Any, what: str) -> np.ndarray:
    """float64 of anything that is a real number; every float dtype fits exactly."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "fiuV" and array.dtype.names is None:
            return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError):
        # An object that NumPy cannot turn into numbers is refused like one that turns into something else.
        raise _not_numbers(what, type(values).__name__) from None
    raise _not_numbers(what, str(array.dtype))


def _not_numbers(what: str, got: str) -> errors.QuantError:
    return errors.build("argument-type", argument=what, expected="real numbers", got=got)


def _one_per_block(scales: np.ndarray, plan: Plan, broadcast: bool) -> np.ndarray:
    blocks = math.prod(plan.grid)
    if scales.size == blocks:
        return scales.reshape(-1)
    block = plan.scheme.block_size
    if block is None:
        raise errors.build("wrong-scale-count", variant="per-tensor", count=scales.size)
    if scales.size == 1 and broadcast:
        return np.full(blocks, scales.item())
    raise errors.build("wrong-scale-count", count=scales.size, dims=_dims(plan.shape), block=block.debug())


def _checked(scales: np.ndarray, what: str) -> np.ndarray:
    """float32 scales, finite and not negative; -0.0 becomes 0."""
    with np.errstate(over="ignore"):
        narrowed = scales.astype(np.float32)
    for code, wrong in (("non-finite-scale", ~np.isfinite(narrowed)), ("negative-scale", scales < 0)):
        if wrong.any():
            index = int(wrong.argmax())
            raise errors.build(code, what=what, value=float(scales.flat[index]), index=index)
    return np.abs(narrowed)


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"
