"""Ask the rules: one scheme on one place, or on all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from qcore import errors
from qcore.capability.problem import Problem, read_calibration, read_dtype, read_op
from qcore.capability.rows import Row
from qcore.capability.table import TABLE, row_of
from qcore.capability.verdict import Survey, Verdict
from qcore.layout.dims import read_shape
from qcore.scheme import BlockScale, BlockSize, QuantScheme
from qcore.scheme.resolve import resolve

if TYPE_CHECKING:
    from qcore.scheme import Preset

__all__ = ["check", "check_problem", "survey", "tied_scheme"]

_MAX_EXTENT: Final = 255


def check(
    scheme: QuantScheme | Preset | str,
    shape: object = None,
    *,
    op: str = "quantize",
    on: str = "cpu",
    dtype: object = "f32",
    calibration: str | None = None,
    params: bool = False,
    codebook: object = False,
) -> Verdict:
    """Tell what would be refused, and why, without doing any work.

    Only rules are asked: never the data, and never whether a device is present.

    Parameters
    ----------
    scheme : QuantScheme, Preset or str
        A scheme, its text or a preset's name; what a preset or a table's name in the text implies counts as given.
    shape : sequence of int, optional
        Shape of the tensor; without it the rules about shapes are left out.
    op : str
        ``quantize``, ``dequantize``, ``strategy``, ``load``, ``permute``, ``reshape`` or ``flip``.
    on : str
        A backend or a target; ``@version`` may follow a target's name.
    dtype : str or dtype
        Type of the values to quantize.
    calibration : str, optional
        As in ``qcore.quantize``.
    params : bool
        Whether explicit scales are given.
    codebook : bool or Codebook
        Whether a table is given.

    Returns
    -------
    Verdict
        True when nothing speaks against it; else its ``refusals`` are the errors that would be raised.

    Raises
    ------
    InvalidSchemeError
        ``unknown-name`` or ``scheme-text``, for words that mean nothing.

    Examples
    --------
    >>> import qcore
    >>> bool(qcore.check("q4s/u32/b32:f16", (4096, 4096), on="opencl"))
    True
    >>> print(qcore.check("q4s/native/t:f32", on="opencl").refusals[0])
    Can't store native sub-byte values
    """
    row, version = row_of(on)
    shape = None if shape is None else read_shape(shape)
    given = codebook is not None and codebook is not False
    problem = Problem(
        scheme=scheme if isinstance(scheme, QuantScheme) else QuantScheme(),
        shape=shape,
        op=read_op(op),
        dtype=read_dtype(dtype),
        calibration=read_calibration(calibration),
        params=bool(params),
        codebook=given,
    )
    if not isinstance(scheme, QuantScheme):
        problem = _with_hints(problem, scheme)
    verdict = check_problem(problem, row)
    return verdict if version is None else replace(verdict, on=f"{row.name}@{version}")


@lru_cache(maxsize=4096)
def check_problem(problem: Problem, row: Row) -> Verdict:
    """Ask one row about a question in settled words; answers are remembered."""
    problem = replace(problem, place=row.name)
    refusals: dict[tuple[str, str | None], errors.QuantError] = {}
    for rule in row.rules[problem.op]:
        error = rule.refusal(problem)
        if error is not None:
            refusals.setdefault((error.code, error.variant), error)
    return Verdict(tuple(refusals.values()), str(problem.scheme), problem.op, row.name, row.revision)


def survey(scheme: QuantScheme | Preset | str, shape: object = None) -> Survey:
    """Ask every backend whether it quantizes under a scheme, and every target whether it loads the result.

    Parameters
    ----------
    scheme, shape
        As in :func:`check`.

    Returns
    -------
    Survey
        A dict of verdicts in the order of the table.

    Examples
    --------
    >>> import qcore
    >>> answers = qcore.survey("burn-int4", (64, 64))
    >>> bool(answers["burn-cubecl"]), bool(answers["burn-ndarray"])
    (True, False)
    """
    shape = None if shape is None else read_shape(shape)
    return Survey({row.name: check(scheme, shape, op=row.survey_op, on=row.name) for row in TABLE.values()})


def tied_scheme(scheme: QuantScheme, shape: tuple[int, ...] | None) -> QuantScheme:
    """Name the blocks that tied rows repeat their scale over, where a scheme names none.

    The extent is the largest divisor of the row that a block can have; an empty row counts as one element.

    Examples
    --------
    >>> from qcore.scheme import QuantScheme
    >>> str(tied_scheme(QuantScheme.parse("q8s/native"), (8, 4096)))
    'q8s/native/b128:f32'
    """
    if scheme.block_scale is not None or shape is None:
        return scheme
    row = shape[-1] if shape else 1
    extent = next(e for e in range(min(max(row, 1), _MAX_EXTENT), 0, -1) if max(row, 1) % e == 0)
    return replace(scheme, tensor=None, block=BlockScale(BlockSize((extent,)), scheme.scale_dtype))


def _with_hints(problem: Problem, scheme: Preset | str) -> Problem:
    """Let count as given what a preset, or the table's name in a text, implies."""
    found = resolve(scheme)
    preset = found.preset
    problem = replace(problem, scheme=found.scheme, codebook=problem.codebook or found.table_hint is not None)
    if preset is None:
        return problem
    implied = None if problem.params else preset.calibration
    return replace(
        problem,
        scheme=tied_scheme(found.scheme, problem.shape) if preset.tied else found.scheme,
        calibration=problem.calibration or implied,
        codebook=problem.codebook or preset.codebook is not None,
        scale_rounding=preset.scale_rounding,
    )
