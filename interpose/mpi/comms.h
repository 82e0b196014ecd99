/* Communicators, windows and files: handles to small ids, and who is who in them.
 *
 * A communicator's identity is equal on all its ranks without any communication: it is a hash of its parent's identity,
 * the call that made it, its members (world ranks, both groups), and how many with the same three there were before.
 * Windows and files are communicators of their own here (parent: the one they were made on), so that the order of
 * collectives on a window is not mixed with that on its communicator. */
#ifndef IPO_COMMS_H
#define IPO_COMMS_H

#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ipo_family;
struct ipo_members;

struct ipo_comm {
    uint64_t magic; /* of NCCL's: from which those that grow out of it are named; first: see ipo_arena_give */
    uint64_t identity;
    uint32_t id;                     /* 0: its place is about to be another's */
    int32_t rank, size, remote_size; /* remote_size 0: intracommunicator */
    const int32_t *peers;            /* world ranks of those that ranks mean: the remote group's, if there is one;
                                        NULL: the world itself */
    int32_t peers_n;
    uint32_t object;                     /* window or file; 0 */
    bool unknown;                        /* who the members are could not be found out */
    bool defined;                        /* in the trace */
    bool in_doubt;                       /* from collective number doubt_from on: TRC_DEF_DOUBT */
    atomic_bool topology_known;          /* the next six */
    uint32_t in_degree, out_degree;      /* of the topology, partners that are not MPI_PROC_NULL */
    const uint8_t *in_real, *out_real;   /* one byte a neighbour: not MPI_PROC_NULL; NULL: all real */
    uint32_t in_n, out_n;                /* neighbours, MPI_PROC_NULL included */
    struct ipo_negotiation *negotiation; /* of a background loop's communicator: negotiation.h; else NULL */
    struct ipo_members *local, *remote;  /* NULL: the world, or nobody, or unknown */
    struct ipo_family *families;         /* of what was made of it */
    uint64_t parent;                     /* identity of what it was made of; 0 */
    uint64_t asked;                      /* between worlds: ticks when the call that made it began; else 0 */
    uint64_t doubt_from;
    uint32_t made_by;          /* call */
    uint32_t flags;            /* enum trc_comm_flag, what nothing else here says */
    uint32_t children;         /* of NCCL's: calls that made communicators out of it */
    bool nonblocking;          /* of NCCL's, and the next five: calls return before they have launched anything */
    bool async_error;          /* one was seen */
    uint64_t operations;       /* called so far, of any kind */
    uint32_t *messages;        /* by peer: sent, received; NULL: none so far */
    int32_t messages_n;        /* room in it, peers */
    atomic_bool gone;          /* its place may be another's soon */
    uintptr_t gpu_context;     /* current when it was made; 0 unknown */
    _Atomic uint64_t deferred; /* there are launches that are not known to have happened (cuda_events.h) */
    uint64_t sequence;         /* collectives so far; plain: MPI lets only one thread at a time be in one of them */
};

/* Its number in the trace, where it is defined if it was not yet. */
void ipo_comm_define(struct ipo_comm *comm);
static inline uint32_t ipo_comm_id(struct ipo_comm *comm)
{
    if (__builtin_expect(!comm->defined, 0))
        ipo_comm_define(comm);
    return comm->id;
}

/* From this number on its collectives may be numbered otherwise than on other ranks. */
void ipo_comm_doubt(struct ipo_comm *comm, uint64_t from);

/* Learns MPI_COMM_WORLD and MPI_COMM_SELF, unless the process has sessions only; `world_identity` as in the file's
 * head. */
void ipo_comms_start(uint64_t world_identity, bool has_world);

/* The communicator behind a handle word; NULL: none that is known. */
struct ipo_comm *ipo_comm(uintptr_t handle);
/* The same, of a handle that a call has just accepted: one that was never seen is asked for.  Before that MPI is asked
 * nothing: if the program got the handle wrong, its error handler would be called once more.  NULL: no room. */
struct ipo_comm *ipo_comm_accepted(uintptr_t handle);

/* That of MPI with this number in the trace, windows and files too; NULL: none.  Looks through all. */
struct ipo_comm *ipo_comm_numbered(uint32_t id);

/* A communicator that `call` has just made out of `parent` (NULL: none); asked: ticks when that began, 0: no matter. */
struct ipo_comm *ipo_comm_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, uint64_t asked);
/* The same for a duplicate: group and ranks are the parent's, and its handle, which may not be used yet, is not. */
void ipo_comm_copied(uintptr_t handle, struct ipo_comm *parent, uint32_t call);
/* `comm` was behind `handle` before the call that freed it.  Another thread may have been given the same handle since:
 * then nothing is forgotten.  Its place is used again, but not before thousands of others have been freed; who may have
 * the pointer for longer compares the number (ipo_request_comm). */
void ipo_comm_freed(uintptr_t handle, struct ipo_comm *comm);
void ipo_comm_named(uintptr_t handle, const char *name);

/* A communicator of another library than MPI, defined in the trace; `all`: its ranks are those of the world, else its
 * members are not known.  Whose handle it is, is the caller's business.  NULL: no room. */
struct ipo_comm *ipo_comm_foreign(uint64_t identity, uint64_t parent, int32_t rank, int32_t size, bool all,
                                  uint32_t call);

/* The same was destroyed. */
void ipo_comm_foreign_gone(struct ipo_comm *comm);

/* Counters of messages by rank, a pair each; NULL: no room. */
uint32_t *ipo_comm_messages(struct ipo_comm *comm);

/* A window or file made on `parent`; `handle` as the program holds it. */
struct ipo_comm *ipo_object_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, const char *file_name);
struct ipo_comm *ipo_object(uintptr_t handle);
/* As with communicators. */
void ipo_object_freed(uintptr_t handle, struct ipo_comm *object);

/* World rank of a rank argument; special values are made ours (enum trc_peer_value). */
int32_t ipo_world_rank(const struct ipo_comm *comm, int rank);

/* Fills the topology fields; on the first neighbourhood collective. */
void ipo_comm_topology(struct ipo_comm *comm, uintptr_t handle);
void ipo_comm_topology_gone(struct ipo_comm *comm);

#endif
