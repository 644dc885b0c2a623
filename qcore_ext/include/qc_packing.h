/* Fields, one per byte, into words and back. */
#ifndef QC_PACKING_H
#define QC_PACKING_H

#include "qc_floats.h"
#include "qc_stream.h"

/* n fields as a dense little-endian bit stream; the last byte is filled with zero bits. Returns the bytes written. */
static inline int64_t qc_pack(const uint8_t *QC_RESTRICT codes, int64_t n, int64_t bits, uint8_t *QC_RESTRICT to) {
    if (bits == 8) {
        memcpy(to, codes, (size_t)n);
        return n;
    }
    int64_t whole = n * bits / 8, left = n - whole * 8 / bits;
    if (bits == 4) {
        for (int64_t i = 0; i < whole; i++) to[i] = (uint8_t)((codes[2 * i] & 15) | codes[2 * i + 1] << 4);
    } else {
        for (int64_t i = 0; i < whole; i++)
            to[i] = (uint8_t)((codes[4 * i] & 3) | (codes[4 * i + 1] & 3) << 2 | (codes[4 * i + 2] & 3) << 4 |
                              codes[4 * i + 3] << 6);
    }
    if (left) {
        uint32_t last = 0, mask = (1u << bits) - 1u;
        for (int64_t i = 0; i < left; i++) last |= (codes[n - left + i] & mask) << (i * bits);
        to[whole++] = (uint8_t)last;
    }
    return whole;
}

/* The same for a strip that may be streamed (whole bytes are; fewer bits are too few to gain) or be in place already. */
static inline int64_t qc_pack_strip(const uint8_t *codes, int64_t n, int64_t bits, int streamed, uint8_t *to) {
    if (bits < 8 || (!streamed && codes != to)) return qc_pack(codes, n, bits, to);
    if (streamed) qc_stream((char *)to, (const char *)codes, n);
    return n;
}

/* n unsigned fields of a bit stream, from field `first` on. */
static inline void qc_unpack(const uint8_t *QC_RESTRICT from, int64_t first, int64_t n, int64_t bits,
                             uint8_t *QC_RESTRICT fields) {
    int64_t each = 8 / bits, i = 0;
    from += first / each;
    if (bits == 8) {
        memcpy(fields, from, (size_t)n);
        return;
    }
    uint32_t mask = (1u << bits) - 1u;
    for (int64_t skip = first % each; skip && i < n; i++) {
        fields[i] = (uint8_t)((uint32_t)*from >> (skip * bits) & mask);
        if (++skip == each) from++, skip = 0;
    }
    int64_t whole = (n - i) / each;
    uint8_t *to = fields + i;
    if (bits == 4) {
        for (int64_t b = 0; b < whole; b++) to[2 * b] = from[b] & 15, to[2 * b + 1] = from[b] >> 4;
    } else {
        for (int64_t b = 0; b < whole; b++) {
            /* Each pair of bits moves to the byte it fills. */
            uint32_t byte = from[b], four = (byte | byte << 6 | byte << 12 | byte << 18) & 0x03030303u;
            memcpy(to + 4 * b, &four, 4);
        }
    }
    for (i += whole * each; i < n; i++) fields[i] = (uint8_t)((uint32_t)from[whole] >> ((i - (to - fields)) % each * bits) & mask);
}

/* Put the fields of one lane into a row of words, or take them out. */
static inline void qc_join_lane(const uint8_t *QC_RESTRICT codes, int64_t n, int64_t bits, int64_t lane,
                                uint32_t *QC_RESTRICT words) {
    uint32_t mask = (uint32_t)((1ull << bits) - 1ull), shift = (uint32_t)(lane * bits);
    if (lane == 0) {
        for (int64_t i = 0; i < n; i++) words[i] = codes[i] & mask;
    } else {
        for (int64_t i = 0; i < n; i++) words[i] |= (codes[i] & mask) << shift;
    }
}

static inline void qc_store_words(const uint32_t *QC_RESTRICT words, int64_t n, int64_t word_bytes,
                                  char *QC_RESTRICT to) {
    if (word_bytes == 4) {
        memcpy(to, words, (size_t)n * 4);
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = (char)words[i];
    }
}

static inline void qc_split_lane(const char *QC_RESTRICT from, int64_t n, int64_t bits, int64_t lane,
                                 int64_t word_bytes, uint8_t *QC_RESTRICT fields) {
    uint32_t mask = (uint32_t)((1ull << bits) - 1ull), shift = (uint32_t)(lane * bits);
    if (word_bytes == 4) {
        for (int64_t i = 0; i < n; i++) {
            uint32_t word;
            memcpy(&word, from + 4 * i, 4);
            fields[i] = (uint8_t)(word >> shift & mask);
        }
    } else {
        for (int64_t i = 0; i < n; i++) fields[i] = (uint8_t)((uint32_t)(uint8_t)from[i] >> shift & mask);
    }
}

#endif
