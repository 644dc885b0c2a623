/* A quotient that is only asked which code it rounds to. */
#ifndef QC_QUOTIENT_H
#define QC_QUOTIENT_H

#include "qc_floats.h"

/* x / scale, given inverse = 1 / scale: an estimate, then what it leaves over, taken into account by two multiply-adds
 * that round once. Many times as fast as a division, and equal to it wherever a code of at most eight bits changes: at
 * multiples of a power of two by an odd number below 256. The exponents do not matter while nothing overflows or leaves
 * the normal numbers; so every scale from 1 to 2 beside every such multiple is all there is, and a test tries them all. */
QC_INLINE float qc_quotient(float x, float scale, float inverse) {
#if defined(__FMA__) || defined(__aarch64__)
    float estimate = x * inverse;
    return __builtin_fmaf(__builtin_fmaf(-estimate, scale, x), inverse, estimate);
#else
    (void)inverse;
    return x / scale;
#endif
}

/* Bounds of the scales and of the quotients for which that holds, by a wide margin. */
#define QC_LEAST_SCALE 0x1p-64f
#define QC_LARGEST_SCALE 0x1p64f
#define QC_LARGEST_QUOTIENT 4194304.0f

#endif
