"""Quantized tensors and host data."""

from qcore.tensor.data import TensorData
from qcore.tensor.layout_ops import concat
from qcore.tensor.qtensor import Part, QTensor
from qcore.tensor.strategy import Lookup, PerBlockSymmetric, PerTensorSymmetric, Strategy

__all__ = [
    "Lookup",
    "Part",
    "PerBlockSymmetric",
    "PerTensorSymmetric",
    "QTensor",
    "Strategy",
    "TensorData",
    "concat",
]
