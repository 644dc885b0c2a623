"""The layout of stored tensors: shapes, byte counts and regions, in integers only."""

from qcore.layout.packing import grid_shape, quantized_data_len, storage_shape, values_nbytes
from qcore.layout.regions import Regions, split

__all__ = ["Regions", "grid_shape", "quantized_data_len", "split", "storage_shape", "values_nbytes"]
