/* The nearest of sixteen entries, for a vector of elements at a time: how many of fifteen bounds x / scale exceeds, in
 * four steps, then the index at that place. The division goes on beside the search. QC_PLAIN leaves the vectors out, and
 * the plain loops of qc_codes.h give the same bits. */
#ifndef QC_SEARCH_H
#define QC_SEARCH_H

#include "qc_stream.h"
#include "qc_tables.h"

#if defined(__AVX512F__) && !defined(QC_PLAIN)
#define QC_SEARCHED 16

/* Bounds that lie `step` further on than a count, and the index at every place. */
typedef struct {
    __m512 by7, by3, by1, by0;
    __m512i order, zero;
} qc_searched;

static inline __m512 qc_bounds_from(const qc_codec *k, int32_t step) {
    float bounds[16];
    for (int32_t i = 0; i < 16; i++) bounds[i] = k->bounds[i + step < 15 ? i + step : 14];
    return _mm512_loadu_ps(bounds);
}

static inline qc_searched qc_load_search(const qc_codec *k) {
    qc_searched s;
    s.by7 = _mm512_set1_ps(k->bounds[7]);
    s.by3 = qc_bounds_from(k, 3);
    s.by1 = qc_bounds_from(k, 1);
    s.by0 = qc_bounds_from(k, 0);
    s.order = _mm512_castps_si512(_mm512_loadu_ps(k->order));
    s.zero = _mm512_set1_epi32(k->zero_code);
    return s;
}

/* Add `step` to the count where t lies above the bound so much further on. */
QC_INLINE __m512i qc_search_step(__m512 t, __m512 bounds, __m512i count, int32_t step) {
    __mmask16 above = _mm512_cmp_ps_mask(t, _mm512_permutexvar_ps(count, bounds), _CMP_GT_OQ);
    return _mm512_mask_add_epi32(count, above, count, _mm512_set1_epi32(step));
}

QC_INLINE void qc_search_vector(const qc_searched *s, const float *x, float divisor, int32_t keep, uint8_t *codes) {
    __m512 t = _mm512_maskz_div_ps((__mmask16)keep, _mm512_loadu_ps(x), _mm512_set1_ps(divisor));
    __m512i count = _mm512_maskz_set1_epi32(_mm512_cmp_ps_mask(t, s->by7, _CMP_GT_OQ), 8);
    count = qc_search_step(t, s->by3, count, 4);
    count = qc_search_step(t, s->by1, count, 2);
    count = qc_search_step(t, s->by0, count, 1);
    count = _mm512_permutexvar_epi32(count, s->order);
    count = _mm512_mask_mov_epi32(count, _mm512_cmp_ps_mask(t, t, _CMP_UNORD_Q), s->zero);
    _mm_storeu_si128((__m128i *)codes, _mm512_cvtepi32_epi8(count));
}
#elif defined(__AVX2__) && !defined(QC_PLAIN)
#define QC_SEARCHED 8

typedef struct {
    qc_table16 bounds, order;
    __m256 middle, zero;
} qc_searched;

static inline qc_searched qc_load_search(const qc_codec *k) {
    qc_searched s;
    s.bounds = qc_load_table(k->bounds);
    s.order = qc_load_table(k->order);
    s.middle = _mm256_set1_ps(k->bounds[7]);
    s.zero = _mm256_castsi256_ps(_mm256_set1_epi32(k->zero_code));
    return s;
}

/* Add `step` to the count where t lies above the bound so much further on. */
QC_INLINE __m256i qc_search_step(__m256 t, qc_table16 bounds, __m256i count, int32_t step) {
    __m256 bound = qc_look_up(bounds, _mm256_add_epi32(count, _mm256_set1_epi32(step - 1)));
    __m256i above = _mm256_castps_si256(_mm256_cmp_ps(t, bound, _CMP_GT_OQ));
    return _mm256_add_epi32(count, _mm256_and_si256(above, _mm256_set1_epi32(step)));
}

QC_INLINE void qc_store_bytes(uint8_t *to, __m256i numbers) {
    __m256i gathered = _mm256_shuffle_epi8(numbers, _mm256_set1_epi32(0x0c080400));
    uint32_t low = (uint32_t)_mm256_extract_epi32(gathered, 0), high = (uint32_t)_mm256_extract_epi32(gathered, 4);
    memcpy(to, &low, 4);
    memcpy(to + 4, &high, 4);
}

QC_INLINE void qc_search_vector(const qc_searched *s, const float *x, float divisor, int32_t keep, uint8_t *codes) {
    __m256 t = _mm256_div_ps(_mm256_loadu_ps(x), _mm256_set1_ps(divisor)), index;
    t = _mm256_and_ps(t, _mm256_castsi256_ps(_mm256_set1_epi32(keep)));
    __m256i above = _mm256_castps_si256(_mm256_cmp_ps(t, s->middle, _CMP_GT_OQ));
    __m256i count = _mm256_and_si256(above, _mm256_set1_epi32(8));
    count = qc_search_step(t, s->bounds, count, 4);
    count = qc_search_step(t, s->bounds, count, 2);
    count = qc_search_step(t, s->bounds, count, 1);
    index = _mm256_blendv_ps(qc_look_up(s->order, count), s->zero, _mm256_cmp_ps(t, t, _CMP_UNORD_Q));
    qc_store_bytes(codes, _mm256_castps_si256(index));
}
#endif

/* Indices for n elements under their blocks' effective scales, 0 over a scale of 0 being 0. Returns how many were done:
 * nothing where a block does not begin and end with a vector, whole vectors else. */
static inline int64_t qc_search_blocks(const qc_codec *k, const float *QC_RESTRICT x, int64_t n, int64_t block,
                                       int64_t phase, const float *QC_RESTRICT effective, qc_ahead ahead,
                                       uint8_t *QC_RESTRICT codes) {
    int64_t first = 0;
#if defined(QC_SEARCHED)
    const qc_searched s = qc_load_search(k);
    int64_t room = block - phase;
    if (room < n && (block % QC_SEARCHED || phase % QC_SEARCHED)) return 0;
    for (; first + QC_SEARCHED <= n; room = block) {
        int64_t stop = n - first < room ? n : first + room;
        const float scale = *effective++, divisor = scale == 0.0f ? 1.0f : scale;
        const int32_t keep = scale == 0.0f ? 0 : -1;
        for (; first + QC_SEARCHED <= stop; first += QC_SEARCHED) {
            qc_fetch(ahead, first, QC_SEARCHED);
            qc_search_vector(&s, x + first, divisor, keep, codes + first);
        }
    }
#else
    (void)k, (void)x, (void)n, (void)block, (void)phase, (void)effective, (void)ahead, (void)codes;
#endif
    return first;
}

#endif
