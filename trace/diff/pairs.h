/* Pairs of portions of two runs. */
#ifndef ANA_PAIRS_H
#define ANA_PAIRS_H

#include "trace/job/portions.h"

/* A portion in both runs; one may be NULL.  Places have the numbers of the first run; places that only the second has
 * follow. */
struct ana_portion_pair {
    const struct ana_portion *of[2];
};

/* Gives places and regions of the second run's portions the names that they have in the first: of_b as ana_align fills
 * it, of `b_count` places.  Places that the first does not have get numbers after its `a_count`.  Where only one of the
 * runs has a call, the segments before and after it become one, as in the other run.  False: out of memory. */
bool ana_portions_join(struct ana_portions *a, struct ana_portions *b, const uint32_t *of_b, size_t a_count,
                       size_t b_count);

/* Makes *out the portions of one rank that is the mean of all ranks that have iterations (of all, where none has).
 * False: out of memory.  Free with ana_portions_free either way. */
bool ana_portions_mean(const struct ana_portions *of, struct ana_portions *out);

/* Makes *out a map of struct ana_portion_pair of all portions, the second's renamed.  False: out of memory.  Free it
 * with ana_map_free either way. */
bool ana_portions_pair(const struct ana_portions *a, const struct ana_portions *b, struct ana_map *out);

/* The name of a pair: either of its portions. */
static inline const struct ana_portion *ana_pair_name(const struct ana_portion_pair *pair)
{
    return pair->of[0] ? pair->of[0] : pair->of[1];
}

#endif
