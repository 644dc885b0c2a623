/* Strips divided by the scales of their blocks, and multiplied by them. */
#ifndef QC_SCALING_H
#define QC_SCALING_H

#include "qc_floats.h"
#include "qc_numbers.h"

/* A block of usual length is a loop of known length, which the compiler unrolls into whole vectors. */
#define QC_BY_LENGTH(count, call)                                                                                   \
    switch (count) {                                                                                                 \
        case 8: call(8); break;                                                                                      \
        case 16: call(16); break;                                                                                    \
        case 32: call(32); break;                                                                                    \
        case 64: call(64); break;                                                                                    \
        default: call(count); break;                                                                                 \
    }

/* Blocks shorter than this are spread to one scale per element first; longer ones are loops of their own. */
#define QC_SHORT 32
/* Each block's scale at every element of the strip; `spread` has a block of room behind the last. Whole
 * vectors are stored, the next block overwrites what was too much. */
static inline void qc_spread(const float *QC_RESTRICT effective, int64_t n, int64_t block, int64_t phase,
                             float *QC_RESTRICT spread) {
    int64_t room = block - phase;
    if (phase == 0 && (block == 2 || block == 4)) {
        int64_t blocks = (n + block - 1) / block;
        if (block == 2) {
            for (int64_t b = 0; b < blocks; b++) spread[2 * b] = spread[2 * b + 1] = effective[b];
        } else {
            for (int64_t b = 0; b < blocks; b++)
                for (int64_t j = 0; j < 4; j++) spread[4 * b + j] = effective[b];
        }
        return;
    }
    for (int64_t first = 0; first < n;) {
        float scale = *effective++;
        if (room == 16) {
            for (int64_t j = 0; j < 16; j++) spread[first + j] = scale;
        } else if (room == 32) {
            for (int64_t j = 0; j < 32; j++) spread[first + j] = scale;
        } else {
            for (int64_t i = 0; i < room; i += 8)
                for (int64_t j = 0; j < 8; j++) spread[first + i + j] = scale;
        }
        first += room;
        room = block;
    }
}

/* Each block's divisor at every element: its scale, or 1 where that is 0. Returns how many are 0. */
static inline int64_t qc_spread_divisors(const float *QC_RESTRICT effective, int64_t n, int64_t block, int64_t phase,
                                         float *QC_RESTRICT spread) {
    float divisors[QC_ROOM + 1];
    int64_t blocks = (phase + n - 1) / block + 1, zeros = 0;
    for (int64_t i = 0; i < blocks; i++) {
        zeros += effective[i] == 0.0f;
        divisors[i] = effective[i] == 0.0f ? 1.0f : effective[i];
    }
    qc_spread(divisors, n, block, phase, spread);
    return zeros;
}

/* Zero bytes, `size` per element, for every block whose effective scale is 0. */
static inline void qc_clear_zero_blocks(int64_t n, int64_t block, int64_t phase, const float *effective, int64_t size,
                                        void *elements) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        if (*effective++ == 0.0f) memset((char *)elements + first * size, 0, (size_t)(count * size));
        first += count;
        room = block;
    }
}

/* t = x / effective; where the effective scale is 0, t is 0. The strip begins `phase` elements into its first block. */
static inline void qc_divide(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase,
                             const float *QC_RESTRICT effective, float *QC_RESTRICT t) {
    int64_t room = block - phase;
    if (block < QC_SHORT) {
        float spread[QC_ROOM + QC_SHORT];
        int64_t zeros = qc_spread_divisors(effective, n, block, phase, spread);
        for (int64_t i = 0; i < n; i++) t[i] = x[i] / spread[i];
        if (zeros) qc_clear_zero_blocks(n, block, phase, effective, 4, t);
        return;
    }
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        if (scale == 0.0f) {
            for (int64_t i = 0; i < count; i++) t[first + i] = 0.0f;
        } else {
            for (int64_t i = 0; i < count; i++) t[first + i] = x[first + i] / scale;
        }
        first += count;
        room = block;
    }
}

/* y = effective * value, block by block. */
static inline void qc_multiply(const float *QC_RESTRICT values, int64_t n, int64_t block, int64_t phase,
                               const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    int64_t room = block - phase;
    if (block < QC_SHORT) {
        float spread[QC_ROOM + QC_SHORT];
        qc_spread(effective, n, block, phase, spread);
        for (int64_t i = 0; i < n; i++) y[i] = spread[i] * values[i];
        return;
    }
    for (int64_t first = 0; first < n;) {
        int64_t count = n - first < room ? n - first : room;
        float scale = *effective++;
        for (int64_t i = 0; i < count; i++) y[first + i] = scale * values[first + i];
        first += count;
        room = block;
    }
}

#endif
