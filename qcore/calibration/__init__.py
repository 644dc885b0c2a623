"""From grids of numbers to scales. Calibration never sees the tensor: a backend measures, this package solves."""

from __future__ import annotations

from qcore.calibration.explicit import normalise
from qcore.calibration.methods import CALIBRATIONS, Calibration, Method, parse
from qcore.calibration.params import QuantParams
from qcore.calibration.solve import solve

__all__ = ["CALIBRATIONS", "Calibration", "Method", "QuantParams", "normalise", "parse", "solve"]
