/* The largest magnitude of every block, as bits: first of each run, then over the runs of a block. */
#pragma OPENCL FP_CONTRACT OFF

#ifdef ELEMENT
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void maxima(__global const qc_element *x, __global uint *partial, qc_geometry g, ulong runs, uint limit) {
    SHARED
    ulong run = get_global_id(0) / LANES;
    uint lane = (uint)(get_global_id(0) % LANES), most = 0;
    if (run < runs) {
        qc_run r = qc_find_run(g, run);
        most = qc_maximum(x + r.line * COLS(g) + r.start, r.stop - r.start, lane, limit);
    }
    most = qc_most(most, shared);
    if (run < runs && lane == 0) partial[run] = most;
}
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void fold(__global const uint *partial, __global uint *grid, qc_geometry g, ulong blocks) {
    SHARED
    ulong block = get_global_id(0) / LANES;
    uint lane = (uint)(get_global_id(0) % LANES), most = 0;
    if (block < blocks) {
        ulong row = block / BLOCKS(g), column = block - row * BLOCKS(g), runs = qc_lines_of_row(g, row) * PIECES(g);
        for (ulong k = lane; k < runs; k += LANES) {
            ulong line = qc_line_of_row(g, row, k / PIECES(g));
            most = max(most, partial[(line * BLOCKS(g) + column) * PIECES(g) + k % PIECES(g)]);
        }
    }
    most = qc_most(most, shared);
    if (block < blocks && lane == 0) grid[block] = most;
}
