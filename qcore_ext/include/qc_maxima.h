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

#if defined(__AVX2__) && !defined(QC_PLAIN)
#include <immintrin.h>
#define QC_VECTOR_MAXIMA 1

/* The larger of each of eight numbers and its neighbour eight further on. */
QC_INLINE __m256i qc_larger_half(const __m256i *from) {
    const __m256i magnitude = _mm256_set1_epi32(QC_MAGNITUDE);
    return _mm256_max_epu32(_mm256_and_si256(_mm256_loadu_si256(from), magnitude),
                            _mm256_and_si256(_mm256_loadu_si256(from + 1), magnitude));
}

/* Two lots of eight folded into one: a and b alternate. */
QC_INLINE __m256i qc_fold(__m256i a, __m256i b) {
    return _mm256_max_epu32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}
#endif

/* Maxima of short blocks all of one length, known when it is compiled, side by side in vectors. */
QC_INLINE void qc_maxima_of_short(const float *QC_RESTRICT x, int64_t blocks, int64_t length,
                                  uint32_t *QC_RESTRICT maxima) {
    for (int64_t b = 0; b < blocks; b++) {
        uint32_t most = maxima[b];
        for (int64_t i = 0; i < length; i++) {
            uint32_t a = qc_bits(x[b * length + i]) & QC_MAGNITUDE;
            most = a > most ? a : most;
        }
        maxima[b] = most;
    }
}

/* Maxima of blocks of sixteen, four blocks at a time: what is left of each is put together crosswise. */
static inline void qc_maxima_of_sixteens(const float *QC_RESTRICT x, int64_t blocks, uint32_t *QC_RESTRICT maxima) {
    int64_t b = 0;
#if defined(QC_VECTOR_MAXIMA)
    for (; b + 4 <= blocks; b += 4) {
        const __m256i *from = (const __m256i *)(x + 16 * b);
        __m256i low = qc_fold(qc_larger_half(from), qc_larger_half(from + 2));
        __m256i high = qc_fold(qc_larger_half(from + 4), qc_larger_half(from + 6));
        __m256i both = _mm256_max_epu32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
        __m128i four = _mm_max_epu32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        __m128i *to = (__m128i *)(maxima + b);
        _mm_storeu_si128(to, _mm_max_epu32(four, _mm_loadu_si128(to)));
    }
#endif
    qc_maxima_of_short(x + 16 * b, blocks - b, 16, maxima + b);
}

/* Raise each block's maximum. The strip begins `phase` elements into its first block. */
static inline void qc_maxima(const float *QC_RESTRICT x, int64_t n, int64_t block, int64_t phase, int finite,
                             uint32_t *QC_RESTRICT maxima) {
    int64_t room = block - phase, first = 0;
    if (block <= 16 && phase == 0 && !finite) {
        int64_t whole = n / block;
        switch (block) {
            case 2: qc_maxima_of_short(x, whole, 2, maxima); break;
            case 4: qc_maxima_of_short(x, whole, 4, maxima); break;
            case 8: qc_maxima_of_short(x, whole, 8, maxima); break;
            case 16: qc_maxima_of_sixteens(x, whole, maxima); break;
            default: whole = 0;
        }
        first = whole * block;
        maxima += whole;
    }
    for (; first < n; maxima++) {
        int64_t count = n - first < room ? n - first : room;
#define QC_CALL(length) *maxima = qc_maximum(x + first, length, finite, *maxima)
        QC_BY_LENGTH(count, QC_CALL)
#undef QC_CALL
        first += count;
        room = block;
    }
}

#endif
