/* The largest magnitude of each block, from the bits alone: NaN and infinity win, so that one look at the maxima finds them. */
#ifndef QC_MAXIMA_H
#define QC_MAXIMA_H

#include "qc_floats.h"
#include "qc_numbers.h"
#include "qc_scaling.h"

/* The largest |x| as bits, `most` at least. NaN and infinity win, or are passed over when only finite ones count. */
QC_INLINE uint32_t qc_maximum(const float *QC_RESTRICT x, int64_t n, int finite, uint32_t most) {
    if (finite) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t a = qc_bits(x[i]) & QC_MAGNITUDE;
            a &= 0u - (uint32_t)(a < QC_INFINITY);
            most = a > most ? a : most;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint32_t a = qc_bits(x[i]) & QC_MAGNITUDE;
            most = a > most ? a : most;
        }
    }
    return most;
}

/* Raise each block's maximum. The strip begins `phase` elements into its first block. */
static inline void qc_maxima(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase, int finite,
                             uint32_t *QC_RESTRICT maxima) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n; maxima++) {
        int64_t count = n - first < room ? n - first : room;
#define QC_CALL(length) *maxima = qc_maximum(x + first, length, finite, *maxima)
        QC_BY_LENGTH(count, QC_CALL)
#undef QC_CALL
        first += count;
        room = block;
    }
}

#endif
