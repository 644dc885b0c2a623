"""QFloat bytes to a tensor on a backend: what ``from_data`` does, checked in the documented order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qcore import errors
from qcore.capability import backend_row, check
from qcore.layout import regions
from qcore.plan import make_plan
from qcore.scheme import QuantScheme, QuantStore
from qcore.scheme.codebook import Codebook
from qcore.tensor import fields
from qcore.tensor.data import TensorData, values_of
from qcore.tensor.qtensor import QTensor
from qcore.tensor.tables import check_table


def load(data: TensorData, backend: str, codebook: Codebook | None, rules: Mapping[str, Any]) -> QTensor:
    """Build the tensor that ``data`` holds on ``backend``."""
    row = backend_row(backend)
    scheme = data.dtype
    if not isinstance(scheme, QuantScheme):
        raise errors.build("not-quantized-data", dtype=scheme)
    check(scheme, data.shape, op="load", on=row.name, codebook=codebook is not None).demand()
    check_table(scheme, codebook)
    split = regions.split(scheme, data.shape, data.bytes)
    values = values_of(split, scheme, data.shape)
    plan = make_plan(scheme, data.shape)
    # Regions follow each other without padding, so scales may lie unaligned: copy them out.
    scales = np.frombuffer(split.scales, np.uint8).copy().view(scheme.scale_dtype.numpy_dtype).reshape(plan.grid)
    level = None if split.global_scale is None else np.frombuffer(split.global_scale, "<f4").astype(np.float32)[0]
    if row.loads_native and scheme.store != QuantStore.native():
        codes = fields.unpack_fields(values, plan)
        scheme = scheme.with_store(QuantStore.native())
        values = fields.pack_fields(codes, make_plan(scheme, data.shape))
    values = np.ascontiguousarray(values)
    return QTensor._make(values, scales, level, scheme, data.shape, codebook, row.name, rules)
