/* Communicators between two worlds (MPI_Comm_spawn, MPI_Comm_accept, MPI_Comm_join, and communicators derived from
 * them): each world defines them with an identity of its own, since no name is visible to both without communication.
 * Here the two definitions are put together.
 *
 * Spawned, accepted and joined communicators are a pair when their groups mirror each other, their calls fit
 * (MPI_Comm_spawn and MPI_Comm_get_parent), and their times fit: the first file of a spawned world was made while
 * MPI_Comm_spawn was under way, and both sides of MPI_Comm_accept and MPI_Comm_connect are made at one time.  Where
 * two pairs are possible, none is taken.  Communicators made of a pair are a pair when the calls are alike: the k-th
 * of one side is the k-th of the other, since they are collective on the parent.  Parts (MPI_Comm_split) are not
 * paired.
 *
 * Pure: definitions in, pairs out. */
#pragma once

#include "trace/relations/clock.h"

/* A communicator of two worlds, seen from one world. */
struct ana_bridge {
    uint64_t identity; /* the same from both */
    size_t far_count;
    const uint32_t *far; /* rank indices of the other world's members, by their rank in it (of an intercommunicator: in
                            the remote group); UINT32_MAX: none, or no file */
};

struct ana_bridges;

struct ana_bridge_rank {
    const struct trc_file *file;
    uint32_t world;
};

/* Pairs the ranks' communicators as far as they are defined now; index i is rank[i] and has that index in `clock`.
 * NULL: there are no pairs, or out of memory.  Free with ana_bridges_free. */
struct ana_bridges *ana_bridges_make(const struct ana_bridge_rank *rank, size_t ranks, const struct ana_clock *clock);
/* Frees them; NULL is none. */
void ana_bridges_free(struct ana_bridges *bridges);

/* The pair of the communicator that `world` knows by this identity; NULL: its other side is not known. */
const struct ana_bridge *ana_bridge_find(const struct ana_bridges *bridges, uint32_t world, uint64_t identity);

/* The identity of a communicator of `world`: one for all worlds that share it where both sides are known.  Else it is
 * of that world alone, since siblings that were made alike have one identity. */
uint64_t ana_bridge_identity(const struct ana_bridges *bridges, uint32_t world, const struct trc_def_comm *def);

/* Whether these two worlds share a communicator. */
bool ana_bridges_between(const struct ana_bridges *bridges, uint32_t a, uint32_t b);

/* Whether `world` shares a communicator with another world. */
bool ana_bridges_reach(const struct ana_bridges *bridges, uint32_t world);

/* The rank index of a partner in another world, as a signature has it (<= TRC_PEER_REMOTE); UINT32_MAX: not known. */
static inline uint32_t ana_bridge_partner(const struct ana_bridge *bridge, int32_t peer)
{
    uint32_t rank = (uint32_t)(TRC_PEER_REMOTE - (int64_t)peer);
    return bridge && peer <= TRC_PEER_REMOTE && rank < bridge->far_count ? bridge->far[rank] : UINT32_MAX;
}
