"""Print what each rounding rule of UE8M0 scales costs on the weights in this repository (table of docs/numerics.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import qcore

ROOT = Path(__file__).parents[1]
WEIGHTS = {
    "MiniLM query": "qcore/sample/minilm_l0_query_384x384.npy",
    "MiniLM feed-forward": "tests/data/weights/minilm_ffn_up_32x384.npy",
    "MiniLM embedding": "tests/data/weights/minilm_word_emb_50x384.npy",
    "Silero LSTM": "tests/data/weights/silero_lstm_ih_64x128.npy",
    "Silero convolution": "qcore/sample/silero_conv1_128x129x3.npy",
    "Magika dense": "tests/data/weights/magika_dense_48x214.npy",
}
SCHEMES = {
    "mxfp4": "e2m1/packed/b32:ue8m0",
    "mxfp8": "e4m3/native/b32:ue8m0",
    "mxfp8 e5m2": "e5m2/native/b32:ue8m0",
}
RULES = ("floor", "even", "up", "nearest")


def sqnr(x: np.ndarray, decoded: np.ndarray) -> float:
    """Signal over error in decibels, both as sums of squares in float64."""
    exact = x.astype(np.float64)
    return float(10 * np.log10(np.square(exact).sum() / np.square(exact - decoded).sum()))


def rows() -> Iterator[str]:
    """Lines of the table, heading first."""
    yield "| elements | weights | " + " | ".join(RULES) + " |"
    yield "|---|---|" + "--:|" * len(RULES)
    for scheme, text in SCHEMES.items():
        for name, path in WEIGHTS.items():
            x = np.load(ROOT / path)
            x = x.reshape(x.shape[0], -1)
            found = [sqnr(x, qcore.quantize(x, text, scale_rounding=rule).dequantize()) for rule in RULES]
            yield f"| {scheme} | {name} | " + " | ".join(f"{decibels:.2f}" for decibels in found) + " |"


if __name__ == "__main__":
    print("\n".join(rows()))
