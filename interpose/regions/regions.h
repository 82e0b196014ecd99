/* Regions of the program's own: entered and left by hpctop.h (include/) and by ranges of NVTX.  Each thread has its
 * own; they are known from the begin of the process on, and recorded while wrappers record. */
#pragma once

#include "interpose/base/ours.h"
#include <stdint.h>

/* The number of a region's name, equal for equal names; never 0.  Looks the name up: ask once for each place.  Any
 * thread, no lock; keeps errno. */
uint32_t ipo_region_number(const char *name);
/* The calling thread enters the region with this number.  Record path. */
void ipo_region_begin(uint32_t number);
/* The calling thread leaves the region with this number, or the innermost one (0).  Record path. */
void ipo_region_end(uint32_t number);
