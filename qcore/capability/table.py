"""The table: a row per backend and target, in the order that surveys and help texts list them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from qcore import errors
from qcore.capability.backends import BACKENDS
from qcore.capability.burn_targets import BURN_TARGETS
from qcore.capability.exchange import EXCHANGE_TARGETS
from qcore.capability.rows import BackendRow, Row
from qcore.scheme.words import key

__all__ = ["TABLE", "backend_row", "row_of"]

TABLE: Final[Mapping[str, Row]] = MappingProxyType(
    {row.name: row for row in (*BACKENDS, *BURN_TARGETS, *EXCHANGE_TARGETS)}
)
"""Rows by name."""

_BY_WORD: Final = {key(word): row for row in TABLE.values() for word in (row.name, *row.aliases)}
_DEVICE: Final = re.compile(r"[\w .,:()@/+-]{1,80}")
_VERSION: Final = re.compile(r"[0-9a-z][0-9a-z.+_-]{0,30}", re.IGNORECASE)


def row_of(name: object) -> tuple[Row, str | None]:
    """Find the row that a name means, and the version that followed it after ``@``.

    Examples
    --------
    >>> row, version = row_of("burn-flex@0.22")
    >>> row.name, version
    ('burn-flex', '0.22')
    """
    word, at, version = str(name).partition("@")
    row = _find(word) if isinstance(name, str) else None
    if row is None or (at and not (row.versioned and _VERSION.fullmatch(version))):
        raise errors.build(
            "unknown-name", kind="backend or target", name=str(name)[:80], choices=tuple(TABLE)
        )
    return row, version if at else None


def backend_row(name: object) -> BackendRow:
    """Find the row of a backend: a place that runs, not one that is only asked about.

    Examples
    --------
    >>> backend_row("ndarray").name, backend_row("opencl:0:1").name
    ('burn-ndarray', 'opencl:0:1')
    """
    row = _find(name) if isinstance(name, str) else None
    if not isinstance(row, BackendRow):
        choices = tuple(row.name for row in TABLE.values() if isinstance(row, BackendRow))
        raise errors.build("unknown-name", kind="backend", name=str(name)[:80], choices=choices)
    return row


def _find(word: str) -> Row | None:
    found = _BY_WORD.get(key(word))
    if found is not None:
        return found
    name, colon, device = word.partition(":")
    row = _BY_WORD.get(key(name))
    if colon and isinstance(row, BackendRow) and row.has_devices and _DEVICE.fullmatch(device.strip()):
        return _on_device(row, device.strip().lower())
    return None


@lru_cache(maxsize=64)
def _on_device(row: BackendRow, device: str) -> BackendRow:
    """Answer for one device of a backend: the same rules under the longer name."""
    return replace(row, name=f"{row.name}:{device}")
