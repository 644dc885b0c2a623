/* The cache told what comes and what goes. Results that nobody reads soon go past it: the old line is not fetched first,
 * and nothing is evicted for it. QC_PLAIN leaves that instruction out; a copy takes its place. */
#ifndef QC_STREAM_H
#define QC_STREAM_H

#include "qc_floats.h"

/* Elements of a tensor from which its output is streamed: 16 MiB of float32, beyond what most cores keep of a cache.
 * Measured: on a Zen 4 streaming gains from 12 to 24 MiB on, on a Sapphire Rapids from 4 MiB on. What a processor says
 * of its last cache does not help: a virtual machine has a share of it, and is told the whole. */
#define QC_STREAMED (1 << 22)
/* The same for floats, which are four times as many bytes as codes, where the cache next to the core is all that is quick:
 * on a Sapphire Rapids results of 4 MiB come at 6 GB/s, streamed at 12 to 24; on a Zen 4 streaming them costs half. */
#define QC_STREAMED_FLOATS_INTEL (1 << 20)
/* Elements formed before they are streamed: a short strip lets the stores drain while the next one is computed. */
#define QC_BURST 512

/* Where the source goes on, two strips ahead, so that it is in the cache when its turn comes: while a strip is
 * converted, the processor by itself fetches nothing. `size` are the bytes of an element there. */
typedef struct {
    const char *at;
    int64_t size;
} qc_ahead;

QC_INLINE void qc_fetch(qc_ahead ahead, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(ahead.at + (first + i) * ahead.size, 0, 3);
}

#if defined(__SSE2__) && !defined(QC_PLAIN)
#include <immintrin.h>
#if defined(__AVX512F__)
#define QC_STREAM_BYTES 64
#define QC_STREAM_STORE(to, from) _mm512_stream_si512((void *)(to), _mm512_loadu_si512((const void *)(from)))
#elif defined(__AVX__)
#define QC_STREAM_BYTES 32
#define QC_STREAM_STORE(to, from) _mm256_stream_si256((__m256i *)(to), _mm256_loadu_si256((const __m256i *)(from)))
#else
#define QC_STREAM_BYTES 16
#define QC_STREAM_STORE(to, from) _mm_stream_si128((__m128i *)(to), _mm_loadu_si128((const __m128i *)(from)))
#endif
#endif

/* Elements of floats from which they are streamed on this processor. */
static inline int64_t qc_streamed_from(void) {
#if defined(QC_STREAM_BYTES)
    return __builtin_cpu_is("intel") ? QC_STREAMED_FLOATS_INTEL : QC_STREAMED;
#else
    return QC_STREAMED;
#endif
}

/* A copy of a strip. Only whole aligned vectors can be streamed: the ends are stored as usual. */
static inline void qc_stream(char *QC_RESTRICT to, const char *QC_RESTRICT from, int64_t size) {
#if defined(QC_STREAM_BYTES)
    int64_t done = (int64_t)(-(uintptr_t)to & (QC_STREAM_BYTES - 1));
    done = done < size ? done : size;
    memcpy(to, from, (size_t)done);
    for (; done + QC_STREAM_BYTES <= size; done += QC_STREAM_BYTES) QC_STREAM_STORE(to + done, from + done);
    memcpy(to + done, from + done, (size_t)(size - done));
#else
    memcpy(to, from, (size_t)size);
#endif
}

/* Streamed stores are seen by other threads from here on. */
static inline void qc_stream_end(void) {
#if defined(QC_STREAM_BYTES)
    _mm_sfence();
#endif
}

#endif
