/* Gloo without MPI: its functions (gloo_calls.def), its groups, and the record path of its collectives.  Objects of C++
 * are addresses; no header of Gloo or PyTorch is needed. */
#pragma once

#include "interpose/mpi/comms.h"
#include "interpose/mpi/record.h"
#include "interpose/nccl/nccl.h"
#include "trace/writer/round.h"

enum ipo_gloo_id {
#define GLOO(name, ...) IPO_GLOO_##name,
#define CLASS           GLOO
#define MESSAGE         GLOO
#define HOOK            GLOO
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK
    IPO_GLOO_CALLS
};
/* Number of a call in the file: behind NCCL's. */
#define IPO_GLOO_NUMBER(id) (IPO_NCCL_NUMBER(IPO_NCCL_CALLS) + (uint32_t)(id))

/* ---- real.c */

/* The function that code at `caller` would reach without us.  Never NULL.  Asks the loader at the first calls from an
 * object.  Keeps errno. */
ipo_function ipo_gloo_real(enum ipo_gloo_id id, const void *caller);

/* ---- gloo.c: record path */

/* A collective without options that can be read. */
struct ipo_gloo_data {
    uint64_t sent, received; /* bytes */
    int root;                /* -1: none */
    bool control;            /* a round of Horovod's loop */
};
/* A message that a buffer sends or receives. */
struct ipo_gloo_message {
    struct ipo_comm *comm;
    int partner; /* rank in the group; -1: any */
    int32_t tag;
    uint64_t bytes;
};
/* The words or the list that such a round moved (mpi/negotiation.h). */
struct ipo_gloo_round {
    enum trc_round_kind kind; /* 0: nothing that is written */
    bool is_sent;             /* sent by this rank, not received */
    uintptr_t bytes;
    uint64_t size;
};

/* Before a collective of `comm` (NULL: not known), whose options are at `options`, or 0, with `data` or NULL: connect.
 * False: it is not recorded, and ipo_gloo_leave must not be called.  Keeps errno. */
bool ipo_gloo_enter(struct ipo_frame *frame, enum ipo_gloo_id id, struct ipo_comm *comm, uintptr_t options,
                    const struct ipo_gloo_data *data);
/* Before a step of a message, as ipo_gloo_enter; NULL: it is not known, or belongs to a collective. */
bool ipo_gloo_enter_message(struct ipo_frame *frame, enum ipo_gloo_id id, const struct ipo_gloo_message *message);
/* Ends the receive of a message from any rank, before ipo_gloo_leave: it came from this one of the group. */
void ipo_gloo_came_from(struct ipo_frame *frame, int source);
/* After it has returned; `said`: of a round, else NULL.  Keeps errno. */
void ipo_gloo_leave(struct ipo_frame *frame, const struct ipo_gloo_round *said);

/* Makes a call of C++ in a wrapper.  An exception that leaves it passes: the unwinder then calls ipo_gloo_personality,
 * which ends the call of `frame` as a failed one, and never catches. */
#define IPO_GLOO_CALL(recorded, mine, ...)                                                                             \
    do {                                                                                                               \
        __asm__ volatile(".cfi_personality 0x1b, ipo_gloo_personality");                                               \
        ipo_gloo_inside.frame = (recorded) ? (mine) : ipo_gloo_inside.frame;                                           \
        ipo_gloo_inside.nested += !(recorded);                                                                         \
        __VA_ARGS__;                                                                                                   \
        ipo_gloo_inside.frame = (recorded) ? NULL : ipo_gloo_inside.frame;                                             \
        ipo_gloo_inside.nested -= !(recorded);                                                                         \
    } while (0)
struct ipo_gloo_call {
    struct ipo_frame *frame; /* the call that is recorded */
    unsigned nested;         /* calls inside it that are not */
};
extern __thread struct ipo_gloo_call ipo_gloo_inside;
/* Asked by the unwinder, as the C++ ABI says.  Only the tables of the wrappers name it. */
int ipo_gloo_personality(int version, int actions, uint64_t class, void *exception, void *context);

/* A collective that PyTorch runs, on the stack of its thread. */
struct ipo_gloo_run {
    const struct ipo_path *path; /* path to the call that queued it; NULL: not known */
    struct ipo_comm *comm;       /* the group; NULL: not known */
    uint64_t site, sequence;
    bool numbered; /* `sequence` is its number in its group, and no call of Gloo has it yet */
};
/* Begins a queued collective in its thread, before `execute`. */
void ipo_gloo_run_begin(struct ipo_gloo_run *run, uintptr_t work);
/* Ends it, after `execute`. */
void ipo_gloo_run_end(void);
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
/* Defines the group of a controller, whose name is a hash of its ranks, as ipo_gloo_group_begin.  Keeps errno. */
struct ipo_comm *ipo_gloo_group(uintptr_t controller, uint64_t name, int rank, int size);
/* Makes the address of another part of a group known as the group's. */
void ipo_gloo_context_is(uintptr_t address, struct ipo_comm *comm);
/* The group at this address, or of the context at it; NULL: it is not known.  Any thread. */
struct ipo_comm *ipo_gloo_comm(uintptr_t address);

/* ---- messages.c */

/* Notes the transport of a context that has been connected: its buffers know only that. */
void ipo_gloo_connected(uintptr_t context);
/* Notes that a buffer begins to send, or to receive; NULL: within a collective, or the group is not known. */
const struct ipo_gloo_message *ipo_gloo_post(uintptr_t buffer, int partner, uint64_t slot, uint64_t offset,
                                             uint64_t bytes);
/* The last message of a buffer; NULL as above. */
const struct ipo_gloo_message *ipo_gloo_posted(uintptr_t buffer);

/* ---- horovod.c: Horovod's controller and operations over Gloo, by their tables of virtual functions */

struct ipo_elf;
/* Calls lead(with, slot, function) for the slots of an object's tables that have a function of ours. */
void ipo_gloo_tables(const struct ipo_elf *elf, void (*lead)(void *with, uintptr_t *slot, ipo_function to), void *with);
