/* Fields of one byte to floats, times the scale of their block, in one go: the step that a dequantizer's speed hangs on.
 * QC_PLAIN leaves the vectors out; the plain loops give the same bits. */
#ifndef QC_BYTES_H
#define QC_BYTES_H

#include "qc_halves.h"
#include "qc_numbers.h"

/* A field with its sign, `sign` being the bit that carries it; bits above that one do not count. */
QC_INLINE int32_t qc_signed(uint8_t field, int32_t sign) {
    return sign == 128 ? (int8_t)field : ((field & (2 * sign - 1)) ^ sign) - sign;
}

#if defined(__AVX2__) && !defined(QC_PLAIN)
#include <immintrin.h>

/* Eight products. Left alone, compilers widen in steps through sixteen bits, which takes twice as long. */
QC_INLINE void qc_eight_integers(const uint8_t *fields, int32_t sign, float scale, float *y) {
    const int up = sign == 128 ? 24 : sign == 8 ? 28 : 30;
    __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)fields));
    if (sign != 128) wide = _mm256_srai_epi32(_mm256_slli_epi32(wide, up), up);
    _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(wide)));
}
#else
QC_INLINE void qc_eight_integers(const uint8_t *fields, int32_t sign, float scale, float *y) {
    for (int32_t i = 0; i < 8; i++) y[i] = scale * (float)qc_signed(fields[i], sign);
}
#endif

/* y = effective * value of integers, block by block; `sign` is known when it is compiled. */
QC_INLINE void qc_scaled_integers(const uint8_t *QC_RESTRICT fields, int64_t n, int64_t block, int64_t phase,
                                  int32_t sign, const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
    int64_t room = block - phase;
    for (int64_t first = 0; first < n; room = block) {
        int64_t stop = n - first < room ? n : first + room;
        const float scale = *effective++;
        for (; first + 32 <= stop; first += 32)
            for (int32_t i = 0; i < 32; i += 8) qc_eight_integers(fields + first + i, sign, scale, y + first + i);
        for (; first + 8 <= stop; first += 8) qc_eight_integers(fields + first, sign, scale, y + first);
        for (; first < stop; first++) y[first] = scale * (float)qc_signed(fields[first], sign);
    }
}

#if defined(QC_VECTOR_HALVES)
/* Sixteen codes as the float16 numbers of the same bits: sign to the top, exponent and mantissa to where they belong. */
QC_INLINE __m256i qc_halves_of_codes(__m128i codes, __m128i up) {
    __m256i wide = _mm256_cvtepu8_epi16(codes);
    __m256i magnitude = _mm256_sll_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x7f)), up);
    __m256i sign = _mm256_slli_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(0x80)), 8);
    return _mm256_or_si256(magnitude, sign);
}

QC_INLINE void qc_store_halves(__m256i halves, __m256 lift, __m256 scale, float *to) {
    __m256 low = _mm256_cvtph_ps(_mm256_castsi256_si128(halves));
    __m256 high = _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1));
    _mm256_storeu_ps(to, _mm256_mul_ps(scale, _mm256_mul_ps(low, lift)));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(scale, _mm256_mul_ps(high, lift)));
}

QC_INLINE int32_t qc_largest_byte(__m128i bytes) {
    bytes = _mm_max_epu8(bytes, _mm_srli_si128(bytes, 8));
    bytes = _mm_max_epu8(bytes, _mm_srli_si128(bytes, 4));
    bytes = _mm_max_epu8(bytes, _mm_srli_si128(bytes, 2));
    bytes = _mm_max_epu8(bytes, _mm_srli_si128(bytes, 1));
    return _mm_cvtsi128_si32(bytes) & 255;
}
#endif

/* y = effective * value of eight-bit minifloats, block by block. The exponents of float16 lie elsewhere: a power of two,
 * 2^(emin+14), makes up for it. Returns the largest magnitude met, as a code: beyond that of the largest number the
 * results are void. 256 where the processor has no such conversion. */
static inline int32_t qc_scaled_bytes(const qc_codec *k, const uint8_t *QC_RESTRICT fields, int64_t n, int64_t block,
                                      int64_t phase, const float *QC_RESTRICT effective, float *QC_RESTRICT y) {
#if defined(QC_VECTOR_HALVES)
    const __m128i up = _mm_cvtsi32_si128(10 - k->mbits), magnitudes = _mm_set1_epi8(0x7f);
    const __m256 lift = _mm256_set1_ps(qc_float((uint32_t)(k->emin + 14 + 127) << 23));
    __m128i largest = _mm_setzero_si128();
    uint8_t last = 0;
    int64_t room = block - phase;
    for (int64_t first = 0; first < n; room = block) {
        int64_t stop = n - first < room ? n : first + room;
        const __m256 scale = _mm256_set1_ps(*effective);
        for (; first + 16 <= stop; first += 16) {
            __m128i codes = _mm_loadu_si128((const __m128i *)(fields + first));
            largest = _mm_max_epu8(largest, _mm_and_si128(codes, magnitudes));
            qc_store_halves(qc_halves_of_codes(codes, up), lift, scale, y + first);
        }
        for (; first < stop; first++) {
            y[first] = *effective * k->table[fields[first]];
            last = (fields[first] & 0x7f) > last ? fields[first] & 0x7f : last;
        }
        effective++;
    }
    int32_t most = qc_largest_byte(largest);
    return most > last ? most : last;
#else
    (void)k, (void)fields, (void)n, (void)block, (void)phase, (void)effective, (void)y;
    return 256;
#endif
}

#endif
