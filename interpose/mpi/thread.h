/* State that the recorder keeps for each thread of the program: its stream and scratch memory.  Found through one word
 * of thread-local storage (initial-exec), made at the thread's first call. */
#pragma once

#include "interpose/core/state.h"
#include "interpose/mpi/calls.h"
#include "interpose/mpi/requests.h"
#include "trace/writer/writer.h"

#define IPO_TYPES       64u    /* datatypes that are remembered */
#define IPO_SHARED      65536u /* starts under way behind the shared handle, in parts that are made when needed */
#define IPO_SHARED_PART 1024u
#define IPO_SHARED_NEAR 16u /* starts at the front of a queue, searched one by one */
/* A bit in a start's `variable`, an even address: one thread fills the place in or copies it, and no other thread reads
 * it meanwhile. */
#define IPO_SHARED_BUSY 1u

struct ipo_type {
    uintptr_t handle; /* 0: free */
    uint64_t size;
    uint64_t signature; /* number of its type signature (datatypes.h); 0: not known */
    uint64_t stamp;     /* stamp of the signature cache when MPI was asked; 0: predefined, never changes */
};

#define IPO_CACHE_ROWS  256u
#define IPO_CACHE_WORDS 9u /* words that Sendrecv needs */

/* A cached call (cached.h). */
struct ipo_cached {
    uint64_t site;  /* call site and call: ipo_cache_site */
    uint64_t stamp; /* 0: free */
    struct trc_sig_state *state;
    struct ipo_comm *comm;
    uint64_t key;                    /* frame->key */
    uint32_t inside, version;        /* signature: index + 1, its version, as in the live page */
    uintptr_t word[IPO_CACHE_WORDS]; /* the deciding arguments in their order, then the sums */
    const struct ipo_path *path;
};
_Static_assert(sizeof(struct ipo_cached) == 128, "two cache lines");

#define IPO_RECENT 64u

/* Memory of the last call from a place, found by its origin (ipo_cache_origin). */
struct ipo_recent {
    const struct ipo_path *path;     /* path of the last one that was not cached; NULL: none was */
    const struct ipo_cached *cached; /* the last one that was added to the cached calls; NULL: none was */
};

struct ipo_frame;
struct ipo_nccl_own;

/* Whether MPI may be asked for the size of a datatype: only after a call has accepted it, since a wrong handle would
 * raise the program's error.  MISSED: a size was needed and could not be asked for. */
enum ipo_sizes { IPO_SIZES_ASKED, IPO_SIZES_KNOWN_ONLY, IPO_SIZES_MISSED };

struct ipo_thread {
    struct ipo_cached cache[IPO_CACHE_ROWS]; /* first: a row is found by its distance from here */
    struct ipo_recent recent[IPO_RECENT];
    struct trc_stream stream;
    const struct ipo_frame *outer; /* the mark: of the outermost wrapper now running, on its stack; NULL: none */
    uint64_t outer_site;           /* return address of the outer call */
    uint32_t tid;
    uint64_t rounds; /* calls that were negotiation rounds (negotiation.h) */
    struct ipo_thread *next;
    uint32_t making; /* call path of the call under way that makes an object; 0: none does */
    enum ipo_sizes sizes;
    uint64_t moves[2]; /* type signatures of what the call that is described sends and receives; 0: none or not known */
    struct ipo_type type[IPO_TYPES];
    uint64_t shared_first, shared_end; /* positions in the queue of starts behind the shared handle */
    struct ipo_request *shared[IPO_SHARED / IPO_SHARED_PART];
    struct ipo_request shared_start[IPO_SHARED_PART]; /* the first part; the only one as a rule */
    struct ipo_request of_other;  /* behind the shared handle, started by another thread, completed by this one */
    struct ipo_thread *had_start; /* the other thread that was searched last for such a start */
    uintptr_t *requests;          /* handles as they were before a Wait or Test overwrote them */
    struct ipo_request **entries; /* entries of the requests; only kept while several threads may call MPI */
    char *statuses;               /* one at least */
    uint64_t status[4];           /* first status, until more are needed */
    uint32_t scratch;             /* number of entries that fit */
    uint32_t claims;              /* requests that a call under way has taken out of sight */
    const struct ipo_frame *nccl; /* equal to the mark if the outermost wrapper is one of NCCL's */
    uint32_t nccl_depth;          /* of groups */
    struct ipo_nccl_own
        *nccl_own; /* state of its NCCL calls; mapped at the first, kept for the next owner of the page */
    /* A call from Fortran (fortran.c). */
    bool fortran;                /* a Fortran call is described or finished: args are C copies */
    uintptr_t variable;          /* the program's own request variable, or the first of an array, in a Fortran call */
    const struct ipo_call *twin; /* the call whose C function the Fortran layer may call; NULL: none */
    const void *twin_below;      /* calls of the twin come from frames below this one */
    uintptr_t *fortran_handles;  /* requests as C handles */
    int *fortran_indices;        /* indices that count from zero */
    uint32_t fortran_room;       /* number of entries that fit */
};

/* The calling thread's state, made on first use; NULL if there can be none.  Keeps errno. */
struct ipo_thread *ipo_thread_open(void);
/* The calling thread's state; ipo_thread_none, which has no cached call and is never written, where it has none. */
extern IPO_OURS __thread struct ipo_thread *ipo_thread_current;
extern IPO_OURS struct ipo_thread ipo_thread_none;
/* The calling thread's state, as ipo_thread_open.  Record path. */
static inline struct ipo_thread *ipo_thread_self(void)
{
    struct ipo_thread *thread = ipo_thread_current;
    return __builtin_expect(thread != &ipo_thread_none, 1) ? thread : ipo_thread_open();
}

/* Ends the recording, and says why: a call ended on another thread than it began on, so two threads write one
 * stream. */
void ipo_thread_moved(void);

/* The state of a Linux thread, or NULL.  For our own thread, which only reads it. */
const struct ipo_thread *ipo_thread_of(uint32_t tid);
/* The first of all; `next` leads to the others. */
const struct ipo_thread *ipo_thread_first(void);
/* The first of all, for a thread of the program that takes starts of other threads (requests.c). */
struct ipo_thread *ipo_threads(void);

/* Drops the cached calls and the remembered paths of all threads.  Any thread. */
void ipo_threads_forget(void);

/* The start at this position of a thread's queue behind the shared handle; NULL: its part does not exist.  Any
 * thread. */
static inline struct ipo_request *ipo_shared_at(const struct ipo_thread *thread, uint64_t at)
{
    struct ipo_request *part = __atomic_load_n(&thread->shared[at % IPO_SHARED / IPO_SHARED_PART], __ATOMIC_ACQUIRE);
    return part ? part + at % IPO_SHARED_PART : NULL;
}

/* Returns the place for a start behind the shared handle, where the owner has none to drop before and no other thread
 * may search for it; else NULL: ipo_shared_add finds the place. */
static inline struct ipo_request *ipo_shared_usual(const struct ipo_thread *thread)
{
    const uint64_t first = thread->shared_first, end = thread->shared_end;
    struct ipo_request *place = ipo_shared_at(thread, end);
    if (!place || end - first >= IPO_SHARED_NEAR || ipo_process.serialized ||
        (first != end && !ipo_shared_at(thread, first)->variable))
        return NULL;
    return place;
}

/* Makes a place of ipo_shared_usual or ipo_shared_add, for this `variable`, visible to searches. */
static inline void ipo_shared_publish(struct ipo_thread *thread, struct ipo_request *request, uintptr_t variable)
{
    __atomic_store_n(&request->variable, variable & ~(uintptr_t)IPO_SHARED_BUSY, __ATOMIC_RELEASE);
    __atomic_store_n(&thread->shared_end, thread->shared_end + 1, __ATOMIC_RELEASE);
}

/* Moves an empty queue that ends at `end` to its first place again: memory that is warm.  By the owner. */
static inline void ipo_shared_restart(struct ipo_thread *thread, uint64_t end)
{
    const uint64_t front = (end | (IPO_SHARED - 1)) + 1;
    __atomic_store_n(&thread->shared_first, front, __ATOMIC_RELEASE); /* before the end: others see an empty queue */
    __atomic_store_n(&thread->shared_end, front, __ATOMIC_RELEASE);
}

/* Drops the oldest start behind the shared handle.  By the owner; other threads may read it meanwhile. */
static inline void ipo_shared_next(struct ipo_thread *thread, struct ipo_request *oldest)
{
    const uint64_t next = thread->shared_first + 1;
    __atomic_store_n(&oldest->variable, 0, __ATOMIC_RELAXED);
    if (next == thread->shared_end)
        ipo_shared_restart(thread, next - 1);
    else
        __atomic_store_n(&thread->shared_first, next, __ATOMIC_RELAXED);
}

/* Makes room for `n` requests and statuses in the thread's scratch memory.  False: no memory.  Keeps errno. */
bool ipo_thread_scratch_slow(struct ipo_thread *thread, uint32_t n);
/* Makes sure of scratch room; ipo_thread_scratch_slow does the work if there is none already. */
static inline bool ipo_thread_scratch(struct ipo_thread *thread, uint32_t n)
{
    return __builtin_expect(n <= thread->scratch, 1) || ipo_thread_scratch_slow(thread, n);
}
