/* Which spawned world this is, where neither environment nor launcher says so: MPICH 5's Hydra runs all groups that a
 * job spawns under one proxy, with the same variables. */
#ifndef IPO_SPAWNED_H
#define IPO_SPAWNED_H

#include <stdint.h>

/* A spawned world's identity, out of the one that it may share with others.  The same on all ranks of the world,
 * another one in each; `shared` itself where it is alone, or where nothing can be found.  Once, after MPI_Init has
 * returned. */
uint64_t ipo_spawned_identity(uint64_t shared);

#endif
