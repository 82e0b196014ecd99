/* Counts the communicators of one family so far: same parent, same call, same members.  Ranks make them in the same
 * order, so the number tells them apart without communication. */
#pragma once

#include "interpose/mpi/calls.h"
#include <stdbool.h>
#include <stdint.h>

struct ipo_family;

/* *number: how many communicators the family `family`, a hash, had so far; counts the new one.  `of_parent`: the
 * list of the parent's families, NULL without a parent.  False: not known, since memory or the lock could not be
 * had.  Any thread, record path. */
bool ipo_family_next(uint64_t family, struct ipo_family **of_parent, uint64_t *number);

/* Frees the list of a parent that was freed itself. */
void ipo_families_forget(struct ipo_family **of_parent);
