"""Ask a kernel to read one row more than an array has: an instrumented build ends the process here."""

import numpy as np

from qcore.backends.cpu.geometry import make_geometry
from qcore_ext import measure

x = np.ones((4, 8), np.float32)
claimed = make_geometry(
    (5, 8), (64, 4), 0, (1, 8), None
)  # a stride of 64 bytes: the last row lies far outside
measure.peaks(x, np.zeros(5, np.float32), True, claimed.packed, 0, claimed.block_tasks)
