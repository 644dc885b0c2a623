"""What users call: one function per verb."""

from qcore.ops.conversions import dequantize, from_data, pack, unpack
from qcore.ops.quantizing import compute_qparams, quantize

__all__ = ["compute_qparams", "dequantize", "from_data", "pack", "quantize", "unpack"]
