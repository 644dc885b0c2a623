/* float16 by the processor's own conversion, where it has one (x86-64-v3 and up): exact, also for subnormals, and many
 * times as fast as the integer code. QC_PLAIN leaves it out. */
#ifndef QC_HALVES_H
#define QC_HALVES_H

#include "qc_floats.h"

#if defined(__AVX2__) && defined(__F16C__) && !defined(QC_PLAIN)
#include <immintrin.h>
#define QC_VECTOR_HALVES 1
#endif

/* n float16 numbers, side by side, as float32. */
static inline void qc_read_halves(const char *QC_RESTRICT from, int64_t n, float *QC_RESTRICT to) {
    int64_t i = 0;
#if defined(QC_VECTOR_HALVES)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 2 * i))));
#endif
    for (; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, 2);
        to[i] = qc_from_half(half);
    }
}

/* And back, each rounded once to nearest even. */
static inline void qc_write_halves(char *QC_RESTRICT to, int64_t n, const float *QC_RESTRICT from) {
    int64_t i = 0;
#if defined(QC_VECTOR_HALVES)
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++) {
        uint16_t half = qc_to_half(from[i]);
        memcpy(to + 2 * i, &half, 2);
    }
}

#endif
