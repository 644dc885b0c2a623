/* What the threads of one job say together. */
#ifndef QC_ATOMICS_H
#define QC_ATOMICS_H

#include <stdint.h>

static inline void qc_add(int64_t *to, int64_t amount) { __atomic_fetch_add(to, amount, __ATOMIC_RELAXED); }

/* The smaller of what is there and `value`. */
static inline void qc_lower(int64_t *place, int64_t value) {
    int64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (value < seen && !__atomic_compare_exchange_n(place, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* A door for one at a time, for the few instructions in which results are put together. */
static inline void qc_enter(int *door) {
    while (__atomic_exchange_n(door, 1, __ATOMIC_ACQUIRE)) {
    }
}
static inline void qc_leave(int *door) { __atomic_store_n(door, 0, __ATOMIC_RELEASE); }

#endif
