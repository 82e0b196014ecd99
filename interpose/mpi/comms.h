/* Communicators, windows and files: from handles to small ids, and which ranks are in them.  Unless a function says
 * more it may be called by any thread on the record path: no lock, memory of the arena only.
 *
 * A communicator's identity is equal on all its ranks without any communication: it is a hash of its parent's
 * identity, the call that made it, its members (world ranks, both groups), and how many with the same three there
 * were before. Windows and files are communicators of their own here (parent: the one they were made on), so that
 * the order of collectives on a window is not mixed with that on its communicator. */
#pragma once

#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ipo_family;
struct ipo_members;

/* The group that a call of a window was given last. */
struct ipo_epoch_group {
    uintptr_t handle;
    uint64_t stamp; /* ipo_cache_stamp: while it is the same, the handle means the same group */
    uint32_t ranks; /* ipo_ranks_number */
};

struct ipo_comm {
    uint64_t magic; /* NCCL: names the communicators that grow out of it.  First member: ipo_arena_release changes it */
    uint64_t identity;
    uint32_t id;                     /* 0: it was freed, and its place will be used again */
    int32_t rank, size, remote_size; /* remote_size 0: intracommunicator */
    const int32_t *peers;            /* world ranks behind rank arguments: the remote group's, if there is one;
                                        NULL: the world itself */
    int32_t peers_n;
    uint32_t object;                        /* number of the window or file; 0: a communicator */
    bool unknown;                           /* the members are not known */
    bool defined;                           /* defined in the trace */
    bool in_doubt;                          /* doubtful from collective number doubt_from on: TRC_DEF_DOUBT */
    atomic_bool topology_known;             /* the next six are filled in */
    uint32_t in_degree, out_degree;         /* degrees in the topology: partners that are not MPI_PROC_NULL */
    const uint8_t *in_real, *out_real;      /* one byte a neighbour: not MPI_PROC_NULL; NULL: all real */
    uint32_t in_n, out_n;                   /* neighbours, MPI_PROC_NULL included */
    struct ipo_epoch_group posted, started; /* groups of a window's last MPI_Win_post, MPI_Win_start */
    struct ipo_negotiation *negotiation;    /* state of a background loop's communicator (negotiation.h); else NULL */
    struct ipo_members *local, *remote;     /* NULL: the world, or nobody, or unknown */
    struct ipo_family *families;            /* families of communicators that were made from this one */
    uint64_t parent;                        /* identity of the communicator it was made of; 0: none */
    uint64_t asked;                         /* between worlds: ticks when the call that made it began; else 0 */
    uint64_t doubt_from;
    uint32_t made_by;          /* number of the call */
    uint32_t path;             /* of that call; 0: not known */
    uint32_t flags;            /* enum trc_comm_flag that no other member implies */
    uint32_t children;         /* NCCL: calls that made communicators out of it */
    bool nonblocking;          /* NCCL, as the next five: calls return before they have launched anything */
    bool async_error;          /* ncclCommGetAsyncError has reported one */
    uint64_t operations;       /* called so far, of any kind */
    uint32_t *messages;        /* counters by peer: sent, received; NULL: none so far */
    int32_t messages_n;        /* room in it, peers */
    atomic_bool gone;          /* freed: another communicator may soon take the place */
    uintptr_t gpu_context;     /* current when it was made; 0 unknown */
    _Atomic uint64_t deferred; /* launches exist that are not known to have happened (cuda/events.h) */
    uint64_t sequence;         /* collectives so far; plain: MPI lets only one thread at a time be in a collective */
};

/* Writes its definition to the trace. */
void ipo_comm_define(struct ipo_comm *comm);
/* Returns the communicator's number in the trace; defines it first if that has not been done. */
static inline uint32_t ipo_comm_id(struct ipo_comm *comm)
{
    if (__builtin_expect(!comm->defined, 0))
        ipo_comm_define(comm);
    return comm->id;
}

/* Notes in the trace that its collectives from number `from` on may have other numbers on other ranks. */
void ipo_comm_doubt(struct ipo_comm *comm, uint64_t from);

/* Defines MPI_COMM_WORLD and MPI_COMM_SELF; neither where the process has sessions only.  `world_identity` as in the
 * file's head.  Once, after the first Init. */
void ipo_comms_start(uint64_t world_identity, bool has_world);

/* The communicator of a handle; NULL: it is not known.  Asks MPI nothing. */
struct ipo_comm *ipo_comm(uintptr_t handle);
/* The communicator of a handle that a call of MPI has just accepted; one that was never seen is learned by asking MPI.
 * Not before the call: with a wrong handle the program's error handler would run twice.  NULL: no room. */
struct ipo_comm *ipo_comm_accepted(uintptr_t handle);

/* Returns the communicator, window or file of MPI with this number in the trace; NULL: none.  Searches the whole
 * table: our own thread. */
struct ipo_comm *ipo_comm_numbered(uint32_t id);

/* Learns a communicator that `call` has just made out of `parent` (NULL: none), by asking MPI.  `asked`: ticks when
 * that call began where it joins two worlds, else 0.  NULL: no room. */
struct ipo_comm *ipo_comm_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, uint64_t asked);
/* Learns a duplicate of `parent`, with its group and ranks.  Asks MPI nothing: the handle may not be used yet. */
void ipo_comm_copied(uintptr_t handle, struct ipo_comm *parent, uint32_t call);
/* Forgets `comm`, which `handle` meant before the call that freed it; nothing where another thread was given the same
 * handle since.  Its memory is used again after thousands of others were freed: who keeps a pointer for longer compares
 * the number (ipo_request_comm). */
void ipo_comm_freed(uintptr_t handle, struct ipo_comm *comm);
/* Notes the name that the program gives; the text is copied. */
void ipo_comm_named(uintptr_t handle, const char *name);

/* Makes and defines a communicator of another library than MPI; the caller keeps its handle.  `all`: it has the
 * ranks of the world; else its members are not known.  NULL: no room. */
struct ipo_comm *ipo_comm_foreign(uint64_t identity, uint64_t parent, int32_t rank, int32_t size, bool all,
                                  uint32_t call);

/* Forgets a communicator of ipo_comm_foreign that was destroyed. */
void ipo_comm_foreign_forget(struct ipo_comm *comm);

/* Returns the communicator's counters of messages, a pair (sent, received) for each rank; made at the first call.
 * NULL: no room. */
uint32_t *ipo_comm_messages(struct ipo_comm *comm);

/* Learns a window, or (file_name not NULL) a file, that `call` made on `parent` (NULL: not known).  NULL: no room. */
struct ipo_comm *ipo_object_made(uintptr_t handle, struct ipo_comm *parent, uint32_t call, const char *file_name);
/* The window or file of a handle; NULL: it is not known. */
struct ipo_comm *ipo_object(uintptr_t handle);
/* Forgets a window or file, as ipo_comm_freed does a communicator. */
void ipo_object_freed(uintptr_t handle, struct ipo_comm *object);

/* World rank of a rank argument; MPI_ANY_SOURCE, MPI_PROC_NULL and MPI_ROOT become values of enum trc_peer_value. */
int32_t ipo_world_rank(const struct ipo_comm *comm, int rank);

/* Fills the topology members by asking MPI; once, at the first neighbourhood collective. */
void ipo_comm_topology(struct ipo_comm *comm, uintptr_t handle);
/* Frees the memory of the topology members back; nobody may use the communicator any more. */
void ipo_comm_topology_free(struct ipo_comm *comm);
