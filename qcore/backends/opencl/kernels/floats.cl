/* Floats as bits: conversions between float and narrower formats, and a division that any device gets right.
 * Round to nearest even, branch-free, no extension; the functions of qc_floats.h under their names. */
#pragma OPENCL FP_CONTRACT OFF

#define QC_MAGNITUDE 0x7fffffffu
#define QC_INFINITY 0x7f800000u
#define QC_NAN 0x7fc00000u

/* Every conversion once for one number and once for eight. */
#define QC_CONVERSIONS(NUMBER, F, U, H, AS_F, AS_U, TO_U, TO_H)                                              \
inline F qc_from_half##NUMBER(H half_bits) {                                                                 \
    U wide = TO_U(half_bits), shifted = (wide & 0x7fffu) << 13, exponent = shifted & 0x0f800000u;            \
    /* A subnormal half: lend it an implicit one, take it away as a float. */                                \
    U small = AS_U(AS_F(shifted + (113u << 23)) - AS_F((U)(113u << 23)));                                    \
    U bits = exponent == 0u ? small : shifted + (112u << 23);                                                \
    bits = exponent == 0x0f800000u ? shifted + (224u << 23) : bits;                                          \
    return AS_F(bits | ((wide & 0x8000u) << 16));                                                            \
}                                                                                                            \
inline H qc_to_half##NUMBER(F value) {                                                                       \
    U bits = AS_U(value), sign = (bits >> 16) & 0x8000u, a = bits & QC_MAGNITUDE;                            \
    /* Below 2^-14 a float addition rounds to multiples of 2^-24; above, an integer one to ten bits. */      \
    U small = AS_U(AS_F(min(a, (U)(113u << 23))) + 0.5f) - AS_U((F)(0.5f));                                  \
    U normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;                                         \
    U found = a < (U)(113u << 23) ? small : normal;                                                          \
    found = a >= (U)(0x477ff000u) ? (U)(0x7c00u) : found; /* 65520 and up */                                 \
    found = a > (U)(QC_INFINITY) ? (0x7e00u | ((a >> 13) & 0x3ffu)) : found;                                 \
    return TO_H(found | sign);                                                                               \
}                                                                                                            \
inline F qc_from_bfloat##NUMBER(H bfloat) { return AS_F(TO_U(bfloat) << 16); }                               \
inline H qc_to_bfloat##NUMBER(F value) {                                                                     \
    U bits = AS_U(value), nan = ((bits >> 16) & 0x8000u) | 0x7fc0u;                                          \
    U rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;                                                \
    return TO_H((bits & QC_MAGNITUDE) > (U)(QC_INFINITY) ? nan : rounded);                                   \
}                                                                                                            \
/* Code in a format of `mbits` mantissa bits, normal from 2^emin on, saturating at `top`; NaN becomes 0.     \
 * One float addition rounds: its last bit weighs as much as the code's. */                                  \
inline U qc_minifloat##NUMBER(F value, int mbits, int emin, uint top, int bits) {                            \
    U raw = AS_U(value), a = raw & QC_MAGNITUDE, least = (U)((uint)(emin + 127) << 23);                      \
    U number = a > (U)(QC_INFINITY) ? (U)(0u) : (U)(0xffffffffu);                                            \
    a = min(a, (U)(top));                                                                                    \
    U exponent = max(a & QC_INFINITY, least), magic = exponent + ((uint)(23 - mbits) << 23);                 \
    U code = AS_U(AS_F(a) + AS_F(magic)) - magic + ((exponent - least) >> (U)(23 - mbits));                  \
    return (code | ((raw >> 31) << (U)(bits - 1))) & number;                                                 \
}

QC_CONVERSIONS(, float, uint, ushort, as_float, as_uint, convert_uint, convert_ushort)
QC_CONVERSIONS(8, float8, uint8, ushort8, as_float8, as_uint8, convert_uint8, convert_ushort8)

/* x / s in IEEE arithmetic, whatever the device's division rounds to: an estimate, put right in whole numbers.
 * The loops make `quotient` the floor of the exact one however far off the estimate was. */
inline float qc_quotient(float x, float s) {
    uint a = as_uint(x) & QC_MAGNITUDE, b = as_uint(s) & QC_MAGNITUDE, sign = (as_uint(x) ^ as_uint(s)) & 0x80000000u;
    if (a > QC_INFINITY || b > QC_INFINITY || (a == b && (a == 0 || a == QC_INFINITY))) return as_float(QC_NAN);
    if (a == QC_INFINITY || b == 0) return as_float(sign | QC_INFINITY);
    if (a == 0 || b == QC_INFINITY) return as_float(sign);
    uint over = a < 0x800000u ? clz(a) - 8u : 0u, under = b < 0x800000u ? clz(b) - 8u : 0u;
    uint n = a < 0x800000u ? a << over : (a & 0x7fffffu) | 0x800000u;
    uint d = b < 0x800000u ? b << under : (b & 0x7fffffu) | 0x800000u;
    int exponent = (int)max(a >> 23, 1u) - (int)over - (int)max(b >> 23, 1u) + (int)under + 127;
    if (n < d) {
        n <<= 1;
        exponent--;
    }
    uint quotient = (uint)((float)n / (float)d * 16777216.0f); /* 2^24 <= n * 2^24 / d < 2^25 */
    long rest = ((long)n << 24) - (long)quotient * d;
    while (rest < 0) {
        quotient--;
        rest += d;
    }
    while (rest >= (long)d) {
        quotient++;
        rest -= d;
    }
    uint drop = (uint)(exponent >= 1 ? 1 : min(2 - exponent, 26));
    uint low = quotient & ((1u << drop) - 1u), half_way = 1u << (drop - 1), kept = quotient >> drop;
    kept += low > half_way || (low == half_way && (rest != 0 || (kept & 1u)));
    uint bits = exponent >= 1 ? ((uint)(exponent - 1) << 23) + kept : kept;
    return as_float(sign | min(bits, QC_INFINITY));
}

#ifdef CORRECTED_DIVISION
#define QC_DIVIDE(x, s) qc_quotient(x, s)
#else
#define QC_DIVIDE(x, s) ((x) / (s))
#endif
