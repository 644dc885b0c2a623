"""The C side: numbers, and what is done with a strip of them. Documented where it stands, in include/*.h."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t


cdef extern from "qc_numbers.h" nogil:
    enum:
        QC_AXES
        QC_ROOM
        QC_STRIP
        QC_CHUNK
        QC_BYTE
        QC_LOOKUP

    ctypedef struct qc_codec:
        int32_t kind, bits, lo, hi, half_even, mbits, emin, first, zero_code
        float top
        double under, over
        float table[256]
        float bounds[256]
        int32_t delta[256]
        float order[16]

    ctypedef struct qc_scale:
        int32_t kind, nbytes, mbits, emin, rule, elem_emax, elem_mbits
        float top, smallest, half_range, zero_substitute
        float table[256]

    ctypedef struct qc_geometry:
        int64_t axes, cols, step, dtype, block, blocks, rows, lines
        int64_t bits, per_word, word_bytes, lane_axis, words, word_row
        int64_t piece, pieces, tile, tiles, strip
        int64_t dim[QC_AXES]
        int64_t stride[QC_AXES]
        int64_t extent[QC_AXES]
        int64_t grid[QC_AXES]


cdef extern from "qc_floats.h" nogil:
    enum:
        QC_MAGNITUDE
        QC_INFINITY

    uint32_t qc_bits(float value)
    float qc_float(uint32_t bits)
    float qc_from_half(uint16_t half)
    uint16_t qc_to_half(float value)
    uint16_t qc_to_bfloat(float value)


cdef extern from "qc_scales.h" nogil:
    void qc_solve(const qc_scale *s, const float *peaks, int64_t n, float factor, float whole, float *scales)
    void qc_store_scales(const qc_scale *s, const float *scales, int64_t n, char *to)
    bint qc_scale_strip(const qc_scale *s, const uint32_t *maxima, int64_t count, char *stored, float *effective)
    void qc_effective(const qc_scale *s, const char *stored, int64_t n, float whole, float *effective)


cdef extern from "qc_stream.h" nogil:
    enum:
        QC_BURST

    ctypedef struct qc_ahead:
        const char *at
        int64_t size

    void qc_stream_end()


cdef extern from "qc_strips.h" nogil:
    void qc_maxima(const float *x, int64_t n, int64_t block, int64_t phase, int finite, uint32_t *maxima)
    void qc_divide(const float *x, int64_t n, int64_t block, int64_t phase, const float *scales, float *t)
    void qc_multiply(const float *v, int64_t n, int64_t block, int64_t phase, const float *scales, float *y)
    void qc_quantize(const qc_codec *k, const float *x, int64_t n, int64_t block, int64_t phase,
                     const float *effective, const uint32_t *maxima, qc_ahead ahead, uint8_t *codes)
    void qc_codes(const qc_codec *k, const float *t, int64_t n, uint8_t *codes)
    void qc_dequantize(const qc_codec *k, const uint8_t *fields, int64_t n, int64_t block, int64_t phase,
                       const float *effective, float *y)
    void qc_dequantize_packed(const qc_codec *k, const uint8_t *words, int64_t at, int64_t n, int64_t bits,
                              int64_t block, int64_t phase, const float *effective, float *y)
    void qc_values(const qc_codec *k, const uint8_t *fields, int64_t n, float *values)
    int64_t qc_pack(const uint8_t *codes, int64_t n, int64_t bits, uint8_t *to)
    int64_t qc_pack_strip(const uint8_t *codes, int64_t n, int64_t bits, bint streamed, uint8_t *to)
    void qc_unpack(const uint8_t *words, int64_t first, int64_t n, int64_t bits, uint8_t *fields)
    void qc_join_lane(const uint8_t *codes, int64_t n, int64_t bits, int64_t lane, uint32_t *words)
    void qc_store_words(const uint32_t *words, int64_t n, int64_t word_bytes, char *to)
    void qc_split_lane(const char *words, int64_t n, int64_t bits, int64_t lane, int64_t word_bytes,
                       uint8_t *fields)


cdef extern from "qc_lines.h" nogil:
    ctypedef struct qc_row:
        int64_t offset, line, row, lanes, lane_stride, lane_lines

    ctypedef struct qc_box:
        int64_t lines
        int64_t at[QC_AXES]
        int64_t count[QC_AXES]

    ctypedef struct qc_chunk:
        int64_t n

    ctypedef struct qc_line:
        int64_t offset, line, word_row, lane

    qc_row qc_find_row(const qc_geometry *g, int64_t word_row)
    int64_t qc_row_of_lane(const qc_row *r, int64_t lane)
    void qc_find_box(const qc_geometry *g, int64_t block_row, qc_box *box)
    qc_line qc_line_of_box(const qc_geometry *g, const qc_box *box, int64_t k)
    const float *qc_read(int64_t dtype, int64_t step, const char *source, int64_t n, float *buffer)
    bint qc_streamed(const qc_geometry *g)
    bint qc_streamed_floats(const qc_geometry *g)
    uint8_t *qc_room_for_codes(const qc_geometry *g, bint streamed, char *to, uint8_t *codes)
    qc_ahead qc_look_ahead(const qc_geometry *g, const char *line, int64_t column)
    float *qc_target(const qc_geometry *g, char *to, bint streamed, float *buffer)
    void qc_put(const qc_geometry *g, char *to, int64_t n, bint streamed, const float *source)
    void qc_find_chunk(const qc_geometry *g, int64_t block, int64_t at, qc_chunk *c)
    const float *qc_gather_chunk(const qc_geometry *g, const qc_chunk *c, const char *base, float *buffer)


cdef extern from "qc_sums.h" nogil:
    int64_t qc_keep_finite(const float *x, int64_t n, float *kept)
    double qc_sum_magnitudes(const float *x, int64_t n)
    double qc_sum_products(const float *x, const float *y, int64_t n)
    double qc_sum_errors(const float *x, const float *y, int64_t n)
    int32_t qc_largest(const int32_t *distances, int64_t n)
    void qc_drop_nonfinite(const float *x, int64_t n, float *y)


cdef extern from "qc_pairs.h" nogil:
    ctypedef struct qc_sides:
        const qc_geometry *g
        const qc_codec *k
        const qc_scale *s
        const char *x
        const char *values
        const char *scales
        float whole

    ctypedef struct qc_pairs:
        qc_chunk c
        int64_t count, clipped
        float a[QC_CHUNK]
        float b[QC_CHUNK]
        int32_t distances[QC_CHUNK]

    void qc_read_pairs(const qc_sides *f, int64_t block, int64_t at, qc_pairs *p)
    int64_t qc_place_of(const qc_sides *f, const qc_pairs *p, int32_t distance)
