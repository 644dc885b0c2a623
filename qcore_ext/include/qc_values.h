/* Fields back to floats. */
#ifndef QC_VALUES_H
#define QC_VALUES_H

#include "qc_bytes.h"
#include "qc_packing.h"
#include "qc_scaling.h"
#include "qc_tables.h"

/* The value of each code of a minifloat: its bits moved to where float32 has them. A subnormal is lent an implicit one
 * that a subtraction takes away. Returns the largest magnitude met: beyond that of `top` the numbers are not finite. */
static inline uint32_t qc_minifloat_values(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n,
                                           float *QC_RESTRICT values) {
    uint32_t magnitude = (1u << (k->bits - 1)) - 1u, up = 23u - (uint32_t)k->mbits, most = 0;
    uint32_t least = (uint32_t)(k->emin + 127) << 23, one = 1u << 23, to_sign = 32u - (uint32_t)k->bits;
    for (int64_t i = 0; i < n; i++) {
        uint32_t a = (fields[i] & magnitude) << up, sign = (uint32_t)fields[i] << to_sign & ~QC_MAGNITUDE;
        uint32_t small = qc_bits(qc_float(a + least) - qc_float(least));
        values[i] = qc_float((a < one ? small : a + least - one) | sign);
        most = a > most ? a : most;
    }
    return most >> up;
}

/* The code of the largest number of a minifloat format. */
static inline int32_t qc_largest_code(const qc_codec *k) {
    return (int32_t)qc_minifloat(k->top, k->mbits, k->emin, qc_bits(k->top), k->bits);
}

/* The value of each field, as float32. */
static inline void qc_values(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n,
                             float *QC_RESTRICT values) {
    int64_t i = 0;
    int32_t mask = (1 << k->bits) - 1;
    if (k->kind == QC_INTEGER) {
        int32_t sign = 1 << (k->bits - 1);
        for (; i < n; i++) values[i] = (float)qc_signed(fields[i], sign);
        return;
    }
    if (k->bits <= 4) {
        i = qc_values_of_table(k->table, fields, n, mask, values);
    } else if (k->kind == QC_MINIFLOAT) {
        if ((int32_t)qc_minifloat_values(k, fields, n, values) <= qc_largest_code(k)) return;
    }
    for (; i < n; i++) values[i] = k->table[fields[i] & mask];
}

/* Fields, one per byte, back to floats under their blocks' effective scales. */
static inline void qc_dequantize(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n, int64_t block,
                                 int64_t phase, const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    float values[QC_ROOM];
    if (k->kind == QC_INTEGER && block >= 8) {
        if (k->bits == 8)
            qc_scaled_integers(fields, n, block, phase, 128, effective, y);
        else if (k->bits == 4)
            qc_scaled_integers(fields, n, block, phase, 8, effective, y);
        else
            qc_scaled_integers(fields, n, block, phase, 2, effective, y);
        return;
    }
    if (k->kind == QC_MINIFLOAT && k->bits == 8 &&
        qc_scaled_bytes(k, fields, n, block, phase, effective, y) <= qc_largest_code(k))
        return;
    qc_values(k, fields, n, values);
    qc_multiply(values, n, block, phase, effective, y);
}

/* The same for n fields of a bit stream, from field `at` on. */
static inline void qc_dequantize_packed(const qc_codec *k, const uint8_t *QC_RESTRICT words, int64_t at, int64_t n,
                                        int64_t bits, int64_t block, int64_t phase, const float *QC_RESTRICT effective,
                                        float *QC_RESTRICT y) {
    uint8_t fields[QC_ROOM];
    int64_t done = 0;
    if (bits == 8) {
        qc_dequantize(k, words + at, n, block, phase, effective, y);
        return;
    }
    if (at % 8 == 0 && (block % 8 == 0 || block - phase >= n)) {
        float table[16];
        for (int32_t i = 0; i < 16; i++) table[i] = k->table[i & ((1 << bits) - 1)];
        done = qc_scaled_words(table, words + at * bits / 8, n, bits, block, phase, effective, y);
        if (done == n) return;
    }
    qc_unpack(words, at + done, n - done, bits, fields);
    effective += (phase + done) / block;
    qc_dequantize(k, fields, n - done, block, (phase + done) % block, effective, y + done);
}

#endif
