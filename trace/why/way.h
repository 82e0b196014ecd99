/* The ways back from a wait; see delay.h. */
#ifndef ANA_WAY_H
#define ANA_WAY_H

#include "trace/why/delay.h"

/* Room for one wait's ways; NULL: out of memory. */
struct ana_ways *ana_ways_new(void);
/* Frees it; NULL is none. */
void ana_ways_free(struct ana_ways *ways);

/* Follows a wait back, and adds to the costs of what caused it just as much as was waited. */
void ana_ways_follow(struct ana_why *why, const struct ana_late_wait *wait);

#endif
