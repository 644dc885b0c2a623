"""Scales onto their storage dtype: the four rounding rules, and the stored form itself.

Everything works on the bits of float32 and on the numbers of a scale dtype, so one routine serves F32, F16, BF16,
UE8M0 and UE4M3. No logarithm is taken: an exponent is read from where it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from qcore.scheme import ScaleDtype

if TYPE_CHECKING:
    from qcore.plan import ScaleNumbers

UP: Final = 0
NEAREST: Final = 1
FLOOR: Final = 2
EVEN: Final = 3

_F32_MANTISSA: Final = 23
_F32_BIAS: Final = 127
_MAGNITUDE: Final = np.uint32(0x7FFF_FFFF)


def round_scales(needed: np.ndarray, numbers: ScaleNumbers) -> np.ndarray:
    """Round needed scales onto the dtype, by the rule of the numbers; floor and even keep only the exponent.

    Parameters
    ----------
    needed
        float32. A negative number rounds as its magnitude does and keeps its sign; NaN stays NaN.
    numbers
        The scale dtype and its rule. The result saturates at its largest number; UE8M0 has no zero and no sign, and
        gives its smallest number instead.

    Returns
    -------
    numpy.ndarray
        float32 numbers that the dtype represents exactly.

    Examples
    --------
    >>> from qcore.plan import make_plan
    >>> from qcore.scheme import QuantScheme
    >>> numbers = make_plan(QuantScheme.parse("q8s/native/b32:f16"), (32,)).scale
    >>> float(round_scales(np.float32([0.3]), numbers)[0])
    0.300048828125
    """
    needed = np.asarray(needed, np.float32)
    if numbers.rule in (FLOOR, EVEN):
        return _exponent_only(needed.view(np.uint32), 0)
    magnitude = np.minimum(np.abs(needed), np.float32(numbers.top))  # np.minimum keeps NaN
    nan = np.isnan(magnitude)
    units, unit_exponent = _in_units(np.where(nan, np.float32(0), magnitude).view(np.uint32), numbers)
    rounded = np.ldexp(units.astype(np.float32), unit_exponent)
    if numbers.mbits == 0:  # UE8M0 has neither a zero nor a sign
        smallest = np.float32(numbers.smallest)
        rounded = np.where(needed > 0, np.maximum(rounded, smallest), smallest)
    else:
        rounded = np.copysign(rounded, needed)
    return np.where(nan, needed, rounded)


def power_of_two(peaks: np.ndarray, numbers: ScaleNumbers) -> np.ndarray:
    """Scales of the OCP rules floor and even: the exponent of the peak's bits minus the element's largest exponent.

    ``even`` first adds half a step of the element's mantissa to the peak's bits, so that a peak that would round up to
    the next power of two counts as one.

    Parameters
    ----------
    peaks
        float32, finite, not negative: what the calibration found, not yet divided by anything.
    numbers
        Numbers of UE8M0 under rule floor or even.

    Returns
    -------
    numpy.ndarray
        float32 powers of two between 2**-127 and 2**127.

    Examples
    --------
    >>> from qcore.plan import make_plan
    >>> from qcore.scheme import QuantScheme
    >>> mxfp4 = QuantScheme.parse("e2m1/packed/b32:ue8m0")
    >>> [float(power_of_two(np.float32([7.5]), make_plan(mxfp4, (32,), scale_rounding=r).scale)[0])
    ...  for r in ("floor", "even")]
    [1.0, 2.0]
    """
    bits = np.asarray(peaks, np.float32).view(np.uint32)
    if numbers.rule == EVEN:
        bits = bits + np.uint32(1 << (_F32_MANTISSA - numbers.elem_mbits - 1))
    return _exponent_only(bits, numbers.elem_emax)


def encode_scales(scales: np.ndarray, dtype: ScaleDtype) -> np.ndarray:
    """Representable float32 scales in their storage dtype; nothing is rounded.

    Examples
    --------
    >>> encode_scales(np.float32([1.0, 0.5]), ScaleDtype.UE8M0).view(np.uint8).tolist()
    [127, 126]
    """
    scales = np.asarray(scales, np.float32)
    if dtype is ScaleDtype.UE8M0:
        # The byte is the exponent field. (The casts of ml_dtypes send the smallest and the negative elsewhere.)
        exponents = (scales.view(np.uint32) & _MAGNITUDE) >> np.uint32(_F32_MANTISSA)
        return exponents.astype(np.uint8).view(dtype.numpy_dtype)
    with np.errstate(invalid="ignore"):
        return scales.astype(dtype.numpy_dtype)


def decode_scales(stored: np.ndarray) -> np.ndarray:
    """Stored scales as float32; every storage dtype widens exactly.

    Examples
    --------
    >>> decode_scales(np.float16([0.25])).tolist()
    [0.25]
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN among loaded scales is no reason to warn
        return np.asarray(stored).astype(np.float32, copy=False)


def _in_units(bits: np.ndarray, numbers: ScaleNumbers) -> tuple[np.ndarray, np.ndarray]:
    """Round magnitudes to whole units of the dtype's grid: (units, exponent of the unit).

    A float32 is ``significand * 2**(field - 150)``. The dtype's unit at its exponent is ``2**(exponent - mbits)``, or
    that of its smallest normal number below it; the bits in between are what rounding drops.
    """
    field = (bits >> np.uint32(_F32_MANTISSA)).astype(np.int32)
    significand = (bits & np.uint32((1 << _F32_MANTISSA) - 1)).astype(np.uint64)
    significand += np.where(field > 0, np.uint64(1 << _F32_MANTISSA), np.uint64(0))
    unit_exponent = np.maximum(field - _F32_BIAS, numbers.emin) - numbers.mbits
    lowest_bit = np.maximum(field, 1) - _F32_BIAS - _F32_MANTISSA
    # 24 significant bits: a drop of 30 already leaves nothing of them, and a larger one could not be shifted.
    drop = np.minimum(unit_exponent - lowest_bit, 30).astype(np.uint64)
    one = np.uint64(1)
    if numbers.rule == UP:
        bias = (one << drop) - one
    else:
        odd = (significand >> drop) & one
        bias = np.where(drop > 0, (one << (np.maximum(drop, one) - one)) - one + odd, np.uint64(0))
    return (significand + bias) >> drop, unit_exponent


def _exponent_only(bits: np.ndarray, subtract: int) -> np.ndarray:
    exponent = ((bits & _MAGNITUDE) >> np.uint32(_F32_MANTISSA)).astype(np.int32) - _F32_BIAS - subtract
    return np.ldexp(np.float32(1), np.clip(exponent, -_F32_BIAS, _F32_BIAS))
