/* The members of a communicator as world ranks, in lists that several communicators may share.  Any thread; memory
 * of the arena. */
#pragma once

#include "interpose/mpi/calls.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One list. */
struct ipo_members {
    atomic_uint users; /* references; the last one to go frees it */
    int32_t n;
    bool foreign;    /* some belong to another world; they stand as -1 */
    int32_t world[]; /* ranks in MPI_COMM_WORLD */
};

/* Learns the group of MPI_COMM_WORLD, with `size` ranks.  Once. */
void ipo_members_start(uintptr_t world_group, int32_t size);

/* The members of the local or the remote group of a communicator; asks MPI.  The caller has a reference.  NULL: not
 * known, or no room. */
struct ipo_members *ipo_members_of(uintptr_t comm, bool remote);
/* Returns the members of a group. */
struct ipo_members *ipo_members_of_group(uintptr_t group);
/* A list of one world rank, with a reference; NULL: no room. */
struct ipo_members *ipo_members_one(int32_t rank);

/* Adds a reference; returns `members`, which may be NULL. */
struct ipo_members *ipo_members_share(struct ipo_members *members);
/* Drops a reference; with the last one the memory is free.  NULL does nothing. */
void ipo_members_drop(struct ipo_members *members);

/* Whether these are all ranks of the world in their order; false for NULL. */
bool ipo_members_are_world(const struct ipo_members *members);
/* Whether two lists have equal ranks in equal order; false where one is NULL. */
bool ipo_members_same(const struct ipo_members *a, const struct ipo_members *b);
