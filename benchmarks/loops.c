/* The physical bound: loops that move the bytes of an operation and do next to nothing with them. bound.py compiles this
 * for the machine it runs on. `n` counts floats (of pack and unpack: codes) and is a multiple of 4096 per thread; every
 * loop is called as f(from, to, n, threads). Names with _nt write past the caches. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PIECE 2048

/* Share out n elements; `at` is where a thread's part begins and `m` its length. */
#define IN_PARTS(...)                                                        \
    if (threads == 1) {                                                      \
        const size_t at = 0, m = n;                                          \
        (void)at;                                                            \
        __VA_ARGS__;                                                         \
    } else {                                                                 \
        _Pragma("omp parallel for num_threads(threads) schedule(static, 1)") \
        for (int part = 0; part < threads; part++) {                         \
            const size_t m = n / (size_t)threads, at = m * (size_t)part;     \
            __VA_ARGS__;                                                     \
        }                                                                    \
    }

static void stream(void *to, const void *from, size_t bytes) {
#if defined(__AVX512F__)
    for (size_t i = 0; i < bytes; i += 64)
        _mm512_stream_si512((__m512i *)((char *)to + i), _mm512_loadu_si512((const char *)from + i));
#elif defined(__AVX__)
    for (size_t i = 0; i < bytes; i += 32)
        _mm256_stream_si256((__m256i *)((char *)to + i), _mm256_loadu_si256((const __m256i *)((const char *)from + i)));
#elif defined(__SSE2__)
    for (size_t i = 0; i < bytes; i += 16)
        _mm_stream_si128((__m128i *)((char *)to + i), _mm_loadu_si128((const __m128i *)((const char *)from + i)));
#else
    memcpy(to, from, bytes);
#endif
}

static void streamed(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

volatile uint32_t sink;

static uint32_t largest(const uint32_t *x, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = x[i] & 0x7fffffffu;
        most = a > most ? a : most;
    }
    return most;
}

static void to_bytes(const float *restrict x, int8_t *restrict q, size_t n) {
    for (size_t i = 0; i < n; i++) q[i] = (int8_t)(int)(x[i] * 30.0f);
}

static void half_to_bytes(const uint16_t *restrict x, int8_t *restrict q, size_t n) {
    for (size_t i = 0; i < n; i++) q[i] = (int8_t)(x[i] >> 8);
}

static void to_nibbles(const float *restrict x, uint8_t *restrict q, size_t n) {
    int8_t t[PIECE];
    for (size_t b = 0; b < n; b += PIECE) {
        to_bytes(x + b, t, PIECE);
        for (size_t i = 0; i < PIECE / 2; i++) q[b / 2 + i] = (uint8_t)((t[2 * i] & 15) | (t[2 * i + 1] << 4));
    }
}

static void from_bytes(const int8_t *restrict q, float *restrict y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = 0.03f * (float)q[i];
}

static void split(const uint8_t *restrict q, int8_t *restrict c, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        c[2 * i] = (int8_t)(((q[i] & 15) ^ 8) - 8);
        c[2 * i + 1] = (int8_t)(((q[i] >> 4) ^ 8) - 8);
    }
}

static void join(const uint8_t *restrict c, uint8_t *restrict q, size_t n) {
    for (size_t i = 0; i < n / 2; i++) q[i] = (uint8_t)((c[2 * i] & 15) | (c[2 * i + 1] << 4));
}

static void from_nibbles(const uint8_t *restrict q, float *restrict y, size_t n) {
    int8_t t[PIECE];
    for (size_t b = 0; b < n; b += PIECE) {
        split(q + b / 2, t, PIECE);
        from_bytes(t, y + b, PIECE);
    }
}

/* Largest of floats and of the bytes beside them: what a comparison must read. */
static uint32_t largest_pair(const float *restrict x, const int8_t *restrict q, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        float y = 0.03f * (float)q[i] - x[i];
        uint32_t a;
        memcpy(&a, &y, 4);
        a &= 0x7fffffffu;
        most = a > most ? a : most;
    }
    return most;
}

void copy_nt(const float *x, float *y, size_t n, int threads) {
    IN_PARTS({ stream(y + at, x + at, m * 4); streamed(); })
}
void read(const uint32_t *x, void *y, size_t n, int threads) {
    (void)y;
    IN_PARTS(sink = largest(x + at, m))
}
void read_pair(const float *x, const int8_t *q, size_t n, int threads) {
    IN_PARTS(sink = largest_pair(x + at, q + at, m))
}
void read_write1(const float *x, int8_t *y, size_t n, int threads) { IN_PARTS(to_bytes(x + at, y + at, m)) }
void read_write1_nt(const float *x, int8_t *y, size_t n, int threads) {
    IN_PARTS({
        int8_t t[PIECE];
        for (size_t b = at; b < at + m; b += PIECE) to_bytes(x + b, t, PIECE), stream(y + b, t, PIECE);
        streamed();
    })
}
void read2_write1(const uint16_t *x, int8_t *y, size_t n, int threads) { IN_PARTS(half_to_bytes(x + at, y + at, m)) }
void read_write_half(const float *x, uint8_t *y, size_t n, int threads) { IN_PARTS(to_nibbles(x + at, y + at / 2, m)) }
void read1_write(const int8_t *x, float *y, size_t n, int threads) { IN_PARTS(from_bytes(x + at, y + at, m)) }
void read1_write_nt(const int8_t *x, float *y, size_t n, int threads) {
    IN_PARTS({
        float t[256];
        for (size_t b = at; b < at + m; b += 256) from_bytes(x + b, t, 256), stream(y + b, t, 1024);
        streamed();
    })
}
void read_half_write(const uint8_t *x, float *y, size_t n, int threads) { IN_PARTS(from_nibbles(x + at / 2, y + at, m)) }
void read_half_write_nt(const uint8_t *x, float *y, size_t n, int threads) {
    IN_PARTS({
        float t[PIECE];
        for (size_t b = at; b < at + m; b += PIECE) from_nibbles(x + b / 2, t, PIECE), stream(y + b, t, PIECE * 4);
        streamed();
    })
}
void pack(const uint8_t *x, uint8_t *y, size_t n, int threads) { IN_PARTS(join(x + at, y + at / 2, m)) }
void unpack(const uint8_t *x, int8_t *y, size_t n, int threads) { IN_PARTS(split(x + at / 2, y + at, m)) }
