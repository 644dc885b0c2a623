/* Tables of sixteen entries, looked up and searched a vector at a time. The only tricks that need intrinsics; QC_PLAIN
 * leaves them out, and the plain loops behind give the same bits. */
#ifndef QC_TABLES_H
#define QC_TABLES_H

#include "qc_floats.h"
#include "qc_numbers.h"

#if defined(__AVX2__) && !defined(QC_PLAIN)
#include <immintrin.h>
#define QC_VECTOR_TABLES 1

typedef struct {
    __m256 low, high;
} qc_table16;

static inline qc_table16 qc_load_table(const float *table) {
    qc_table16 loaded = {_mm256_loadu_ps(table), _mm256_loadu_ps(table + 8)};
    return loaded;
}

/* Eight entries; only the low four bits of an index count. */
static inline __m256 qc_look_up(qc_table16 table, __m256i index) {
#if defined(__AVX512VL__)
    return _mm256_permutex2var_ps(table.low, index, table.high);
#else
    __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table.low, index), _mm256_permutevar8x32_ps(table.high, index),
                            upper);
#endif
}

static inline __m256i qc_widen(const uint8_t *fields) {
    __m128i bytes;
    memcpy(&bytes, fields, 8);
    return _mm256_cvtepu8_epi32(bytes);
}
#endif

/* values[i] = table[field & mask], for fields of at most four bits (a byte that holds one may hold more: it is masked).
 * Returns how many were done; the caller does the rest. */
static inline int64_t qc_values_of_table(const float *QC_RESTRICT table, const uint8_t *QC_RESTRICT fields, int64_t n,
                                         int32_t mask, float *QC_RESTRICT values) {
    int64_t i = 0;
#if defined(QC_VECTOR_TABLES)
    const qc_table16 loaded = qc_load_table(table);
    const __m256i masks = _mm256_set1_epi32(mask);
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(values + i, qc_look_up(loaded, _mm256_and_si256(qc_widen(fields + i), masks)));
#else
    (void)table, (void)fields, (void)n, (void)mask, (void)values;
#endif
    return i;
}

#if defined(QC_VECTOR_TABLES)
/* `count` fields, whole eights, of one block; `bits` is known when it is compiled: eight fields are one load. */
QC_INLINE void qc_words_of_block(qc_table16 table, const uint8_t *QC_RESTRICT words, int64_t count, int bits,
                                 float *QC_RESTRICT y) {
    const __m256i shifts = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(bits));
    for (int64_t i = 0; i < count; i += 8, words += bits) {
        uint32_t four;
        uint16_t two;
        if (bits == 4) {
            memcpy(&four, words, 4);
        } else {
            memcpy(&two, words, 2);
            four = two;
        }
        _mm256_storeu_ps(y + i, qc_look_up(table, _mm256_srlv_epi32(_mm256_set1_epi32((int)four), shifts)));
    }
}

QC_INLINE void qc_words_of_blocks(const float *QC_RESTRICT table, const uint8_t *QC_RESTRICT words, int64_t n, int bits,
                                  int64_t block, int64_t phase, const float *QC_RESTRICT effective,
                                  float *QC_RESTRICT y) {
    const qc_table16 entries = qc_load_table(table);
    int64_t room = block - phase;
    for (int64_t first = 0; first < n; room = block) {
        int64_t count = n - first < room ? n - first : room;
        const __m256 scale = _mm256_set1_ps(*effective++);
        const qc_table16 scaled = {_mm256_mul_ps(scale, entries.low), _mm256_mul_ps(scale, entries.high)};
        if (count == 16)
            qc_words_of_block(scaled, words, 16, bits, y + first);
        else if (count == 32)
            qc_words_of_block(scaled, words, 32, bits, y + first);
        else
            qc_words_of_block(scaled, words, count, bits, y + first);
        words += count / 8 * bits;
        first += count;
    }
}
#endif

/* y = effective * entry for fields of four or two bits that lie side by side as in Burn's words, from a whole byte on;
 * blocks begin at multiples of eight fields. The table is multiplied once per block: the products are the same, and
 * what is left per eight fields is a shift of each lane and one look-up. For two bits the table repeats itself, so that
 * the neighbour's bits do not matter. Returns how many were done: whole eights, or none. */
static inline int64_t qc_scaled_words(const float *QC_RESTRICT table, const uint8_t *QC_RESTRICT words, int64_t n,
                                      int64_t bits, int64_t block, int64_t phase, const float *QC_RESTRICT effective,
                                      float *QC_RESTRICT y) {
#if defined(QC_VECTOR_TABLES)
    if (bits == 4)
        qc_words_of_blocks(table, words, n & -8, 4, block, phase, effective, y);
    else
        qc_words_of_blocks(table, words, n & -8, 2, block, phase, effective, y);
    return n & -8;
#else
    (void)table, (void)words, (void)n, (void)bits, (void)block, (void)phase, (void)effective, (void)y;
    return 0;
#endif
}

#endif
