"""The table handed over with a lookup scheme: read, and held against the scheme it is to serve."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcore import errors
from qcore.scheme import QuantMode, QuantScheme
from qcore.scheme.codebook import Codebook


def table_for(scheme: QuantScheme, given: Any) -> Codebook | None:
    """The codebook that a caller hands in as an object, a name or numbers; numbers are counted before they are read."""
    if given is None or isinstance(given, Codebook):
        return given
    if scheme.mode is QuantMode.LOOKUP and scheme.value.is_integer and not isinstance(given, str):
        _check_length(scheme, np.size(given))
    return Codebook.of(given)


def check_table(scheme: QuantScheme, codebook: Codebook | None) -> None:
    """Hold a table's length against the scheme it is to serve."""
    if codebook is not None:
        _check_length(scheme, len(codebook.table))


def _check_length(scheme: QuantScheme, got: int) -> None:
    expected = 1 << scheme.value.bits
    if got != expected:
        raise errors.build("table-length", bits=scheme.value.bits, expected=expected, got=got)
