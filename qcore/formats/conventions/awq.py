"""AWQ (gemm): words along the output channels in a shuffled order, ``[in, out]``, with zero points.

Where every zero point is the middle of the range the tensor is symmetric, and only bits move; else it decodes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.conventions.affine import AffineTensor

__all__ = ["NAME", "find"]

NAME = "awq"
_WORDS = ("int32", "uint32")
_COLUMN_OF_NIBBLE = (0, 2, 4, 6, 1, 3, 5, 7)
_PER_WORD = 8
_MIDDLE = 0x88888888


def find(look: Look) -> Iterator[Found]:
    """Every module whose words lie along its outputs."""
    if str(look.config.get("version", "gemm")).lower() != "gemm":
        return
    for prefix in look.prefixes("qweight"):
        words, zeros = look.entry(prefix + "qweight", *_WORDS), look.entry(prefix + "qzeros", *_WORDS)
        scales = look.entry(prefix + "scales", "float16", "bfloat16", "float32")
        if words is None or scales is None or zeros is None or (prefix + "weight") in look.plain:
            continue
        if len(words.shape) != 2 or len(scales.shape) != 2 or not scales.shape[0]:
            continue
        inputs, outputs = words.shape[0], words.shape[1] * _PER_WORD
        groups = scales.shape[0]
        if scales.shape[1] != outputs or zeros.shape != (groups, words.shape[1]) or inputs % groups:
            if look.declared:
                raise look.fault(
                    words.name, "packed weights", list(words.shape), f"those of scales {list(scales.shape)}"
                )
            continue
        parts = (words.name, scales.name, zeros.name)
        if _zero_is_middle(look.stored.array, zeros.name):
            yield _quantized(look, prefix + "weight", parts, (inputs, outputs), inputs // groups)
            continue

        def make(fetch: Fetch, parts: tuple[str, str, str] = parts) -> AffineTensor:
            import numpy as np

            from qcore.formats.conventions.affine import AffineTensor

            codes, scales, zeros = (fetch(part) for part in parts)
            return AffineTensor(
                f"{NAME} [in, out]",
                _columns(codes),
                scales.astype(np.float32),
                _columns(zeros).astype(np.float32),
                axis=0,
            )

        yield look.foreign(
            prefix + "weight", parts, (inputs, outputs), make, origin=f"{NAME}, zero points [in, out]"
        )


def _zero_is_middle(fetch: Fetch, zeros: str) -> bool:
    import numpy as np

    return bool((fetch(zeros).view(np.uint32) == np.uint32(_MIDDLE)).all())


def _quantized(look: Look, name: str, parts: tuple[str, str, str], shape: tuple[int, int], group: int) -> Found:
    from qcore.formats.conventions.bits import FLOAT_SCALES, extent_of

    extent, times = extent_of(group)
    word = FLOAT_SCALES[look.plain[parts[1]].dtype]

    def make(fetch: Fetch) -> Parts:
        import numpy as np

        if not _zero_is_middle(fetch, parts[2]):  # the file is another than it was when it was opened
            raise look.fault(parts[2], "a zero point", "off the middle", "the middle, as before")
        words = fetch(parts[0]).view(np.uint32)
        placed = np.full(words.shape, _MIDDLE, np.uint32)  # what turns an offset of 8 into two's complement
        for nibble, column in enumerate(_COLUMN_OF_NIBBLE):
            placed ^= (words >> np.uint32(4 * nibble) & np.uint32(15)) << np.uint32(4 * column)
        return Parts(placed, np.repeat(fetch(parts[1]), times, axis=0))

    return look.quantized(
        name, parts, f"q4f/u32/b{extent}x1:{word}", shape, make,
        origin=f"{NAME} [in, out]", fidelity="exact" if times == 1 else "lossless",
    )  # fmt: skip


def _columns(words: np.ndarray) -> np.ndarray:
    """Codes in the order of their columns."""
    import numpy as np

    flat = words.view(np.uint32)
    codes = np.empty((*flat.shape, _PER_WORD), np.uint8)
    for nibble, column in enumerate(_COLUMN_OF_NIBBLE):
        codes[..., column] = flat >> np.uint32(4 * nibble) & np.uint32(15)
    return codes.reshape(flat.shape[0], -1)
