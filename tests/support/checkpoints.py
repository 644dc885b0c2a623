"""Checkpoints of other projects for tests: folders with plain arrays under their names, and bits moved the slow way."""

import json

import numpy as np

import qcore


def folder(path, arrays, config=None, metadata=None, name="model.safetensors", **files):
    """A folder with one safetensors file, a configuration and other JSON files."""
    path.mkdir(exist_ok=True)
    qcore.save(path / name, arrays, metadata)
    if config is not None:
        (path / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for other, content in files.items():
        (path / f"{other}.json").write_text(json.dumps(content))
    return path


def quantized_by(method, **block):
    """A configuration that declares a convention."""
    return {"model_type": "tiny", "quantization_config": {"quant_method": method, **block}}


def words(codes, bits):
    """Unsigned codes along the last axis as int32 words, one by one, each row a bit stream."""
    rows = np.asarray(codes).reshape(-1, np.shape(codes)[-1])
    count = -(-rows.shape[1] * bits // 32)
    out = np.zeros((len(rows), count), np.uint32)
    for r, row in enumerate(rows):
        whole = sum(int(code) << (bits * k) for k, code in enumerate(row))
        out[r] = [(whole >> (32 * k)) & 0xFFFFFFFF for k in range(count)]
    return out.reshape(*np.shape(codes)[:-1], count).view(np.int32)


def shape_of(*dims):
    """The array compressed-tensors keeps a logical shape in."""
    return np.array(dims, np.int64)
