/* The largest magnitude of every block, as bits: first of each run, then over the runs of a block. NaN and infinity win,
 * or are passed over where only finite elements count. LANES items share a run and read it side by side. */
#pragma OPENCL FP_CONTRACT OFF

/* The maximum over the LANES neighbours of an item, for all of them. */
#if LANES > 1
#define SHARED __local uint shared[GROUP];
inline uint qc_most(uint most, __local uint *shared) {
    uint me = (uint)get_local_id(0);
    shared[me] = most;
    for (uint apart = LANES / 2; apart; apart >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        most = max(most, shared[me ^ apart]);
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[me] = most;
    }
    return most;
}
#else
#define SHARED
#define qc_most(most, shared) (most)
#endif

#ifdef ELEMENT
inline uint qc_maximum(__global const qc_element *x, ulong n, uint lane, uint limit) {
    uint8 most8 = 0;
    ulong whole = n & ~7ul;
    for (ulong i = lane * 8; i < whole; i += LANES * 8) {
        uint8 a = as_uint8(QC_WIDEN8(vload8(0, x + i))) & QC_MAGNITUDE;
        most8 = max(most8, a < (uint8)(limit) ? a : (uint8)(0));
    }
    uint4 most4 = max(most8.lo, most8.hi);
    uint2 most2 = max(most4.lo, most4.hi);
    uint most = max(most2.x, most2.y);
    for (ulong i = whole + lane; i < n; i += LANES) {
        uint a = as_uint(QC_WIDEN(x[i])) & QC_MAGNITUDE;
        most = max(most, a < limit ? a : 0u);
    }
    return most;
}

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
