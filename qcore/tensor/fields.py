"""Codes in, storage words out, and back: plain packing without a tensor around it, on the default engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qcore import errors
from qcore.backends import loader
from qcore.layout.packing import codes_dtype_name, values_dtype_name
from qcore.plan import INTEGER, Plan

if TYPE_CHECKING:
    from qcore.backends.protocol import Backend

PLAIN_ENGINE = "cpu"


def pack_fields(codes: np.ndarray, plan: Plan, backend: Backend | None = None) -> np.ndarray:
    """Pack integer codes of the plan's shape into its storage layout.

    Raises
    ------
    InvalidSchemeError
        ``code-out-of-range`` for a code that its field cannot hold.
    """
    hold_codes(codes, plan)
    if codes.size == 0:
        return np.zeros(plan.storage_shape, storage_dtype(plan))
    fields = np.ascontiguousarray(codes, code_dtype(plan))
    return (backend or loader.engine(PLAIN_ENGINE)).pack(fields, plan)


def hold_codes(codes: np.ndarray, plan: Plan) -> None:
    """Refuse codes that their fields cannot hold.

    Raises
    ------
    InvalidSchemeError
        ``code-out-of-range``, with the first of them.
    """
    lo, hi = field_range(plan)
    if codes.size and (int(codes.min()) < lo or int(codes.max()) > hi):
        flat = codes.reshape(-1)
        at = int(np.flatnonzero((flat < lo) | (flat > hi))[0])
        raise errors.build("code-out-of-range", code=int(flat[at]), index=at, lo=lo, hi=hi)


def hold_values(values: np.ndarray, plan: Plan) -> None:
    """Refuse stored bytes beyond the bits of their type: only a store of one byte per value has room for such."""
    if plan.packing.axis < 0 and plan.codec.bits < 8:
        hold_codes(values, plan)


def unpack_fields(values: np.ndarray, plan: Plan, backend: Backend | None = None) -> np.ndarray:
    """The codes of stored values: int8 for integers, uint8 for minifloats and lookup indices."""
    if 0 in plan.shape:
        return np.zeros(plan.shape, code_dtype(plan))
    return (backend or loader.engine(PLAIN_ENGINE)).unpack(values, plan)


def field_range(plan: Plan) -> tuple[int, int]:
    """Smallest and largest code that the plan's fields hold."""
    bits = plan.codec.bits
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if plan.codec.kind == INTEGER else (0, (1 << bits) - 1)


def code_dtype(plan: Plan) -> np.dtype:
    """The dtype of one code per element."""
    return np.dtype(codes_dtype_name(plan.scheme))


def storage_dtype(plan: Plan) -> np.dtype:
    """The dtype of the stored words."""
    return np.dtype(values_dtype_name(plan.scheme))
