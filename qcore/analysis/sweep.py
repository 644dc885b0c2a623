"""``sweep``: which scheme, at what size, with what error, and where it loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from qcore import errors
from qcore.analysis import pareto, sampling
from qcore.analysis.candidates import Candidate, candidates
from qcore.analysis.compare import compare
from qcore.analysis.table import SweepRow, SweepTable
from qcore.capability import survey, tied_scheme
from qcore.layout.packing import quantized_data_len
from qcore.ops import quantize
from qcore.scheme import QuantScheme
from qcore.scheme.resolve import resolve
from qcore.tensor import arrays

_ALONE = "x"


def sweep(
    x: Any,
    schemes: Iterable[Any] | None = None,
    *,
    values: Sequence[str] | None = None,
    blocks: Sequence[Any] | None = None,
    scales: Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    calibrations: Sequence[str] | None = None,
    scale_roundings: Sequence[str] | None = None,
    sample: float | None = None,
    nonfinite: str = "raise",
    backend: str = "cpu",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancel: Any = None,
) -> SweepTable:
    """Try schemes on one tensor or several, and mark those that nothing beats.

    Parameters
    ----------
    x : array_like or mapping of str to array_like
        One tensor, or several by name; each has its own Pareto front.
    schemes : iterable, optional
        Schemes, texts or presets. Default: a list of thirty-one that covers the field.
    values, blocks, scales, levels : sequences, optional
        A grid instead: value types, block sizes (0: per tensor), scale dtypes, 1 or 2 levels of scales.
    calibrations, scale_roundings : sequences of str, optional
        Tried with every scheme; default each scheme's own.
    sample : float, optional
        Measure on about this share of the tensor: whole blocks, evenly spread, always the same. Sizes stay those of the
        whole tensor, and every row says what was looked at.
    nonfinite, backend, threads
        As in ``quantize``.
    progress : callable, optional
        Called with (done, total) after every row.
    cancel : object with ``is_set()``, optional
        Asked before every row.

    Returns
    -------
    SweepTable
        A refused scheme is a row too, with the error it would raise.

    Raises
    ------
    OperationCancelled
        ``cancelled``, when the token was set.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    >>> table = qcore.sweep(x, ["int8-b32", "int4-b32", "q4s/u32/t:f32"])
    >>> [(row.label, round(row.bits_per_weight, 2), row.pareto) for row in table]
    [('int8-b32', 8.5, True), ('int4-b32', 4.5, True), ('q4s/u32/t:f32', 4.01, True)]
    """
    tensors = x if isinstance(x, Mapping) else {_ALONE: x}
    tried = candidates(
        schemes, values=values, blocks=blocks, scales=scales, levels=levels, calibrations=calibrations,
        scale_roundings=scale_roundings,
    )  # fmt: skip
    total = len(tensors) * len(tried)
    rows: list[SweepRow] = []
    for name, tensor in tensors.items():
        source = arrays.as_floats(tensor)
        looked_at = sampling.take(source, sample, [_planned(c, source.shape) for c in tried])
        found = []
        for candidate in tried:
            if cancel is not None and cancel.is_set():
                raise errors.build("cancelled", operation="sweep")
            row = _row(str(name), source.shape, looked_at, candidate, nonfinite, backend, threads)
            found.append(row)
            if progress is not None:
                progress(len(rows) + len(found), total)
        rows += _marked(found)
    return SweepTable(rows)


def _planned(candidate: Candidate, shape: tuple[int, ...]) -> QuantScheme:
    """The scheme with the blocks that it will have on this shape."""
    found = resolve(candidate.scheme)
    tied = found.preset is not None and found.preset.tied is not None
    return tied_scheme(found.scheme, shape) if tied else found.scheme


def _row(
    name: str, shape: tuple[int, ...], looked_at: sampling.Sample, candidate: Candidate, nonfinite: str, backend: str,
    threads: int | None,
) -> SweepRow:  # fmt: skip
    planned = _planned(candidate, shape)
    refusal = report = None
    rules: Mapping[str, Any] = {}
    size, nbytes = prod(shape), 0
    try:
        nbytes = quantized_data_len(planned, shape)
        q = quantize(
            looked_at.array, candidate.scheme, calibration=candidate.calibration,
            scale_rounding=candidate.scale_rounding, nonfinite=nonfinite, backend=backend, threads=threads,
        )  # fmt: skip
        rules = q.rules
        report = compare(looked_at.array, q, threads=threads)
    except errors.NonFiniteError:
        raise
    except errors.QuantError as error:
        refusal = error
    return SweepRow(
        tensor=name,
        label=candidate.label,
        scheme=str(planned),
        calibration=str(rules.get("calibration", candidate.calibration or "")),
        scale_rounding=str(rules.get("scale_rounding", candidate.scale_rounding or "")),
        bits_per_weight=8 * nbytes / size if size else 0.0,
        nbytes=nbytes,
        report=report,
        loads=() if refusal is not None else _loads(candidate, shape),
        pareto=False,
        sampled=looked_at.note,
        refusal=refusal,
    )


def _loads(candidate: Candidate, shape: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(name for name, answer in survey(candidate.scheme, shape).items() if answer)


def _marked(rows: list[SweepRow]) -> list[SweepRow]:
    """The same rows, with those that nothing beats marked."""
    measured = [i for i, row in enumerate(rows) if row.report is not None and row.report.count]
    points = [(rows[i].bits_per_weight, rows[i].report.sqnr_db) for i in measured]  # type: ignore[union-attr]
    marks = dict(zip(measured, pareto.front(points), strict=True))
    return [replace(row, pareto=marks.get(i, False)) for i, row in enumerate(rows)]
