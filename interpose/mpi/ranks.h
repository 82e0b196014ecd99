/* Lists of world ranks in the trace: groups of epochs, neighbours.  Each list is defined once, whoever uses it.  Any
 * thread, record path: no lock, memory of the arena only. */
#pragma once

#include <stdint.h>

/* The number (TRC_DEF_RANKS) of a list of `n` world ranks; 0: it is too long, or there is no room. */
uint32_t ipo_ranks_number(const int32_t *world, uint32_t n);
