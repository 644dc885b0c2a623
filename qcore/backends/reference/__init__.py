"""The oracle: every rule of docs/numerics.md in plain NumPy, written to be read rather than to be fast.

It shares no formula with the kernels. Where they round with tricks on bits it compares exact numbers: minifloats by
search between the midpoints of their table, lookup indices by exact comparison with each midpoint, integer ties in
float64. That the bits agree therefore means something.
"""

from __future__ import annotations

from qcore.backends.reference.engine import Reference, open_backend

__all__ = ["Reference", "open_backend"]
