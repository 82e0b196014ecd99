/* Identity of a spawned world if neither environment nor launcher tells it: MPICH 5's Hydra runs all groups that a job
 * spawns under one proxy, with the same variables. */
#pragma once

#include <stdint.h>

/* Returns the identity of a spawned world, equal on all its ranks and different from any other world's.  `shared`: the
 * identity that it may share with others; returned unchanged if the library's data do not say more.  Reads the
 * library's memory.  Once, after MPI_Init has returned. */
uint64_t ipo_spawned_identity(uint64_t shared);
