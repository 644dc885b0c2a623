"""What each backend and target can do: the only place that refuses.

Rules that hold anywhere are in :mod:`~qcore.capability.rules`; what differs from place to place is a row of
:mod:`~qcore.capability.table`, as sets. A refusal is an error that nobody has raised yet.
"""

from qcore.capability.check import check, check_problem, survey, tied_scheme
from qcore.capability.problem import Problem
from qcore.capability.rows import BackendRow, Row
from qcore.capability.table import TABLE, backend_row, row_of
from qcore.capability.verdict import Survey, Verdict

__all__ = [
    "TABLE",
    "BackendRow",
    "Problem",
    "Row",
    "Survey",
    "Verdict",
    "backend_row",
    "check",
    "check_problem",
    "row_of",
    "survey",
    "tied_scheme",
]
