/* Who is in a communicator: world ranks, shared by those that have the same. */
#ifndef IPO_MEMBERS_H
#define IPO_MEMBERS_H

#include "interpose/mpi/calls.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ipo_members {
    atomic_uint users;
    int32_t n;
    bool foreign;    /* some are of another world: -1 */
    int32_t world[]; /* ranks in MPI_COMM_WORLD */
};

/* Learns the world's group, of `size` ranks. */
void ipo_members_start(uintptr_t world_group, int32_t size);

/* Of a communicator: of its local or its remote group.  Asks MPI.  NULL: not known, or no room. */
struct ipo_members *ipo_members_of(uintptr_t comm, bool remote);
/* Of one rank. */
struct ipo_members *ipo_members_one(int32_t rank);

/* One more and one less user; NULL is nobody.  The last one gives the memory back. */
struct ipo_members *ipo_members_share(struct ipo_members *members);
void ipo_members_drop(struct ipo_members *members);

/* The world itself, in its order. */
bool ipo_members_are_world(const struct ipo_members *members);
bool ipo_members_same(const struct ipo_members *a, const struct ipo_members *b);

#endif
