/* Min-max in one pass, for blocks that are one run each: peak, scale and fields while the run is at hand. */
#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void quantize_runs(__global const qc_element *x, __global uchar *stored, __global uchar *values, __global uint *wrong,
                   qc_geometry g, ulong runs, SCALE_ARGS, CODEC_ARGS) {
    SHARED
    ulong run = get_global_id(0) / LANES;
    uint lane = (uint)(get_global_id(0) % LANES), peak = 0;
    qc_run r = qc_find_run(g, min(run, runs - 1));
    __global const qc_element *from = x + r.line * COLS(g) + r.start;
    ulong n = r.stop - r.start, whole = n & ~7ul;
    if (run < runs) peak = qc_maximum(from, n, lane, 0xffffffffu);
    peak = qc_most(peak, shared);
    if (run >= runs) return;
    /* Representable: what is stored is what elements are divided by. A block of zeros gets zero codes in any dtype. */
    float scale = qc_solve(min(peak, QC_INFINITY - 1u), 1.0f, SCALE);
    if (scale_mbits == 0) scale = max(scale, smallest); /* such a dtype has no zero */
    if (lane == 0) {
        if (peak >= QC_INFINITY) wrong[0] = 1;
        qc_store_scale(scale, run, stored, SCALE);
    }
    float8 divisor = (float8)(peak == 0 ? 0.0f : scale);
    __global uchar *to = values + r.line * WORD_ROW(g) + r.start * BITS / 8;
    for (ulong i = lane * 8; i < whole; i += LANES * 8)
        qc_pack(qc_codes(QC_WIDEN8(vload8(0, from + i)), divisor, CODEC), to + i * BITS / 8);
    if (whole < n && lane == 0) {
        float8 few = qc_read(from + whole, 1, (uint)(n - whole));
        qc_pack_few(qc_codes(few, divisor, CODEC), (uint)(n - whole), to + whole * BITS / 8);
    }
}
