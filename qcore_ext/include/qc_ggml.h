/* ggml's arithmetic for its blocks of 32, byte for byte: multiply by the reciprocal of the unrounded scale, store that scale
 * as the nearest float16 (qcore/backends/ggml_blocks.py says what follows from it). Elements are finite. */
#ifndef QC_GGML_H
#define QC_GGML_H

#include "qc_strips.h"

#define QC_GGML_BLOCK 32

/* The largest positive and the largest negative magnitude of a block; 0 where there is no such element. As bits the order
 * of positive floats is that of signed integers, and unsigned all negative ones lie above. */
QC_INLINE void qc_ends(const float *x, int64_t n, uint32_t *above, uint32_t *below) {
    int32_t most = 0;
    uint32_t least = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = qc_bits(x[i]);
        int32_t number = (int32_t)bits;
        most = number > most ? number : most;
        least = bits > least ? bits : least;
    }
    *above = (uint32_t)most;
    *below = least > QC_MAGNITUDE ? least & QC_MAGNITUDE : 0;
}

/* Whether the first element of the largest magnitude is negative, where both signs have one. */
static inline int qc_first_is_negative(const float *x, uint32_t magnitude) {
    while ((qc_bits(*x) & QC_MAGNITUDE) != magnitude) x++;
    return qc_bits(*x) > QC_MAGNITUDE;
}

/* Of every block the element of largest magnitude, sign included, the first of equals; without its sign for Q8_0.
 * False when an element is not finite. */
static inline int qc_ggml_extremes(const float *x, int64_t n, int64_t size, int signs, float *extremes) {
    uint32_t worst = 0;
    for (int64_t first = 0, block = 0; first < n; first += size, block++) {
        int64_t length = n - first < size ? n - first : size;
        uint32_t above, below;
        if (length == QC_GGML_BLOCK)
            qc_ends(x + first, QC_GGML_BLOCK, &above, &below);
        else
            qc_ends(x + first, length, &above, &below);
        uint32_t magnitude = above > below ? above : below;
        int negative = below > above;
        worst = magnitude > worst ? magnitude : worst;
        if (worst >= QC_INFINITY) return 0;
        if (signs && above == below && magnitude) negative = qc_first_is_negative(x + first, magnitude);
        extremes[block] = qc_float(magnitude | (signs && negative ? ~QC_MAGNITUDE : 0u));
    }
    return 1;
}

/* Scales, and what elements are multiplied by: 0 where that is nothing to round. `lost` says where the reciprocal of a
 * scale is infinite. */
static inline void qc_ggml_factors(float *QC_RESTRICT scales, int64_t count, float divisor, float *QC_RESTRICT factors,
                                   uint8_t *QC_RESTRICT lost) {
    for (int64_t i = 0; i < count; i++) {
        float scale = scales[i] / divisor, factor = 1.0f / (scale == 0.0f ? 1.0f : scale);
        int infinite = (qc_bits(factor) & QC_MAGNITUDE) == QC_INFINITY;
        scales[i] = scale;
        factors[i] = scale == 0.0f || infinite ? 0.0f : factor;
        lost[i] = (uint8_t)infinite;
    }
}

QC_INLINE void qc_q8_0_block(const float *x, int64_t n, float factor, uint8_t *codes) {
    for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)qc_nearest(x[i] * factor, 0);
}

QC_INLINE void qc_q4_0_block(const float *x, int64_t n, float factor, int32_t at_most, uint8_t *codes) {
    for (int64_t i = 0; i < n; i++) {
        int32_t code = (int32_t)(x[i] * factor + 8.5f);
        codes[i] = (uint8_t)((code < at_most ? code : at_most) - 8);
    }
}

/* n elements in blocks of `size`, the last of which may be short: their codes, and their scales as float16. Lines shorter
 * than 32 are what makes for other sizes. False when an element is not finite. */
static inline int qc_ggml(int bits, const float *QC_RESTRICT x, int64_t n, int64_t size, qc_ahead ahead,
                          uint8_t *QC_RESTRICT codes, char *QC_RESTRICT stored) {
    float scales[QC_ROOM], factors[QC_ROOM];
    uint8_t lost[QC_ROOM];
    uint16_t halves[QC_ROOM];
    int64_t count = (n + size - 1) / size;
    if (!qc_ggml_extremes(x, n, size, bits == 4, scales)) return 0;
    qc_ggml_factors(scales, count, bits == 4 ? -8.0f : 127.0f, factors, lost);
    for (int64_t b = 0; b < count; b++) {
        const float *from = x + b * size;
        uint8_t *to = codes + b * size;
        int64_t length = n - b * size < size ? n - b * size : size;
        qc_fetch(ahead, b * size, length);
        if (bits == 8 && length == QC_GGML_BLOCK)
            qc_q8_0_block(from, QC_GGML_BLOCK, factors[b], to);
        else if (bits == 8)
            qc_q8_0_block(from, length, factors[b], to);
        else if (length == QC_GGML_BLOCK)
            qc_q4_0_block(from, QC_GGML_BLOCK, factors[b], lost[b] ? 0 : 15, to);
        else
            qc_q4_0_block(from, length, factors[b], lost[b] ? 0 : 15, to);
    }
    for (int64_t b = 0; b < count; b++) halves[b] = qc_to_half(scales[b]);
    memcpy(stored, halves, (size_t)count * 2);
    return 1;
}

#endif
