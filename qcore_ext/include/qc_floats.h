/* Floats as bits: conversions between float32 and narrower formats. Round to nearest even, branch-free, equal everywhere. */
#ifndef QC_FLOATS_H
#define QC_FLOATS_H

#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define QC_RESTRICT __restrict
#else
#define QC_RESTRICT __restrict__
#endif

#if defined(__GNUC__)
#define QC_INLINE static inline __attribute__((always_inline))
#else
#define QC_INLINE static inline
#endif

#define QC_MAGNITUDE 0x7fffffffu
#define QC_INFINITY 0x7f800000u

static inline uint32_t qc_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float qc_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline float qc_from_half(uint16_t half) {
    uint32_t shifted = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t exponent = shifted & 0x0f800000u;
    uint32_t normal = shifted + (112u << 23);
    uint32_t special = shifted + (224u << 23);
    /* A subnormal half: lend it an implicit one, take it away as a float. */
    uint32_t small = qc_bits(qc_float(shifted + (113u << 23)) - qc_float(113u << 23));
    uint32_t bits = exponent == 0 ? small : normal;
    bits = exponent == 0x0f800000u ? special : bits;
    return qc_float(bits | ((uint32_t)(half & 0x8000u) << 16));
}

static inline uint16_t qc_to_half(float value) {
    uint32_t bits = qc_bits(value), sign = (bits >> 16) & 0x8000u;
    uint32_t a = bits & QC_MAGNITUDE;
    /* Below 2^-14 a float addition rounds to multiples of 2^-24; above, an integer one to ten bits of mantissa. */
    uint32_t clipped = a < (113u << 23) ? a : (113u << 23);
    uint32_t small = qc_bits(qc_float(clipped) + 0.5f) - qc_bits(0.5f);
    uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    uint32_t half = a < (113u << 23) ? small : normal;
    half = a >= 0x477ff000u ? 0x7c00u : half; /* 65520 and up */
    half = a > QC_INFINITY ? (0x7e00u | ((a >> 13) & 0x3ffu)) : half;
    return (uint16_t)(half | sign);
}

static inline float qc_from_bfloat(uint16_t bfloat) { return qc_float((uint32_t)bfloat << 16); }

static inline uint16_t qc_to_bfloat(float value) {
    uint32_t bits = qc_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t nan = ((bits >> 16) & 0x8000u) | 0x7fc0u;
    return (uint16_t)((bits & QC_MAGNITUDE) > QC_INFINITY ? nan : rounded);
}

/* Code, without its sign, of a magnitude in a format of `mbits` mantissa bits, normal from 2^emin on, that holds it.
 * One float addition rounds: its last bit weighs as much as the code's. */
QC_INLINE uint32_t qc_minifloat_magnitude(uint32_t a, int32_t mbits, int32_t emin) {
    uint32_t least = (uint32_t)(emin + 127) << 23, exponent = a & QC_INFINITY, magic;
    exponent = exponent > least ? exponent : least;
    magic = exponent + ((uint32_t)(23 - mbits) << 23);
    return qc_bits(qc_float(a) + qc_float(magic)) - magic + ((exponent - least) >> (23 - mbits));
}

/* The bit that carries the sign in a code of `bits` bits, as the float has it. */
QC_INLINE uint32_t qc_sign_bit(uint32_t raw, int32_t bits) { return raw >> (32 - bits) & 1u << (bits - 1); }

/* Code of any float, saturating at `top`; NaN becomes 0. */
QC_INLINE uint32_t qc_minifloat(float value, int32_t mbits, int32_t emin, uint32_t top, int32_t bits) {
    uint32_t raw = qc_bits(value), a = raw & QC_MAGNITUDE;
    uint32_t number = a > QC_INFINITY ? 0u : ~0u;
    a = a < top ? a : top;
    return (qc_minifloat_magnitude(a, mbits, emin) | qc_sign_bit(raw, bits)) & number;
}

/* Code of a float no larger than the format's largest. */
QC_INLINE uint32_t qc_bounded_minifloat(float value, int32_t mbits, int32_t emin, int32_t bits) {
    uint32_t raw = qc_bits(value);
    return qc_minifloat_magnitude(raw & QC_MAGNITUDE, mbits, emin) | qc_sign_bit(raw, bits);
}

#endif
