"""Quantized checkpoints of other projects on safetensors: one module each, one row each in ``table``.

A convention says which arrays belong together and what they mean. Its module finds them by name and shape among a
file's plain entries and makes a ``QTensor`` of them: by moving bits where that is enough. What has zero points, or
columns in a permuted order, becomes an ``AffineTensor``, to look at and to decode.
"""
