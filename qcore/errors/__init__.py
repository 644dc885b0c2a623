"""Documented errors: one row each, with its cause and its solutions.

Everything that refuses goes through :func:`build`; nothing in the package raises a bare builtin. This package
imports nothing else of qcore and no NumPy.
"""

from qcore.errors.base import (
    ChecksumError,
    DeviceError,
    DTypeError,
    ErrorDoc,
    FormatError,
    InvalidSchemeError,
    LimitError,
    NonFiniteError,
    OperationCancelled,
    QuantError,
    ScaleError,
    ShapeError,
    TruncatedFileError,
    UnsupportedSchemeError,
)
from qcore.errors.catalog import CATALOG, build

__all__ = [
    "CATALOG",
    "ChecksumError",
    "DTypeError",
    "DeviceError",
    "ErrorDoc",
    "FormatError",
    "InvalidSchemeError",
    "LimitError",
    "NonFiniteError",
    "OperationCancelled",
    "QuantError",
    "ScaleError",
    "ShapeError",
    "TruncatedFileError",
    "UnsupportedSchemeError",
    "build",
]

for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__  # tracebacks show the public path
del _name
