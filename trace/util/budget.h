/* The memory that is allocated because a file asks for it: at most a constant times the size of the file, whatever the
 * numbers in it are.  Each loader has one budget for each file, and charges it before it allocates.
 *
 * Several threads may charge one budget. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_BUDGET_LEAST (1u << 20) /* bytes of the budget of the smallest file */

struct ana_budget {
    uint64_t most;            /* bytes */
    _Atomic uint64_t charged; /* of them */
};

/* Sets the budget of a file of `size` bytes to `times` as many.  Earlier charges stay.  No other thread may charge it
 * meanwhile. */
static inline void ana_budget_set(struct ana_budget *budget, uint64_t size, unsigned times)
{
    budget->most = size < UINT64_MAX / 2 / times ? size * times + ANA_BUDGET_LEAST : UINT64_MAX / 2;
}

/* Charges an allocation of `n` rows of `size` bytes.  False: it does not fit, and nothing is charged. */
static inline bool ana_charge(struct ana_budget *budget, uint64_t n, size_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(n, (uint64_t)size, &bytes) || bytes > budget->most)
        return false;
    if (atomic_fetch_add(&budget->charged, bytes) + bytes <= budget->most)
        return true;
    budget->charged -= bytes;
    return false;
}

/* Grows malloc'ed memory of `had` bytes, or NULL, to `bytes`, charges the difference and sets new bytes to 0.  NULL:
 * over budget or out of memory, and nothing has changed. */
void *ana_budget_resize(struct ana_budget *budget, void *at, size_t had, size_t bytes);
/* Frees such memory of `bytes` bytes, which no longer count. */
void ana_budget_free(struct ana_budget *budget, void *at, size_t bytes);
