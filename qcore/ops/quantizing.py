"""``quantize`` and ``compute_qparams``: normalise, settle, check, plan, then the staircase."""

from __future__ import annotations

from typing import Any

from qcore import errors
from qcore.backends import auto
from qcore.calibration.params import QuantParams
from qcore.layout.dims import read_count
from qcore.layout.packing import grid_shape
from qcore.ops import held, staircase
from qcore.ops.options import EXACT, Call, prepare
from qcore.tensor import arrays
from qcore.tensor.qtensor import QTensor


def quantize(
    x: Any,
    scheme: Any,
    *,
    calibration: str | None = None,
    params: QuantParams | None = None,
    codebook: Any = None,
    rounding: str = "half-away",
    scale_rounding: str | None = None,
    tied: str | None = None,
    nonfinite: str = "raise",
    backend: str = "cpu",
    threads: int | None = None,
) -> QTensor:
    """Quantize a tensor under a scheme.

    Parameters
    ----------
    x : array_like
        float16, bfloat16, float32 or float64 of any layout; a torch CPU tensor of those; nested lists of floats. With
        ``backend="opencl"`` also a ``pyopencl.array.Array``, whose parts then stay on its device.
    scheme : QuantScheme, Preset or str
        A scheme, its text (``"q4s/u32/b32:f16"``) or a preset's name (``"nvfp4"``).
    calibration : str, optional
        ``minmax`` (``absmax``), ``absmean``, ``percentile[:P]`` or ``mse``; default what a preset implies, else
        ``minmax``.
    params : QuantParams, optional
        Explicit scales instead of a calibration; rounded to the scale dtype by the same rule.
    codebook : Codebook, str or array_like, optional
        The table of a lookup scheme: 2**bits floats, or the name of one (``"nf4"``).
    rounding : {"half-away", "half-even"}
        Ties of integer codes.
    scale_rounding : {"up", "nearest", "floor", "even"}, optional
        How scales are rounded to their dtype; default what a preset implies, else ``up``. ``floor`` and ``even`` are
        the OCP rules for UE8M0 scales of minifloat values.
    tied : {"row"}, optional
        One calibration per row of the last axis, its scale repeated over the row's blocks (per-channel).
    nonfinite : {"raise", "saturate"}
        What NaN and infinities are: an error, or the zero code and the ends of the range.
    backend : str
        ``cpu``, ``reference``, ``burn-ndarray`` (``ndarray``), ``opencl`` or ``auto``.
    threads : int, optional
        At most this many threads; the bytes do not depend on it.

    Returns
    -------
    QTensor

    Raises
    ------
    QuantError
        Before any work: what ``qcore.check`` would return, then errors of params and data (``non-finite``).

    Notes
    -----
    ``scale = f32(peak / h)`` with h half the range of the value type, rounded to the scale dtype; ``code =
    round(x / f32(global * scale))``, clamped. docs/numerics.md has every rule.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> q = qcore.quantize(np.array([5.0, 0.0, 4.0, -12.7], np.float32), "q8s/native/t:f32")
    >>> q.codes.tolist(), float(q.scales[0])
    ([50, 0, 40, -127], 0.10000000149011612)
    """
    if held.is_held(x):
        dtype = arrays.dtype_debug(x.dtype) if x.dtype in arrays.FLOAT_DTYPES else x.dtype.name
        call = Call(
            scheme, calibration, params is not None, _global_given(params), codebook, rounding, scale_rounding, tied,
            nonfinite, backend, read_count(threads, "threads"), x.shape, dtype,
        )  # fmt: skip
        return held.quantize(x, call, params)
    source = arrays.as_floats(x)
    if auto.is_auto(backend):
        return auto.run(
            lambda place: quantize(
                source, scheme, calibration=calibration, params=params, codebook=codebook, rounding=rounding,
                scale_rounding=scale_rounding, tied=tied, nonfinite=nonfinite, backend=place, threads=threads,
            ),
            source.size,
        )  # fmt: skip
    ready = prepare(
        Call(
            scheme, calibration, params is not None, _global_given(params), codebook, rounding, scale_rounding, tied,
            nonfinite, backend, read_count(threads, "threads"), source.shape, arrays.dtype_debug(source.dtype),
        )
    )  # fmt: skip
    options, plan = ready.options, ready.plan
    given = None if params is None else staircase.explicit_scales(params, plan, options)
    parts = staircase.quantized_parts(source, plan, options, given)
    return QTensor._make(
        parts.values, parts.scales, parts.global_scale, options.scheme, source.shape, options.codebook,
        options.row.name, ready.record,
    )  # fmt: skip


def compute_qparams(
    x: Any,
    scheme: Any,
    calibration: str | None = None,
    *,
    codebook: Any = None,
    scale_rounding: str | None = None,
    tied: str | None = None,
    nonfinite: str = "raise",
    backend: str = "cpu",
    threads: int | None = None,
) -> QuantParams:
    """Measure a tensor and return the scales a scheme would store for it.

    ``quantize(x, s, params=compute_qparams(x, s, ...))`` gives the bytes of ``quantize(x, s, ...)``.

    Parameters
    ----------
    x, scheme, calibration, codebook, scale_rounding, tied, nonfinite, backend, threads
        As in :func:`quantize`.

    Returns
    -------
    QuantParams
        ``scales`` in the scale dtype and the shape of the grid, ``global_scale`` as float32 or None.

    Raises
    ------
    UnsupportedSchemeError
        ``operation-not-implemented`` for the presets ``q8_0`` and ``q4_0``: ggml divides by an unrounded scale
        that is not stored.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> p = qcore.compute_qparams(np.array([1.0, -2.54], np.float32), "q8s/native/t:f32")
    >>> float(p.scales[0])
    0.019999999552965164
    """
    source = arrays.as_floats(x)
    if auto.is_auto(backend):
        return auto.run(
            lambda place: compute_qparams(
                source, scheme, calibration, codebook=codebook, scale_rounding=scale_rounding, tied=tied,
                nonfinite=nonfinite, backend=place, threads=threads,
            ),
            source.size,
        )  # fmt: skip
    ready = prepare(
        Call(
            scheme, calibration, False, None, codebook, "half-away", scale_rounding, tied, nonfinite, backend,
            read_count(threads, "threads"), source.shape, arrays.dtype_debug(source.dtype),
        )
    )  # fmt: skip
    options, plan = ready.options, ready.plan
    if options.arithmetic != EXACT:
        raise errors.build(
            "operation-not-implemented", operation=f"compute_qparams({options.arithmetic})", backend=options.row.name
        )
    if source.size == 0:
        return QuantParams(*staircase.empty_scales(plan))
    staged = staircase.stage(source, plan, options)
    staircase.refuse_nonfinite(staged, source, options)
    scales, level = staircase.calibrated(source, staged, plan, options)
    return QuantParams(scales.reshape(grid_shape(options.scheme, source.shape)), level)


def _global_given(params: QuantParams | None) -> bool | None:
    return None if params is None else getattr(params, "global_scale", None) is not None
