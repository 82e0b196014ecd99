/* Gloo without MPI: its functions (gloo_calls.def), its groups, and the record path of its collectives.  Objects of C++
 * are addresses; no header of Gloo or PyTorch is needed. */
#ifndef IPO_GLOO_H
#define IPO_GLOO_H

#include "interpose/mpi/comms.h"
#include "interpose/mpi/record.h"
#include "interpose/nccl/nccl.h"

enum ipo_gloo_id {
#define GLOO(name, ...) IPO_GLOO_##name,
#define HOOK            GLOO
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK
    IPO_GLOO_CALLS
};
/* Number of a call in the schema and in signatures: behind NCCL's. */
#define IPO_GLOO_NUMBER(id) (IPO_NCCL_NUMBER(IPO_NCCL_CALLS) + (uint32_t)(id))

/* ---- real.c */

/* The function that code at `caller` would reach without us.  Never NULL.  Asks the loader at the first calls from an
 * object.  Keeps errno. */
ipo_function ipo_gloo_real(enum ipo_gloo_id id, const void *caller);

/* ---- gloo.c: record path */

/* Before a collective of `comm` (NULL: not known), whose options are at `options`, or 0: connect.  False: it is not
 * recorded, and ipo_gloo_leave must not be called.  Keeps errno. */
bool ipo_gloo_enter(struct ipo_frame *frame, enum ipo_gloo_id id, struct ipo_comm *comm, uintptr_t options);
/* After it has returned.  Keeps errno. */
void ipo_gloo_leave(struct ipo_frame *frame);

/* A collective that PyTorch runs, on the stack of its thread. */
struct ipo_gloo_run {
    const struct ipo_path *path; /* path to the call that queued it; NULL: not known */
    struct ipo_comm *comm;       /* the group; NULL: not known */
    uint64_t site, sequence;
    bool numbered;          /* `sequence` is its number in its group, and no call of Gloo has it yet */
    bool inside;            /* a call of Gloo has begun: `frame`, a copy of its frame */
    struct ipo_frame frame; /* an exception may leave that call */
};
/* Begins a queued collective in its thread, before `execute`. */
void ipo_gloo_run_begin(struct ipo_gloo_run *run, uintptr_t work);
/* Ends it, after `execute`: a call of Gloo that an exception has left ends as a failed one.  Keeps errno. */
void ipo_gloo_run_end(struct ipo_gloo_run *run);
/* Notes where a collective of a group is queued; frame->site, stack and caller are set.  Keeps errno. */
void ipo_gloo_enqueue(struct ipo_frame *frame, uintptr_t group, uintptr_t work);

/* ---- groups.c: identities.  Each rank of a group gives PyTorch a store with the same prefixes. */

/* Notes that the store at `store` puts the text at `prefix` before the keys of the one at `inner`. */
void ipo_gloo_prefix(uintptr_t store, const char *prefix, uintptr_t inner);
/* Defines a group that PyTorch is about to make with a store, and starts the recording where nothing has; contexts that
 * this thread makes until ipo_gloo_group_end are the group's.  Keeps errno. */
void ipo_gloo_group_begin(uintptr_t group, uintptr_t store, int rank, int size);
/* Ends that: PyTorch has made the group. */
void ipo_gloo_group_end(void);
/* Notes a new context; one outside PyTorch is a group of its own.  Keeps errno. */
void ipo_gloo_context(uintptr_t context, int rank, int size);
/* The group at this address, or of the context at it; NULL: it is not known.  Any thread. */
struct ipo_comm *ipo_gloo_comm(uintptr_t address);

#endif
