/* Which place in the program of one run is which in that of another, where the program has changed in between.
 *
 * Places of one function (by its name, and that of its module) are brought in their order in it, and the two orders are
 * laid on each other so that most calls match: same call, best with the same line or offset, never crossing.  What is
 * left is matched by call and source line alone: a function may have another name. */
#ifndef ANA_ALIGN_H
#define ANA_ALIGN_H

#include "trace/job/portions.h"

/* Fills of_b[0 .. b_count - 1] with the place of `a` that each place of `b` is, + 1; 0: `a` does not have it.  False:
 * out of memory. */
bool ana_align(const struct ana_portion_place *a, size_t a_count, const struct ana_portion_place *b, size_t b_count,
               uint32_t *of_b);

#endif
