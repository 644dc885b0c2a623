"""The layout of stored tensors: shapes, byte counts and regions, in integers only."""
