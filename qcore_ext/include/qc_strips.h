/* The work itself, a strip at a time: maxima, scaling, codes, packing, and the way back. Every loop vectorises. */
#ifndef QC_STRIPS_H
#define QC_STRIPS_H

#include "qc_codes.h"
#include "qc_maxima.h"
#include "qc_packing.h"
#include "qc_quantize.h"
#include "qc_scaling.h"
#include "qc_values.h"

#endif
