/* The record path: from a wrapper to an event.  Between ipo_enter and ipo_leave the real call runs, once. */
#ifndef IPO_RECORD_H
#define IPO_RECORD_H

#include "interpose/core/state.h"
#include "interpose/mpi/calls.h"
#include "interpose/mpi/thread.h"
#include "trace/writer/writer.h"

/* What a wrapper keeps on its stack during the call. */
struct ipo_frame {
    const void *address; /* of the wrapper's stack frame: tells nested calls from stale marks */
    uint64_t site;       /* return address: the call site */
    struct ipo_thread *thread;
    const struct ipo_call *call;
    struct ipo_comm *comm;
    struct ipo_nccl_copy *copy;     /* the NCCL that is called; set for its calls only */
    uint64_t begin, end;            /* ticks */
    uint64_t sequence;              /* of a collective */
    uint64_t gpu_op, gpu_launch;    /* nccl_state.c: its operation, and what it is launched with; NCCL's calls only */
    struct ipo_nccl_cached *cached; /* of NCCL's calls: where this one is remembered; NULL: nowhere */
    uint32_t index;                 /* of the signature */
    bool nested;
    bool late;        /* sizes are missing: to be described again when MPI has accepted the datatypes */
    bool numbered;    /* it has its number among the communicator's collectives */
    int result;       /* of the real call */
    bool failed;      /* it is an error */
    bool poll;        /* nothing had happened: goes to a fold */
    uintptr_t status; /* a status the real call was given: the caller's or ours; 0 none */
    uintptr_t handle; /* of an object that the call takes away, the claim of a message, or what a Wait waits for */
    uint64_t key;     /* what decides the signature where no argument does; IPO_NO_KEY: too much does */
    struct trc_sig sig;
};

#define IPO_NO_KEY UINT64_MAX

/* Before the real call.  False: pass through, ipo_leave must not be called.  `args` may be changed: where the caller
 * ignores a status that is needed, one of ours takes its place. */
bool ipo_enter(struct ipo_frame *frame, enum ipo_call_id id, uintptr_t *args);

/* After it.  Keeps errno. */
void ipo_leave(struct ipo_frame *frame, const uintptr_t *args, int result);

/* Whether the marked call is still there, of which the calling one would be a part.  (mark.c) */
bool ipo_mark_stands(const struct ipo_thread *thread, const struct ipo_frame *frame);

/* Whether a call is made inside another one.  A frame below the mark runs inside the marked call, if that is still
 * there: longjmp or a C++ exception may have left it without passing ipo_leave. */
static inline bool ipo_is_inside(const struct ipo_thread *thread, const struct ipo_frame *frame)
{
    return __builtin_expect(frame->address < thread->mark, 0) && ipo_mark_stands(thread, frame);
}

/* Whether a nested call is the C function that the Fortran layer calls inside the wrapper of the same name (MPICH): the
 * same call, not another one.  Only the first is; what a callback calls in there counts as nested. */
static inline bool ipo_is_twin(const struct ipo_frame *frame)
{
    struct ipo_thread *thread = frame->thread;
    bool same = thread->twin == frame->call && frame->address < thread->twin_below;
    if (same)
        thread->twin = NULL;
    return same;
}

/* The thread calls again, outside of the call that it has marked: that was left by a longjmp. */
void ipo_call_left(struct ipo_thread *thread);

/* ---- for the files that know classes of calls */

/* Before the call, first `prepare`: keeps what the call will overwrite, puts statuses of ours where they are needed.
 * Then `describe`: fills frame->sig from the arguments; left out where the signature is remembered (sig_cache.h).  After it,
 * `finish`: completes the signature from the results, and writes the event by ipo_emit, then what follows it.  NULL:
 * nothing to do, or just ipo_emit. */
struct ipo_class {
    void (*prepare)(struct ipo_frame *, uintptr_t *args);
    void (*describe)(struct ipo_frame *, uintptr_t *args);
    void (*finish)(struct ipo_frame *, const uintptr_t *args);
};
extern IPO_OURS const struct ipo_class ipo_classes[];

/* Writes the event (or fold) of frame->sig and counts it. */
void ipo_emit(struct ipo_frame *frame);

/* Takes the next start number of the thread for the request that the event just written started. */
uint64_t ipo_next_start(struct ipo_thread *thread);

/* Adds bytes to the counters of a call that is not the one being recorded (a receive that a Wait completed). */
void ipo_charge(struct ipo_thread *thread, uint32_t call, uint64_t site, uint64_t sent, uint64_t received);

/* Counts a point-to-point message; `index` is the signature that carries P2P_OUT or P2P_IN. */
void ipo_count_sent(struct ipo_thread *thread, uint32_t index);
void ipo_count_received(struct ipo_thread *thread, uint32_t index);

#endif
