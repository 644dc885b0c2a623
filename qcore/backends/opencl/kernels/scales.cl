/* Scales: from peaks to stored bytes, and back to the numbers that elements are divided by.
 * The functions of qc_scales.h under their names. */
#pragma OPENCL FP_CONTRACT OFF

#define SCALE_F32 0
#define SCALE_F16 2
#define SCALE_BF16 3
#define SCALE_BYTE 4
#define RULE_UP 0
#define RULE_FLOOR 2
#define RULE_EVEN 3

/* Numbers of the scale dtype and its rule. */
#define SCALE_ARGS int scale_kind, int scale_mbits, int scale_emin, int rule, int elem_emax, int elem_mbits, uint scale_top, float smallest, float half_range
#define SCALE scale_kind, scale_mbits, scale_emin, rule, elem_emax, elem_mbits, scale_top, smallest, half_range

/* Nearest or upper representable value of one non-negative number, saturating. */
inline float qc_round_scale(float needed, SCALE_ARGS) {
    uint bits = as_uint(needed), least = scale_emin < -126 ? 1u << 23 : (uint)(scale_emin + 127) << 23;
    uint below = (1u << (23 - scale_mbits)) - 1u, odd = (bits >> (23 - scale_mbits)) & (uint)(below != 0);
    uint to_nearest = (below >> 1) + (scale_mbits == 0 ? 1u : odd);
    /* Multiples of the smallest: an addition rounds to nearest even, a comparison lifts it. */
    float magic = smallest * 8388608.0f, multiple = (needed + magic) - magic;
    uint small = as_uint(multiple + (rule == RULE_UP && multiple < needed ? smallest : 0.0f));
    uint rounded = bits < least ? small : (bits + (rule == RULE_UP ? below : to_nearest)) & ~below;
    return as_float(min(rounded, scale_top));
}

/* The power of two the OCP rules choose for a peak: its exponent less the element's largest, from the bits alone. */
inline float qc_power_of_peak(uint peak, SCALE_ARGS) {
    uint bits = peak + (rule == RULE_EVEN ? 1u << (22 - elem_mbits) : 0u);
    int code = (int)(bits >> 23) - elem_emax;
    return as_float(code > 0 ? (uint)code << 23 : 1u << 22);
}

/* The scale of one finite peak, representable; under two levels relative to the global scale (else 1). */
inline float qc_solve(uint peak, float global_scale, SCALE_ARGS) {
    if (rule >= RULE_FLOOR) return qc_power_of_peak(peak, SCALE);
    return qc_round_scale(QC_DIVIDE(QC_DIVIDE(as_float(peak), half_range), global_scale), SCALE);
}

/* Stored form of one representable scale, at its place. */
inline void qc_store_scale(float scale, ulong at, __global uchar *to, SCALE_ARGS) {
    if (scale_kind == SCALE_F32)
        ((__global uint *)to)[at] = as_uint(scale);
    else if (scale_kind == SCALE_F16)
        ((__global ushort *)to)[at] = qc_to_half(scale);
    else if (scale_kind == SCALE_BF16)
        ((__global ushort *)to)[at] = (ushort)(as_uint(scale) >> 16);
    else if (scale_mbits == 0)
        to[at] = (uchar)(as_uint(scale) >> 23);
    else
        to[at] = (uchar)qc_minifloat(scale, scale_mbits, scale_emin, scale_top, 8);
}

/* What elements are divided by and multiplied with: f32(global * stored scale). Bytes are looked up. */
inline float qc_effective(__global const uchar *stored, ulong at, float global_scale, int scale_kind,
                          __constant const float *scale_table) {
    float scale;
    if (scale_kind == SCALE_F32)
        scale = ((__global const float *)stored)[at];
    else if (scale_kind == SCALE_F16)
        scale = qc_from_half(((__global const ushort *)stored)[at]);
    else if (scale_kind == SCALE_BF16)
        scale = qc_from_bfloat(((__global const ushort *)stored)[at]);
    else
        scale = scale_table[stored[at]];
    return global_scale * scale;
}
