"""The catalogue: the rows of every family joined, and the one constructor of errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from qcore.errors.base import ErrorDoc, QuantError
from qcore.errors.rows_backend import ROWS as BACKEND_ROWS
from qcore.errors.rows_data import ROWS as DATA_ROWS
from qcore.errors.rows_device import ROWS as DEVICE_ROWS
from qcore.errors.rows_documented import ROWS as DOCUMENTED_ROWS
from qcore.errors.rows_files import ROWS as FILE_ROWS
from qcore.errors.rows_formats import ROWS as FORMAT_ROWS
from qcore.errors.rows_input import ROWS as INPUT_ROWS
from qcore.errors.rows_opencl import ROWS as OPENCL_ROWS
from qcore.errors.rows_recipe import ROWS as RECIPE_ROWS
from qcore.errors.rows_scale import ROWS as SCALE_ROWS
from qcore.errors.rows_scheme import ROWS as SCHEME_ROWS

__all__ = ["CATALOG", "build", "join"]


def join(*groups: Iterable[ErrorDoc]) -> Mapping[str, ErrorDoc]:
    """Join groups of rows under their codes; the same code twice is a mistake in the tables."""
    joined: dict[str, ErrorDoc] = {}
    for group in groups:
        for row in group:
            assert row.code not in joined, f"two rows share the code {row.code}"
            joined[row.code] = row
    return MappingProxyType(joined)


CATALOG: Mapping[str, ErrorDoc] = join(
    DOCUMENTED_ROWS,
    BACKEND_ROWS,
    SCHEME_ROWS,
    SCALE_ROWS,
    DATA_ROWS,
    INPUT_ROWS,
    FILE_ROWS,
    FORMAT_ROWS,
    DEVICE_ROWS,
    OPENCL_ROWS,
    RECIPE_ROWS,
)


def build(
    code: str, /, *, variant: str | None = None, tensor: str | None = None, **params: Any
) -> QuantError:
    """Build the error of a code, to be raised by the caller.

    Parameters
    ----------
    code
        A key of the catalogue.
    variant
        Name of another template of the row.
    tensor
        Name of the tensor the error is about.
    **params
        Values of the template's fields, and anything else worth knowing: numbers, texts and tuples of them.

    Examples
    --------
    >>> from qcore import errors
    >>> raise errors.build("table-length", bits=4, expected=16, got=15)
    Traceback (most recent call last):
        ...
    qcore.errors.InvalidSchemeError: a 4-bit lookup scheme indexes a table of exactly 16 entries, got 15
    """
    doc = CATALOG[code]
    return doc.family(doc, params, variant=variant, tensor=tensor)
