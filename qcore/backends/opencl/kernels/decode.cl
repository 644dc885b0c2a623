/* Stored values to floats: effective scale times the value of each field, rounded once to the type of the output. */
#pragma OPENCL FP_CONTRACT OFF

#define DECODE_ARGS __global const uchar *stored, __global const float *global_scale, int scale_kind, __constant const float *scale_table, __constant const float *table

/* A table close to the items of a group. */
#if defined(LOCAL_TABLE) && KIND != INTEGER
#define TABLE near
#define LOAD_TABLE                                                                        \
    __local float near[1 << BITS];                                                        \
    for (uint i = (uint)get_local_id(0); i < 1u << BITS; i += GROUP) near[i] = table[i];  \
    barrier(CLK_LOCAL_MEM_FENCE);
#else
#define TABLE table
#define LOAD_TABLE
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void decode_runs(__global const uchar *values, __global qc_element *out, qc_geometry g, ulong runs, DECODE_ARGS) {
    LOAD_TABLE
    ulong run = get_global_id(0) / LANES;
    uint lane = (uint)(get_global_id(0) % LANES);
    if (run >= runs) return;
    qc_run r = qc_find_run(g, run);
    ulong block = qc_row_of_line(g, r.line) * BLOCKS(g) + r.block;
    float scale = qc_effective(stored, block, global_scale[0], scale_kind, scale_table);
    __global const uchar *from = values + r.line * WORD_ROW(g) + r.start * BITS / 8;
    __global qc_element *to = out + r.line * COLS(g) + r.start;
    ulong n = r.stop - r.start, whole = n & ~7ul;
    for (ulong i = lane * 8; i < whole; i += LANES * 8)
        vstore8(QC_NARROW8(scale * qc_values(qc_unpack(from + i * BITS / 8), TABLE)), 0, to + i);
    if (whole < n && lane == 0) {
        float8 few = scale * qc_values(qc_unpack_few(from + whole * BITS / 8, (uint)(n - whole)), TABLE);
        qc_write(to + whole, 1, (uint)(n - whole), few);
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void decode_units(__global const uchar *values, __global qc_element *out, qc_geometry g, ulong units, DECODE_ARGS) {
    LOAD_TABLE
    if (get_global_id(0) >= units) return;
    qc_unit u = qc_find_unit(g, get_global_id(0), BITS);
    for (uint first = 0; first < u.n; first += 8) {
        uint n = min(u.n - first, 8u);
        float scale[8] = {0};
        for (uint j = 0; j < n; j++)
            scale[j] = qc_effective(stored, SCALE_OF(u, first + j), global_scale[0], scale_kind, scale_table);
        float8 few = qc_values(qc_unpack_few(values + u.word + first * BITS / 8, n), TABLE);
        qc_write(out + u.first + first * u.step, u.step, n, vload8(0, scale) * few);
    }
}
