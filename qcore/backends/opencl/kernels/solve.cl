/* Peaks to stored scales, a number each; and the global scale that a two-level scheme puts above them. */
#pragma OPENCL FP_CONTRACT OFF

/* What takes the largest block scale to the top of its dtype, never below the smallest normal number. */
__kernel void level(__global const uint *peak, __global float *global_scale, float half_range, float top) {
    float largest = min(QC_DIVIDE(as_float(peak[0]), half_range), FLT_MAX);
    global_scale[0] = max(QC_DIVIDE(largest, top), FLT_MIN);
}

/* `wrong` is raised where a peak is not finite; every item that writes it writes the same. */
__kernel void scales(__global const uint *peaks, __global const float *global_scale, __global uchar *stored,
                     __global uint *wrong, ulong blocks, SCALE_ARGS) {
    ulong block = get_global_id(0);
    if (block >= blocks) return;
    uint peak = peaks[block];
    if (peak >= QC_INFINITY) wrong[0] = 1;
    qc_store_scale(qc_solve(min(peak, QC_INFINITY - 1u), global_scale[0], SCALE), block, stored, SCALE);
}
