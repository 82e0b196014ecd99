/* Which spawned world this is, where neither environment nor launcher says so: MPICH 5's Hydra runs all groups that a
 * job spawns under one proxy, with the same variables. */
#ifndef IPO_SPAWNED_H
#define IPO_SPAWNED_H

#include <stdint.h>

/* The identity of a spawned world, equal on all its ranks and different from that of other worlds.  `shared`: the
 * identity that it may share with others; returned as it is where the library's data do not say more.  Reads the
 * library's memory.  Once, after MPI_Init has returned. */
uint64_t ipo_spawned_identity(uint64_t shared);

#endif
