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

/* Add `step` where t lies above the bound of the current count. */
static inline __m256i qc_search_step(__m256 t, qc_table16 bounds, __m256i count, int32_t step) {
    __m256 bound = qc_look_up(bounds, _mm256_add_epi32(count, _mm256_set1_epi32(step - 1)));
    __m256i above = _mm256_castps_si256(_mm256_cmp_ps(t, bound, _CMP_GT_OQ));
    return _mm256_add_epi32(count, _mm256_and_si256(above, _mm256_set1_epi32(step)));
}

static inline void qc_store_bytes(uint8_t *to, __m256i numbers) {
    __m256i gathered = _mm256_shuffle_epi8(numbers, _mm256_set1_epi32(0x0c080400));
    uint32_t low = (uint32_t)_mm256_extract_epi32(gathered, 0), high = (uint32_t)_mm256_extract_epi32(gathered, 4);
    memcpy(to, &low, 4);
    memcpy(to + 4, &high, 4);
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

/* Indices of the nearest of sixteen entries: how many of fifteen bounds t exceeds, then the index at that place. NaN
 * exceeds none and is given `zero`. Returns how many were done. */
static inline int64_t qc_search_table(const qc_codec *k, const float *QC_RESTRICT t, int64_t n,
                                      uint8_t *QC_RESTRICT codes) {
    int64_t i = 0;
#if defined(QC_VECTOR_TABLES)
    const qc_table16 bounds = qc_load_table(k->bounds), order = qc_load_table(k->order);
    const __m256 zero = _mm256_castsi256_ps(_mm256_set1_epi32(k->zero_code));
    const __m256 middle = _mm256_set1_ps(k->bounds[7]);
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(t + i), index;
        __m256i above = _mm256_castps_si256(_mm256_cmp_ps(x, middle, _CMP_GT_OQ));
        __m256i count = _mm256_and_si256(above, _mm256_set1_epi32(8));
        count = qc_search_step(x, bounds, count, 4);
        count = qc_search_step(x, bounds, count, 2);
        count = qc_search_step(x, bounds, count, 1);
        index = _mm256_blendv_ps(qc_look_up(order, count), zero, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        qc_store_bytes(codes + i, _mm256_castps_si256(index));
    }
#else
    (void)k, (void)t, (void)n, (void)codes;
#endif
    return i;
}

#endif
