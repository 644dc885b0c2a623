"""From grids of numbers to scales. Calibration never sees the tensor: a backend measures, this package solves."""

from qcore.calibration.params import QuantParams

__all__ = ["QuantParams"]
