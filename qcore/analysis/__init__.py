"""How far a quantized tensor is from what it was made of, and which scheme to take."""

from qcore.analysis.compare import compare
from qcore.analysis.report import ErrorReport
from qcore.analysis.sweep import sweep
from qcore.analysis.table import SweepRow, SweepTable

__all__ = ["ErrorReport", "SweepRow", "SweepTable", "compare", "sweep"]
