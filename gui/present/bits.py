"""Bits: the stored words beside what they mean, and what they would mean to somebody who reads them otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..findings import BlockDetail
from ..state import State
from . import text

__all__ = ["READINGS", "BitsData", "Lane", "Word", "present", "read"]

READINGS = {
    "as stored": "the layout that the scheme states",
    "swap nibbles": "the two halves of every byte exchanged: high field first",
    "offset binary": "fields count from the lowest value: field \u2212 2^(bits\u22121)",
    "interleaved": "lanes in the order 0 2 4 6 1 3 5 7, as AWQ packs them",
    "reciprocal scale": "the tensor's scale taken as its reciprocal, or the block's where there is none",
}
_INTERLEAVED = (0, 2, 4, 6, 1, 3, 5, 7)


@dataclass(frozen=True, slots=True)
class Lane:
    """A field of a word: its bits, the element it is, code and value under the reading."""

    bits: str
    element: tuple[int, ...] | None
    code: int | None
    value: float | None
    source: float | None


@dataclass(frozen=True, slots=True)
class Word:
    """A stored word."""

    index: tuple[int, ...]
    hex: str
    bytes: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class BitsData:
    """What the bits view draws. Lanes are listed from bit 0 on; a ruler counts them the other way."""

    title: str
    layout: str
    reading: str
    readings: tuple[tuple[str, str], ...]
    words: tuple[Word, ...]
    word_bits: int
    field_bits: int
    scale: str
    verdict: str


def read(d: BlockDetail, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """Return fields and values of every lane under a reading; lanes without an element are -1 and NaN."""
    fields = d.fields.copy()
    if reading == "swap nibbles" and d.bits <= 4 and d.per_word > 1:
        half = 4 // d.bits
        order = [lane // (2 * half) * (2 * half) + (lane + half) % (2 * half) for lane in range(d.per_word)]
        fields = fields[:, order]
    elif reading == "swap nibbles" and d.bits == 8:
        fields = np.where(fields >= 0, ((fields & 15) << 4) | (fields >> 4), fields)
    elif reading == "interleaved" and d.per_word == 8:
        fields = fields[:, list(_INTERLEAVED)]
    index = np.clip(fields, 0, len(d.table) - 1)
    values = d.table[index].astype(np.float64)
    if reading == "offset binary":
        values = fields.astype(np.float64) - (1 << (d.bits - 1))
    scale = d.effective
    if reading == "reciprocal scale":
        if d.global_scale:
            scale = d.scale / d.global_scale
        elif d.scale:
            scale = 1 / d.scale
    return fields, np.where(fields >= 0, values * scale, np.nan)


def present(state: State) -> BitsData:
    """Return what the bits view draws."""
    d = state.detail
    readings = tuple(READINGS.items())
    if d is None:
        return BitsData("Bits", "", state.interpretation, readings, (), 32, 4, "", "pick a block first")
    fields, values = read(d, state.interpretation)
    words = []
    errors, squares = 0.0, 0.0
    for n, index in enumerate(d.word_index):
        lanes = []
        for lane in range(d.per_word):
            element = d.elements[n][lane]
            field = int(fields[n, lane])
            source = None
            if element is not None:
                source = float(d.values[tuple(a - b for a, b in zip(element, d.start, strict=True))])
                if np.isfinite(source) and field >= 0:
                    errors += (source - float(values[n, lane])) ** 2
                    squares += source * source
            known = element is not None and field >= 0
            stored = int(d.fields[n, lane]) if d.fields[n, lane] >= 0 else 0
            lanes.append(
                Lane(f"{stored:0{d.bits}b}", element, field if known else None,
                     float(values[n, lane]) if known else None, source)
            )  # fmt: skip
        word = int(d.words[n])
        raw = word.to_bytes(d.word_bits // 8, "little").hex(" ")
        words.append(Word(index, f"0x{word:0{d.word_bits // 4}x}", raw, tuple(lanes)))
    scale = f"scale {text.number(d.scale, 6)} = {d.scale_dtype} 0x{d.scale_word:x}"
    if d.global_scale is not None:
        scale += f", tensor scale {text.number(d.global_scale, 6)}"
    sqnr = 10 * np.log10(squares / errors) if errors and squares else np.inf
    verdict = f"read {state.interpretation}: block SQNR {text.decibels(float(sqnr))}"
    words_are = f"{d.word_bits}-bit words \u00b7 {d.per_word} \u00d7 {d.bits} bits"
    layout = f"{d.store} \u00b7 {words_are}, low bits first, little-endian bytes"
    return BitsData(
        f"Block {text.place(d.block)} \u00b7 {d.scheme}", layout, state.interpretation, readings, tuple(words),
        d.word_bits, d.bits, scale, verdict,
    )  # fmt: skip
