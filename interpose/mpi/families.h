/* How many communicators of one family were made so far: same parent, same call, same members.  Ranks make them in the
 * same order, so the number tells them apart without communication. */
#ifndef IPO_FAMILIES_H
#define IPO_FAMILIES_H

#include "interpose/mpi/calls.h"
#include <stdbool.h>
#include <stdint.h>

struct ipo_family;

/* The number of the next of a family, from 0 on.  `of_parent`: the list of the parent's families (NULL: no parent).
 * False: it cannot be told. */
bool ipo_family_next(uint64_t family, struct ipo_family **of_parent, uint64_t *number);

/* The parent is gone, and nothing can be made of it any more. */
void ipo_families_gone(struct ipo_family **of_parent);

#endif
