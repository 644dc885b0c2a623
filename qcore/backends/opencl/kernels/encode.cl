/* Fields under stored scales, packed. Non-finite elements saturate. */
#pragma OPENCL FP_CONTRACT OFF

#define ENCODE_ARGS __global const uchar *stored, __global const float *global_scale, __global const uint *peaks, int zeros, int scale_kind, __constant const float *scale_table
#define ENCODE stored, global_scale, peaks, zeros, scale_kind, scale_table

/* What the elements of a block are divided by. A block without any magnitude gets zero codes, also where its stored
 * scale is the smallest there is because its dtype has no zero (`zeros`). */
inline float qc_divisor(ulong block, ENCODE_ARGS) {
    float scale = qc_effective(stored, block, global_scale[0], scale_kind, scale_table);
    return zeros && peaks[block] == 0 && stored[block] == 0 ? 0.0f : scale;
}

/* Blocks that are whole groups of eight: LANES items share a run. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void encode_runs(__global const qc_element *x, __global uchar *values, qc_geometry g, ulong runs, ENCODE_ARGS, CODEC_ARGS) {
    ulong run = get_global_id(0) / LANES;
    uint lane = (uint)(get_global_id(0) % LANES);
    if (run >= runs) return;
    qc_run r = qc_find_run(g, run);
    float8 divisor = (float8)(qc_divisor(qc_row_of_line(g, r.line) * BLOCKS(g) + r.block, ENCODE));
    __global const qc_element *from = x + r.line * COLS(g) + r.start;
    __global uchar *to = values + r.line * WORD_ROW(g) + r.start * BITS / 8;
    ulong n = r.stop - r.start, whole = n & ~7ul;
    for (ulong i = lane * 8; i < whole; i += LANES * 8)
        qc_pack(qc_codes(QC_WIDEN8(vload8(0, from + i)), divisor, CODEC), to + i * BITS / 8);
    if (whole < n && lane == 0) {
        float8 few = qc_read(from + whole, 1, (uint)(n - whole));
        qc_pack_few(qc_codes(few, divisor, CODEC), (uint)(n - whole), to + whole * BITS / 8);
    }
}

/* Everything else: a word, or eight values, an item; every element finds its own block. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void encode_units(__global const qc_element *x, __global uchar *values, qc_geometry g, ulong units, ENCODE_ARGS, CODEC_ARGS) {
    if (get_global_id(0) >= units) return;
    qc_unit u = qc_find_unit(g, get_global_id(0), BITS);
    for (uint first = 0; first < u.n; first += 8) {
        uint n = min(u.n - first, 8u);
        float divisor[8] = {0};
        for (uint j = 0; j < n; j++) divisor[j] = qc_divisor(SCALE_OF(u, first + j), ENCODE);
        float8 few = qc_read(x + u.first + first * u.step, u.step, n);
        qc_pack_few(qc_codes(few, vload8(0, divisor), CODEC), n, values + u.word + first * BITS / 8);
    }
}
