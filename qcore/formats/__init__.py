"""Files of tensors: one reader for all formats, one way to write, errors that name the byte.

A row in :mod:`qcore.formats.table` is a format; its module knows how arrays lie in it and nothing else. What a
quantized tensor looks like among plain arrays stands in :mod:`qcore.formats.convention`.
"""

from qcore.formats.limits import LIMITS
from qcore.formats.protocol import TensorInfo
from qcore.formats.store import open_file as open
from qcore.formats.store import save

__all__ = ["LIMITS", "TensorInfo", "open", "save"]
