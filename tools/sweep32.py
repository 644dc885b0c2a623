"""Every float32 there is through every rounding: values and scales against tables of all that a format can express.

    python tools/sweep32.py [--stride 64] [--only NAME ...] [--backend opencl] [--list]

`--stride N` takes every N-th bit pattern, and always those within two steps of a representable number or of the middle
between two. The oracle shares nothing with the library: it looks neighbours up in a sorted table and compares
exactly. Ends with status 1 when a single result differs.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import qcore

Floats = NDArray[np.float32]
CHUNK = 1 << 22
BACKEND = ["cpu"]  # set by the command line

MINIFLOATS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 256),
    "e5m2": (ml_dtypes.float8_e5m2, 256),
    "e2m1": (ml_dtypes.float4_e2m1fn, 16),
}
INTEGERS = {
    "q8f": (-128, 127),
    "q8s": (-127, 127),
    "q4f": (-8, 7),
    "q4s": (-7, 7),
    "q2f": (-2, 1),
    "q2s": (-1, 1),
}
SCALES = {
    "f16": (np.float16, np.uint16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "ue8m0": (ml_dtypes.float8_e8m0fnu, np.uint8),
    "ue4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
}


def quantize(x: Floats, value: str, level: str, **options: Any) -> qcore.QTensor:
    """Quantize on the backend that is swept; words of any store hold the same codes."""
    return qcore.quantize(x, f"{value}/u32/{level}", backend=BACKEND[0], **options)


def magnitudes(dtype: type, codes: int, unsigned: type) -> NDArray[np.float64]:
    """All finite numbers of a format that are not negative, in the order of their codes, which is that of value."""
    with np.errstate(invalid="ignore"):  # NaN is among the codes
        every = np.arange(codes, dtype=unsigned).view(dtype).astype(np.float64)
    return np.unique(every[np.isfinite(every) & ~np.signbit(every)])


def to_nearest(x: Floats, table: NDArray[np.float64], *, ties: str = "even") -> NDArray[np.intp]:
    """Index of the entry nearest to each |x|, saturating; ties to the even index, or up."""
    size = np.abs(x.astype(np.float64))
    above = np.clip(np.searchsorted(table, size), 1, len(table) - 1)
    below = above - 1
    to_below, to_above = size - table[below], table[above] - size
    upper = (to_above < to_below) | ((to_above == to_below) & ((above % 2 == 0) | (ties == "up")))
    return np.where(upper, above, below)


def up(x: Floats, table: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of the smallest entry that is at least |x|, saturating."""
    return np.minimum(np.searchsorted(table, np.abs(x.astype(np.float64))), len(table) - 1)


def minifloat_codes(name: str) -> Callable[[Floats], None]:
    dtype, codes = MINIFLOATS[name]
    table = magnitudes(dtype, codes, np.uint8)
    one = qcore.QuantParams(scales=np.ones(1, np.float32))

    def check(x: Floats) -> None:
        got = quantize(x, name, "t:f32", params=one, nonfinite="saturate").codes
        expected = to_nearest(np.nan_to_num(x, nan=0.0, posinf=3e38, neginf=-3e38), table)
        expected = expected + np.where(np.signbit(x) & ~np.isnan(x), codes // 2, 0)
        compare(x, got, expected.astype(np.uint8))

    return check


def integer_codes(name: str, rounding: str) -> Callable[[Floats], None]:
    low, high = INTEGERS[name]
    one = qcore.QuantParams(scales=np.ones(1, np.float32))

    def check(x: Floats) -> None:
        got = quantize(x, name, "t:f32", params=one, nonfinite="saturate", rounding=rounding).codes
        wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)
        rounded = np.rint(wide) if rounding == "half-even" else np.trunc(wide + np.copysign(0.5, wide))
        compare(x, got, np.clip(rounded, low, high).astype(np.int8))

    return check


def scales(name: str, rule: str) -> Callable[[Floats], None]:
    dtype, unsigned = SCALES[name]
    table = magnitudes(dtype, 1 << 8 * np.dtype(unsigned).itemsize, unsigned)

    def check(x: Floats) -> None:
        x = x[np.isfinite(x)]
        if x.size == 0:
            return
        # q2s divides the peak of a block by 1, and a block of one element is its own peak: the scale is |x| rounded
        q = quantize(x, "q2s", f"b1:{name}", scale_rounding=rule)
        nearest_ties = "up" if name == "ue8m0" else "even"
        index = up(x, table) if rule == "up" else to_nearest(x, table, ties=nearest_ties)
        compare(x, q.scales.astype(np.float64), table[index])

    return check


def compare(x: Floats, got: NDArray[np.generic], expected: NDArray[np.generic]) -> None:
    wrong = np.flatnonzero(got != expected)
    if wrong.size:
        i = wrong[0]
        raise AssertionError(
            f"{wrong.size} of {x.size} differ, first {float(x[i])!r} (0x{x.view(np.uint32)[i]:08x}): "
            f"{got[i]!r}, expected {expected[i]!r}"
        )


SWEEPS: dict[str, Callable[[Floats], None]] = {
    **{name: minifloat_codes(name) for name in MINIFLOATS},
    **{f"{name} {tie}": integer_codes(name, tie) for name in INTEGERS for tie in ("half-away", "half-even")},
    **{f"scale {name} {rule}": scales(name, rule) for name in SCALES for rule in ("up", "nearest")},
}


def edges() -> NDArray[np.uint32]:
    """Bit patterns within two steps of every number of every format here, and of the middle between neighbours."""
    found = [np.arange(-130.0, 130.5, 0.5)]
    formats = [(dtype, codes, np.uint8) for dtype, codes in MINIFLOATS.values()]
    formats += [
        (dtype, 1 << 8 * np.dtype(unsigned).itemsize, unsigned) for dtype, unsigned in SCALES.values()
    ]
    for dtype, codes, unsigned in formats:
        table = magnitudes(dtype, codes, unsigned)
        found += [table, (table[1:] + table[:-1]) / 2]
    points = np.concatenate(found).astype(np.float32)
    bits = np.concatenate([points, -points]).view(np.uint32).astype(np.int64)
    near = (bits[:, None] + np.arange(-2, 3)).ravel() % (1 << 32)
    return np.unique(near).astype(np.uint32)


def patterns(stride: int) -> Iterator[Floats]:
    if stride > 1:
        yield edges().view(np.float32)
    for start in range(0, 1 << 32, CHUNK * stride):
        stop = min(start + CHUNK * stride, 1 << 32)
        yield np.arange(start, stop, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stride", type=int, default=1, help="take every N-th bit pattern (default 1: all)")
    parser.add_argument("--only", nargs="+", choices=list(SWEEPS), default=list(SWEEPS), metavar="NAME")
    parser.add_argument("--backend", default="cpu", help="where to quantize: cpu, opencl, reference")
    parser.add_argument("--list", action="store_true", help="name the sweeps and do nothing")
    options = parser.parse_args()
    BACKEND[0] = options.backend
    if options.list:
        print(*SWEEPS, sep="\n")
        return
    np.seterr(invalid="ignore")  # NaN is among what is cast
    failed = 0
    for name in options.only:
        began, count = time.perf_counter(), 0
        try:
            for x in patterns(options.stride):
                SWEEPS[name](x)
                count += x.size
        except AssertionError as difference:
            failed += 1
            print(f"{name}: {difference}", flush=True)
        else:
            print(f"{name}: {count} equal, {time.perf_counter() - began:.0f} s", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
