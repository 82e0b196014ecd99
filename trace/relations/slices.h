/* Slices of job time: within one, a merge outputs rank after rank (merge.h). */
#pragma once

#include "trace/reader/reader.h"

/* Returns the width of the slices for files[0 .. n-1], as a power of two in ns: about ANA_SLICE_ITEMS items of the rank
 * with most, and at most twice as many where its items are densest.  It depends on the files alone, so all readers of
 * a finished job have the same. */
unsigned ana_slice_shift(struct trc_file *const *files, size_t n);

#define ANA_SLICE_ITEMS 64u
