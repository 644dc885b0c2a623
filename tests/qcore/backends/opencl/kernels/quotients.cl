/* The division that stands in for a device's own, laid open. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void quotients(__global const float *x, __global const float *s, __global float *to, ulong n) {
    ulong i = get_global_id(0);
    if (i < n) to[i] = qc_quotient(x[i], s[i]);
}
