/* The largest magnitude, as bits: of the elements an item reads, and among the LANES items that share a run. NaN and
 * infinity win, or are passed over where only elements below a limit count. */
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
#endif
