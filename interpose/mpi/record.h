/* The record path: from a wrapper to an event.  Between ipo_enter and ipo_leave the real call runs, once. */
#pragma once

#include "interpose/core/state.h"
#include "interpose/mpi/calls.h"
#include "interpose/mpi/thread.h"
#include "interpose/sites/path.h"
#include "trace/writer/writer.h"

/* State that a wrapper keeps on its stack during the call. */
struct ipo_frame {
    _Alignas(16) const void *address; /* address of the wrapper's stack frame: shows nested calls and stale marks */
    struct ipo_thread *thread;
    uint64_t site;               /* return address, or a line of Python: the call site */
    uintptr_t stack;             /* stack pointer of the calling code after the call, */
    uintptr_t caller;            /* ... and its frame pointer */
    const struct ipo_path *path; /* NULL: not known yet */
    const struct ipo_call *call;
    struct ipo_comm *comm;
    struct ipo_nccl_copy *copy;     /* the NCCL that is called; set for its calls only */
    uint64_t begin, end;            /* ticks */
    uint64_t sequence;              /* number of a collective */
    uint64_t gpu_op, gpu_launch;    /* NCCL: its operation, and the first of its launch (nccl/state.c) */
    struct ipo_nccl_cached *cached; /* NCCL: its place in the cache; NULL: none */
    uint32_t index;                 /* index of the signature */
    enum ipo_call_id id;            /* row of a cached call */
    bool nested;
    bool late;        /* sizes are missing: describe it again when MPI has accepted the datatypes */
    bool numbered;    /* it has its number among the communicator's collectives */
    int result;       /* result of the real call */
    bool failed;      /* `result` is an error */
    bool poll;        /* it found nothing: counted into a fold */
    uintptr_t status; /* address of the status that the real call fills, the caller's or ours; 0: none */
    uintptr_t handle; /* object that the call frees; or the claim of a message, or a Wait's request */
    uint64_t key;     /* key that decides the signature where no argument does; IPO_NO_KEY: it is not cached */
    struct trc_sig sig;
    uintptr_t args[IPO_ARGS_MOST]; /* arguments of a C wrapper */
};

#define IPO_NO_KEY UINT64_MAX

/* The registers of the calling code, in the wrapper itself: its stack pointer after the call, and the address where its
 * frame pointer is saved. */
#define IPO_CALLER_STACK ((uintptr_t)__builtin_dwarf_cfa())
#define IPO_CALLER_FRAME ((const uintptr_t *)IPO_FRAME_HERE)

/* Fills in where a frame's call comes from, in the wrapper itself: IPO_FRAME_MARK for the mark of a call, and
 * IPO_FRAME_ORIGIN, before ipo_enter, for its path. */
#define IPO_FRAME_MARK(frame)                                                                                          \
    ((frame)->address = IPO_FRAME_HERE, (frame)->site = (uint64_t)(uintptr_t)__builtin_return_address(0))
#define IPO_FRAME_ORIGIN(frame) ((frame)->stack = IPO_CALLER_STACK, (frame)->caller = *IPO_CALLER_FRAME)

/* Before the real call; frame->address and frame->site are set.  False: pass the call through without ipo_leave.  May
 * change `args`: a status of the thread's own replaces one that the caller ignores.  Keeps errno. */
bool ipo_enter(struct ipo_frame *frame, enum ipo_call_id id, uintptr_t *args);

/* After the real call, with the same frame and args and its result, which is returned.  Keeps errno. */
int ipo_leave(struct ipo_frame *frame, const uintptr_t *args, int result);

/* After the real call of a cached call that is unusual: an error, another message than posted, no room, another
 * thread.  Returns `result`, the real call's. */
int ipo_leave_cached(struct ipo_frame *frame, const struct ipo_cached *cached, int result);

/* Returns whether the call that the thread has marked still runs; `frame` belongs to a call below it.  (mark.c) */
bool ipo_mark_is_valid(const struct ipo_thread *thread, const struct ipo_frame *frame);

/* Whether a call is made inside another one: its stack frame is below the mark, and the marked call still runs.  A
 * longjmp or a C++ exception may have left that one without ipo_leave. */
static inline bool ipo_is_inside(const struct ipo_thread *thread, const struct ipo_frame *frame)
{
    return __builtin_expect(frame->address < (const void *)thread->outer, 0) && ipo_mark_is_valid(thread, frame);
}

/* Whether a nested call is the C function that MPICH's Fortran layer calls for the Fortran call under way: the same
 * call, not another one.  Only the first such call is; later ones, from callbacks, are nested. */
static inline bool ipo_is_twin(const struct ipo_frame *frame)
{
    struct ipo_thread *thread = frame->thread;
    bool same = thread->twin == frame->call && frame->address < thread->twin_below;
    if (same)
        thread->twin = NULL;
    return same;
}

/* Closes a call that a longjmp or an exception left without ipo_leave. */
void ipo_call_left(struct ipo_thread *thread);

/* ---- for the files that know classes of calls */

/* Steps of a class.  Before the call, first `prepare`: keeps the words that the call will overwrite, puts statuses of
 * ours where they are needed. Then `describe`: fills frame->sig from the arguments; left out where the signature is
 * remembered (cached.h).  After it, `finish`: completes the signature from the results, and writes the event by
 * ipo_emit, then what follows it.  NULL: nothing to do, or just ipo_emit. */
struct ipo_class {
    void (*prepare)(struct ipo_frame *, uintptr_t *args);
    void (*describe)(struct ipo_frame *, uintptr_t *args);
    void (*finish)(struct ipo_frame *, const uintptr_t *args);
};
extern IPO_OURS const struct ipo_class ipo_classes[];

/* Writes the event (or fold) of frame->sig and counts it. */
void ipo_emit(struct ipo_frame *frame);

/* The next start number of the thread, for the request that the event just written started. */
uint64_t ipo_next_start(struct ipo_thread *thread);

/* Counts a received message whose bytes no call counts; `index` of the signature with its partner and bytes. */
void ipo_count_message(struct ipo_thread *thread, uint32_t index);
