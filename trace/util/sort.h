/* Sorts arrays, empty ones included: qsort and qsort_r must not be given NULL. */
#ifndef ANA_SORT_H
#define ANA_SORT_H

#include <stddef.h>
#include <stdlib.h>

/* Sorts `n` elements of `size` bytes as qsort does; `array` may be NULL where `n` is 0. */
static inline void ana_sort(void *array, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
    if (n > 1)
        qsort(array, n, size, compare);
}

/* Sorts as qsort_r does, with `user` for each comparison. */
static inline void ana_sort_with(void *array, size_t n, size_t size,
                                 int (*compare)(const void *a, const void *b, void *user), void *user)
{
    if (n > 1)
        qsort_r(array, n, size, compare, user);
}

#endif
