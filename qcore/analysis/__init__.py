"""How far a quantized tensor is from what it was made of."""

from qcore.analysis.compare import compare
from qcore.analysis.report import ErrorReport

__all__ = ["ErrorReport", "compare"]
