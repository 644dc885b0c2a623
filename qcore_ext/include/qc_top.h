/* The largest of many numbers, met one strip after the other. */
#ifndef QC_TOP_H
#define QC_TOP_H

#include "qc_floats.h"

/* At least the `wanted` largest of the numbers seen; below them the smallest of those is known, so that most strips are
 * passed over. `busy` while a thread holds it. */
typedef struct {
    int32_t *kept;
    int64_t count, room, wanted;
    int32_t least;
    int busy;
} qc_top;

/* The `wanted` largest to the front, by halves. */
static inline void qc_top_shrink(qc_top *t) {
    int32_t *a = t->kept;
    int64_t low = 0, high = t->count - 1, place = t->wanted - 1;
    while (low < high) {
        int32_t pivot = a[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (a[i] > pivot) i++;
            while (a[j] < pivot) j--;
            if (i <= j) {
                int32_t other = a[i];
                a[i++] = a[j];
                a[j--] = other;
            }
        }
        if (place <= j)
            high = j;
        else if (place >= i)
            low = i;
        else
            break;
    }
    t->least = a[place];
    t->count = t->wanted;
}

static inline void qc_top_add(qc_top *t, const int32_t *numbers, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (numbers[i] <= t->least) continue;
        t->kept[t->count++] = numbers[i];
        if (t->count == t->room) qc_top_shrink(t);
    }
}

/* Numbers are -1 (those that do not count) or not negative. */
static inline void qc_top_take(qc_top *t, const int32_t *numbers, int64_t n) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        int32_t above = 0, least = t->least;
        for (int64_t j = 0; j < 16; j++) above |= least - numbers[i + j]; /* negative where the number is larger */
        if (above < 0) qc_top_add(t, numbers + i, 16);
    }
    qc_top_add(t, numbers + i, n - i);
}

/* One that nobody holds; there are as many as threads. */
static inline qc_top *qc_top_hold(qc_top *tops) {
    while (__atomic_exchange_n(&tops->busy, 1, __ATOMIC_ACQUIRE)) tops++;
    return tops;
}
static inline void qc_top_drop(qc_top *t) { __atomic_store_n(&t->busy, 0, __ATOMIC_RELEASE); }

#endif
