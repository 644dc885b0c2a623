"""Codes into the words of a store and back, by shifting one lane of every word at a time.

The first code of a word lies in its lowest bits. Only the packed axis is divided, and every line of it starts a new
word: what is missing at the end of a line is zero bits.
"""

from __future__ import annotations

import numpy as np

from qcore.backends.reference.codec import codes_dtype
from qcore.layout import packing as layout
from qcore.plan import INTEGER, Plan


def pack(codes: np.ndarray, plan: Plan) -> np.ndarray:
    """Codes, one per element, in the storage layout of the plan."""
    stored = np.dtype(layout.values_dtype_name(plan.scheme))
    packing = plan.packing
    if packing.axis < 0:
        return np.ascontiguousarray(codes, stored)
    fields = np.moveaxis(codes.astype(np.int64) & (2**packing.bits - 1), packing.axis, -1)
    missing = -fields.shape[-1] % packing.per_word
    fields = np.pad(fields, [(0, 0)] * (fields.ndim - 1) + [(0, missing)])
    packed = np.zeros((*fields.shape[:-1], fields.shape[-1] // packing.per_word), np.int64)
    for lane in range(packing.per_word):
        packed |= fields[..., lane :: packing.per_word] << (lane * packing.bits)
    return np.ascontiguousarray(np.moveaxis(packed, -1, packing.axis), stored)


def unpack(values: np.ndarray, plan: Plan) -> np.ndarray:
    """The codes of stored values in the shape of the plan; integers are sign-extended."""
    packing = plan.packing
    if packing.axis < 0:
        return np.ascontiguousarray(values, codes_dtype(plan.codec))
    packed = np.moveaxis(values.astype(np.int64), packing.axis, -1)
    fields = np.zeros((*packed.shape[:-1], packed.shape[-1] * packing.per_word), np.int64)
    for lane in range(packing.per_word):
        fields[..., lane :: packing.per_word] = (packed >> (lane * packing.bits)) & (2**packing.bits - 1)
    fields = np.moveaxis(fields[..., : plan.shape[packing.axis]], -1, packing.axis)
    if plan.codec.kind == INTEGER:
        fields = np.where(fields >= 2 ** (packing.bits - 1), fields - 2**packing.bits, fields)
    return np.ascontiguousarray(fields, codes_dtype(plan.codec))
