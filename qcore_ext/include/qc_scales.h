/* Scales: from peaks to stored bytes, and back to the numbers that elements are divided by. */
#ifndef QC_SCALES_H
#define QC_SCALES_H

#include "qc_floats.h"
#include "qc_halves.h"
#include "qc_numbers.h"

/* Nearest or upper representable value of one non-negative number, saturating. */
static inline float qc_round_scale(const qc_scale *s, float needed) {
    uint32_t bits = qc_bits(needed), top = qc_bits(s->top), least = s->emin < -126 ? 1u << 23 : (uint32_t)(s->emin + 127) << 23;
    uint32_t below = (1u << (23 - s->mbits)) - 1u, odd = (bits >> (23 - s->mbits)) & (below != 0), half = below >> 1;
    uint32_t add = s->rule == QC_UP ? below : (s->mbits == 0 ? half + 1u : half + odd);
    /* Multiples of the smallest: an addition rounds to nearest even, a comparison lifts it. */
    float magic = s->smallest * 8388608.0f, multiple = (needed + magic) - magic;
    uint32_t small = qc_bits(multiple + (s->rule == QC_UP && multiple < needed ? s->smallest : 0.0f));
    uint32_t rounded = bits < least ? small : (bits + add) & ~below;
    return qc_float(rounded < top ? rounded : top);
}

/* The power of two the OCP rules choose for a peak: its exponent less the element's largest, from the bits alone. */
static inline float qc_power_of_peak(const qc_scale *s, float peak) {
    uint32_t bits = qc_bits(peak) + (s->rule == QC_EVEN ? 1u << (22 - s->elem_mbits) : 0u);
    int32_t code = (int32_t)(bits >> 23) - s->elem_emax;
    return qc_float(code > 0 ? (uint32_t)code << 23 : 1u << 22);
}

/* Scales, representable, of n peaks, each times `factor`; under two levels relative to the global scale (else 1). */
static inline void qc_solve(const qc_scale *s, const float *QC_RESTRICT peaks, int64_t n, float factor, float global,
                            float *QC_RESTRICT scales) {
    if (s->rule >= QC_FLOOR) {
        for (int64_t i = 0; i < n; i++) scales[i] = qc_power_of_peak(s, peaks[i] * factor);
    } else {
        for (int64_t i = 0; i < n; i++) scales[i] = qc_round_scale(s, peaks[i] / s->half_range / global * factor);
    }
}

/* Stored form of representable scales. */
static inline void qc_store_scales(const qc_scale *s, const float *QC_RESTRICT scales, int64_t n,
                                   char *QC_RESTRICT to) {
    if (s->kind == QC_F32) {
        memcpy(to, scales, (size_t)n * 4);
    } else if (s->kind == QC_F16) {
        qc_write_halves(to, n, scales);
    } else if (s->kind == QC_BF16) {
        for (int64_t i = 0; i < n; i++) {
            uint16_t bfloat = (uint16_t)(qc_bits(scales[i]) >> 16);
            memcpy(to + 2 * i, &bfloat, 2);
        }
    } else if (s->mbits == 0) {
        for (int64_t i = 0; i < n; i++) to[i] = (char)(qc_bits(scales[i]) >> 23);
    } else {
        uint32_t top = qc_bits(s->top);
        for (int64_t i = 0; i < n; i++) to[i] = (char)qc_minifloat(scales[i], s->mbits, s->emin, top, 8);
    }
}

/* Effective scales of n stored ones: f32(global * scale), and what stands in for 0. */
static inline void qc_effective(const qc_scale *s, const char *QC_RESTRICT stored, int64_t n, float global,
                                float *QC_RESTRICT effective) {
    if (s->kind == QC_F32) {
        memcpy(effective, stored, (size_t)n * 4);
    } else if (s->kind == QC_BYTE) {
        for (int64_t i = 0; i < n; i++) effective[i] = s->table[(unsigned char)stored[i]];
    } else if (s->kind == QC_F16) {
        qc_read_halves(stored, n, effective);
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint16_t bfloat;
            memcpy(&bfloat, stored + 2 * i, 2);
            effective[i] = qc_from_bfloat(bfloat);
        }
    }
    if (global != 1.0f)
        for (int64_t i = 0; i < n; i++) effective[i] = global * effective[i];
    if (s->zero_substitute != 0.0f)
        for (int64_t i = 0; i < n; i++) effective[i] = effective[i] == 0.0f ? s->zero_substitute : effective[i];
}

/* Scales of blocks whose largest magnitudes are given as bits, stored and as divisors; 0 when one is not finite. */
static inline int qc_scale_strip(const qc_scale *s, const uint32_t *QC_RESTRICT maxima, int64_t count,
                                 char *QC_RESTRICT stored, float *QC_RESTRICT effective) {
    float peaks[QC_ROOM], scales[QC_ROOM];
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = maxima[i] > most ? maxima[i] : most;
        peaks[i] = qc_float(maxima[i]);
    }
    if (most >= QC_INFINITY) return 0;
    qc_solve(s, peaks, count, 1.0f, 1.0f, scales);
    qc_store_scales(s, scales, count, stored);
    qc_effective(s, stored, count, 1.0f, effective);
    /* A block without any magnitude gets zero codes, also where its stored scale cannot be 0. */
    for (int64_t i = 0; i < count; i++) effective[i] = maxima[i] == 0 ? s->zero_substitute : effective[i];
    return 1;
}

#endif
