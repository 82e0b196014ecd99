/* Order: sorts arrays, empty ones included (qsort must not be given NULL), and searches sorted ones. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Compares two numbers for a comparison of qsort: -1, 0 or 1. */
#define ANA_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines a comparison for ana_sort of elements of a type: expressions of pointers `x` and `y` to them, of which the
 * first that is not 0 decides. */
#define ANA_COMPARE(name, type, ...)                                                                                   \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const type *x = a;                                                                                             \
        const type *y = b;                                                                                             \
        const int order[] = {__VA_ARGS__};                                                                             \
        size_t i = 0;                                                                                                  \
        while (i + 1 < sizeof order / sizeof *order && !order[i])                                                      \
            i++;                                                                                                       \
        return order[i];                                                                                               \
    }

/* Returns the first of the numbers 0 .. n - 1 for which `before`, an expression of `i`, is false; n: there is none.
 * It has to be true for all numbers below, and false for all above. */
#define ANA_FIRST(i, n, before)                                                                                        \
    ({                                                                                                                 \
        size_t low_ = 0, high_ = (n);                                                                                  \
        while (low_ < high_) {                                                                                         \
            size_t i = low_ + (high_ - low_) / 2;                                                                      \
            if (before)                                                                                                \
                low_ = i + 1;                                                                                          \
            else                                                                                                       \
                high_ = i;                                                                                             \
        }                                                                                                              \
        low_;                                                                                                          \
    })

/* Compares two indices for ana_sort, the smaller first. */
static inline int ana_by_index(const void *a, const void *b)
{
    return ANA_ORDER(*(const size_t *)a, *(const size_t *)b);
}

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
    return ANA_ORDER(*(const double *)a, *(const double *)b);
}

/* Sorts numbers and returns the middle one, of an even count the smaller; NAN: there are none. */
static inline double ana_median(double *number, size_t n)
{
    ana_sort(number, n, sizeof *number, ana_compare_numbers);
    return n ? number[(n - 1) / 2] : NAN;
}
