/* Sorts arrays, empty ones included: qsort and qsort_r must not be given NULL. */
#ifndef ANA_SORT_H
#define ANA_SORT_H

#include <math.h>
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

/* Compares two doubles for ana_sort, the smaller first. */
static inline int ana_compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts numbers and returns the middle one, of an even count the smaller; NAN: there are none. */
static inline double ana_median(double *number, size_t n)
{
    ana_sort(number, n, sizeof *number, ana_compare_numbers);
    return n ? number[(n - 1) / 2] : NAN;
}

#endif
