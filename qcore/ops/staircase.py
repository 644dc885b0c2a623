"""The staircase below ``quantize``: stage once, measure a grid, solve it for scales, encode.

What comes here is legal; only the data can still be refused (non-finite elements, explicit scales).
"""

from __future__ import annotations

import numpy as np

from qcore import errors
from qcore.backends import ggml_blocks, loader
from qcore.backends.protocol import Parts, Staged
from qcore.calibration import explicit, scale_rounding, solve
from qcore.calibration.params import QuantParams
from qcore.ops.options import EXACT, Options
from qcore.plan import Plan, row_plan
from qcore.tensor import fields

Scales = tuple[np.ndarray, np.float32 | None]
"""Stored scales and the global scale."""


def quantized_parts(source: np.ndarray, plan: Plan, options: Options, given: Scales | None) -> Parts:
    """Values, scales and global scale of a tensor, under ``given`` scales or its own."""
    if source.size == 0:
        values = np.zeros(plan.storage_shape, fields.storage_dtype(plan))
        return Parts(values, *(empty_scales(plan) if given is None else given))
    staged = stage(source, plan, options)
    if options.arithmetic != EXACT:
        parts = staged.quantize_ggml()
        if parts is not None:
            return parts
        refuse_nonfinite(staged, source, options)
        codes, stored = ggml_blocks.quantize(source, options.arithmetic)
        return Parts(fields.pack_fields(codes, plan, loader.engine(options.row.name)), stored, None)
    if given is None and options.is_plain_minmax:
        # The fused pass meets non-finite elements by itself; only then is the reason looked for.
        parts = staged.quantize_minmax()
        if parts is not None:
            return parts
    refuse_nonfinite(staged, source, options)
    scales, level = calibrated(source, staged, plan, options) if given is None else given
    return Parts(staged.encode(scales, level), scales, level)


def calibrated(source: np.ndarray, staged: Staged, plan: Plan, options: Options) -> Scales:
    """Measure, then solve: scales as stored, and the global scale."""
    if options.tied is not None:
        # One number per row, whatever the blocks: measure under blocks of one row each.
        measured = row_plan(plan)
        staged = stage(source, measured, options)
    else:
        measured = plan
    method = options.method
    if method.row.measure == "means":
        peaks = staged.means(measured.extents)
    elif method.row.measure == "percentiles":
        peaks = staged.percentiles(measured.extents, method.percent)
    else:
        peaks = staged.peaks(measured.extents)
    factor = None
    if method.row.measure == "search":
        level = solve.global_scale_of(peaks, plan.scale) if plan.two_level else None
        factor = _spread(solve.mse_factor(staged.search(peaks, level)), plan)
    scales, level = solve.solve(_spread(peaks, plan), plan.scale, two_level=plan.two_level, factor=factor)
    return scale_rounding.encode_scales(scales, plan.scale.dtype), level


def explicit_scales(params: QuantParams, plan: Plan, options: Options) -> Scales:
    """Scales that the caller brought, checked and rounded as computed ones are."""
    scales, level = explicit.normalise(params, plan, broadcast=not options.row.exact_scale_count)
    return scale_rounding.encode_scales(scales, plan.scale.dtype), level


def empty_scales(plan: Plan) -> Scales:
    """Scales of a tensor without elements: what an all-zero tensor of this scheme stores."""
    scales, level = solve.solve(np.zeros(plan.grid, np.float32), plan.scale, two_level=plan.two_level)
    return scale_rounding.encode_scales(scales, plan.scale.dtype), level


def stage(source: np.ndarray, plan: Plan, options: Options) -> Staged:
    """Hand the tensor to its backend."""
    array = source.reshape(1) if source.ndim == 0 else source
    return loader.engine(options.row.name).stage(array, plan, options.threads)


def refuse_nonfinite(staged: Staged, source: np.ndarray, options: Options) -> None:
    """Raise for NaN and infinities, unless they are to saturate; the index is that of the tensor in C order."""
    if options.nonfinite == "saturate":
        return
    found = staged.nonfinite()
    if found is not None:
        count, index = found
        value = repr(float(source.reshape(-1)[index] if source.flags.c_contiguous else source.flat[index]))
        raise errors.build("non-finite", count=count, index=index, value=value)


def _spread(grid: np.ndarray, plan: Plan) -> np.ndarray:
    """Repeat one number per row over the row's blocks; a grid that fits already is returned as it is."""
    return grid if grid.shape == plan.grid else np.ascontiguousarray(np.broadcast_to(grid, plan.grid))
