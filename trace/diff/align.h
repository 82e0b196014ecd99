/* Alignment of call sites of two runs between which the program has changed.
 *
 * Places of one function (by its name and module) are sorted by offset, and the two sequences are aligned: most calls
 * match, best with the same line or offset, never crossing.  The others are matched by call and source line alone: a
 * function may have another name. */
#ifndef ANA_ALIGN_H
#define ANA_ALIGN_H

#include "trace/job/portions.h"

/* Fills of_b[0 .. b_count - 1] with the number of each place of `b` in `a`, + 1; 0: only in `b`.  False: out of
 * memory. */
bool ana_align(const struct ana_portion_place *a, size_t a_count, const struct ana_portion_place *b, size_t b_count,
               uint32_t *of_b);

#endif
