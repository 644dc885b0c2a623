"""``compare``: one pass over a tensor and its quantized form."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from qcore import errors
from qcore.analysis.report import ErrorReport
from qcore.backends import loader
from qcore.backends.protocol import ErrorSums, Parts
from qcore.calibration.methods import percentile_rank
from qcore.calibration.sums import pairwise_sum
from qcore.layout.dims import read_count
from qcore.tensor import arrays
from qcore.tensor.qtensor import QTensor

RANK_PERCENT: Final = 99.9


def compare(x: Any, y: Any, *, backend: str | None = None, threads: int | None = None) -> ErrorReport:
    """Measure the error of ``y`` against ``x``.

    Parameters
    ----------
    x : array_like
        The source, as ``quantize`` takes it.
    y : QTensor or array_like
        Its quantized form, or any array of the same shape (then nothing is said of steps and clipping).
    backend : str, optional
        Where to run; default where the tensor lives.
    threads : int, optional
        At most this many threads; the numbers do not depend on it.

    Returns
    -------
    ErrorReport

    Raises
    ------
    ShapeError
        ``shape-mismatch``.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> x = np.linspace(-1, 1, 256, dtype=np.float32)
    >>> r = qcore.compare(x, qcore.quantize(x, "q8s/native/b32:f32"))
    >>> r.sqnr_db > 40, r.clipped, r.flushed
    (True, 0.0, 0)
    """
    source = arrays.as_floats(x)
    other = y if isinstance(y, QTensor) else arrays.as_floats(y)
    if source.shape != other.shape:
        raise errors.build("shape-mismatch", expected=str(list(source.shape)), got=str(list(other.shape)))
    if not isinstance(other, QTensor):
        return _report(_array_sums(source, other), source.shape, np.full((1,), np.nan, np.float32))
    if source.size == 0:
        empty = np.zeros(other.scales.shape)
        sums = ErrorSums(empty, empty, empty, empty, empty.astype(np.int64), 0, 0.0, -1, 0.0)
    else:
        array = source.reshape(1) if source.ndim == 0 else source
        parts = Parts(other.values, other.scales, other.global_scale)
        engine = loader.engine(backend or other.backend)
        sums = engine.errors(array, parts, other.plan(), RANK_PERCENT, read_count(threads, "threads"))
    return _report(sums, source.shape, other.effective_scales)


def _report(sums: ErrorSums, shape: tuple[int, ...], scales: np.ndarray) -> ErrorReport:
    error, signal, decoded, cross = (float(pairwise_sum(grid.reshape(-1))) for grid in sums[:4])
    count, size = int(sums.pairs.sum()), math.prod(shape)
    steps = scales.astype(np.float64).reshape(sums.error.shape)
    live = steps != 0
    squares = np.divide(sums.error, steps * steps, out=np.zeros_like(sums.error), where=live)
    in_steps = float(pairwise_sum(squares.reshape(-1)))
    stepped = int(sums.pairs[live].sum())
    mse = error / count if count else math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        block_mse = sums.error / sums.pairs
        block_sqnr_db = np.where(sums.error > 0, 10 * np.log10(sums.signal / sums.error), np.inf)
    return ErrorReport(
        count=count,
        skipped=size - count,
        sqnr_db=_sqnr_db(signal, error) if count else math.nan,
        mse=mse,
        rmse=math.sqrt(mse),
        rmse_step=math.sqrt(in_steps / stepped) if stepped else math.nan,
        max_abs=sums.max_abs,
        max_index=_index(sums.max_index, shape),
        p999=sums.ranked,
        cosine=_cosine(signal, decoded, cross),
        clipped=sums.clipped / size if size else 0.0,
        clipped_count=sums.clipped,
        flushed=int(((sums.signal > 0) & (sums.decoded == 0)).sum()),
        blocks=int(sums.error.size),
        block_mse=block_mse,
        block_sqnr_db=block_sqnr_db,
    )


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if flat < 0 else tuple(int(i) for i in np.unravel_index(flat, shape or (1,)))


def _sqnr_db(signal: float, error: float) -> float:
    if error == 0:
        return math.inf
    return 10 * math.log10(signal / error) if signal > 0 else -math.inf


def _cosine(signal: float, decoded: float, cross: float) -> float:
    if signal == 0 and decoded == 0:
        return 1.0
    # Two roots: the product of two large sums may overflow where their roots do not.
    norm = math.sqrt(signal) * math.sqrt(decoded)
    return max(-1.0, min(1.0, cross / norm)) if norm > 0 else 0.0


def _array_sums(x: np.ndarray, y: np.ndarray) -> ErrorSums:
    """The sums of two plain arrays, as one block."""
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = (np.ravel(array).astype(np.float32).astype(np.float64) for array in (x, y))
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
        distance = np.abs(a - b).astype(np.float32)
    count = int(finite.sum())
    ranked, at = 0.0, -1
    if count:
        kept = np.sort(distance[finite])
        ranked = float(kept[percentile_rank(RANK_PERCENT, count) - 1])
        at = int(np.where(finite, distance, np.float32(-1)).argmax())
    error, signal, decoded, cross = (np.array([pairwise_sum(t)]) for t in ((a - b) ** 2, a * a, b * b, a * b))
    largest = float(distance[at]) if count else 0.0
    return ErrorSums(error, signal, decoded, cross, np.array([count]), 0, largest, at, ranked)
