"""Reading the reference data of other libraries, and turning their packing into one code per element."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "data" / "peers"


def load(name: str) -> dict[str, np.ndarray]:
    """Every array of one file."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def cases(
    data: dict[str, np.ndarray], inputs: dict[str, np.ndarray], field: str
) -> Iterator[tuple[str, np.ndarray]]:
    """Case names that have ``field``, with their input tensor."""
    for name in sorted({key.split("__")[0] for key in data if key.endswith(f"__{field}")}):
        x = data.get(f"{name}__x", inputs.get(name))
        if x is not None:
            yield name, x


def low_nibble_first(packed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Two codes a byte, consecutive elements, the first in the low nibble."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(shape)


def high_nibble_first(packed: np.ndarray, size: int) -> np.ndarray:
    """Two codes a byte, consecutive elements, the first in the high nibble; a last one may be padding."""
    return np.stack([packed >> 4, packed & 15], axis=-1).reshape(-1)[:size]


def ggml_blocks(rows: np.ndarray, nbytes: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of a ggml row: their f16 scales as a grid, and the payload bytes."""
    blocks = rows.reshape(rows.shape[0], -1, nbytes)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
    return scales, blocks[..., 2:]
