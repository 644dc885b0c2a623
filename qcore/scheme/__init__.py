"""The scheme model: values, scales, blocks, stores, schemes, their texts, presets and codebooks.

Importing it needs no NumPy; `Codebook`, which holds arrays, loads when first asked for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from qcore.scheme.blocks import BlockScale, BlockSize
from qcore.scheme.presets import PRESETS, Preset
from qcore.scheme.resolve import Resolved, resolve
from qcore.scheme.scales import ScaleDtype
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.store import QuantMode, QuantStore
from qcore.scheme.values import QuantValue

if TYPE_CHECKING:
    from qcore.scheme.codebook import Codebook

__all__ = [
    "PRESETS",
    "BlockScale",
    "BlockSize",
    "Codebook",
    "Preset",
    "QuantMode",
    "QuantScheme",
    "QuantStore",
    "QuantValue",
    "Resolved",
    "ScaleDtype",
    "resolve",
]


def __getattr__(name: str) -> Any:
    """Load the codebooks, and with them NumPy, on first use."""
    if name == "Codebook":
        from qcore.scheme.codebook import Codebook

        return Codebook
    return object.__getattribute__(sys.modules[__name__], name)  # Python's own AttributeError
