/* Codes, a byte each, into words and back. Bits beyond a field's are dropped; SIGNED fields come back with their sign. */
#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void pack_units(__global const uchar *codes, __global uchar *values, qc_geometry g, ulong units) {
    if (get_global_id(0) >= units) return;
    qc_unit u = qc_find_unit(g, get_global_id(0), BITS);
    for (uint first = 0; first < u.n; first += 8) {
        uint n = min(u.n - first, 8u), buffer[8] = {0};
        for (uint j = 0; j < n; j++) buffer[j] = codes[u.first + (first + j) * u.step] & ((1u << BITS) - 1u);
        qc_pack_few(vload8(0, buffer), n, values + u.word + first * BITS / 8);
    }
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void unpack_units(__global const uchar *values, __global uchar *codes, qc_geometry g, ulong units) {
    if (get_global_id(0) >= units) return;
    qc_unit u = qc_find_unit(g, get_global_id(0), BITS);
    for (uint first = 0; first < u.n; first += 8) {
        uint n = min(u.n - first, 8u), buffer[8];
        uint8 fields = qc_unpack_few(values + u.word + first * BITS / 8, n);
#ifdef SIGNED
        fields = as_uint8(as_int8(fields << (uint8)(32 - BITS)) >> (int8)(32 - BITS));
#endif
        vstore8(fields, 0, buffer);
        for (uint j = 0; j < n; j++) codes[u.first + (first + j) * u.step] = (uchar)buffer[j];
    }
}
