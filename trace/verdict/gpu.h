/* Device operations under way, of all ranks together: ranks waiting in each collective or message, ranks yet to come,
 * and operations ahead of theirs. From the tables of trace/format/format_gpu.h alone. For gpu*.c only. */
#pragma once

#include "trace/verdict/verdict_impl.h"

#define ANA_GPU_NO_RANK (-1)

/* One operation that is not over. */
struct ana_gpu_wait {
    size_t index; /* rank */
    const struct trc_gpu_op *op;
    const struct trc_comm *comm;
    int64_t since_ns, lasted_ns; /* time in its state */
    int32_t from, to;            /* ends of a message: ranks of the communicator, else ANA_GPU_NO_RANK */
    size_t meet;
    size_t ahead; /* the newest operation before it on its stream, of another launch; SIZE_MAX: none */
    size_t ended; /* a node that moves if its launch can end */
};

/* One collective, or one message, that somebody waits in. */
struct ana_gpu_meet {
    uint64_t identity, sequence;
    const struct trc_comm *comm; /* communicator of the first rank that waits */
    int32_t from, to;
    size_t first, count; /* waits, side by side */
    size_t size;         /* number of ranks that must come */
    size_t started;      /* number of waits whose kernel runs */
    bool waited_in;      /* a kernel runs, or a host is held up in the call: else other work on streams may take long */
    int64_t lasted_ns;   /* time since the last rank came */
    bool old;            /* it has lasted long enough to be asked about */
    size_t *missing;     /* rank indices: have not come */
    size_t missing_count;
    size_t nowhere; /* members without a known file */
    size_t node;    /* moves if all can come; of one that is not old, at once */
};

struct ana_gpu {
    struct ana_gpu_wait *wait; /* side by side what meets */
    size_t waits, wait_room;
    size_t *order; /* the same by rank, stream and number */
    struct ana_gpu_meet *meet;
    size_t meets;
    size_t *room;          /* for the indices of a set of ranks */
    struct trc_sig *sig;   /* call, by rank, of the operation that its host waits for */
    struct ana_map member; /* identity, rank in it -> rank index + 1, size_t */
    struct ana_map freed;  /* identity, rank index -> it gave the communicator up, uint8_t */
    struct ana_map newest; /* identity, rank index -> sequence of the newest collective that it came to + 1, uint64_t */
};

/* The name of an operation's call, as a term of a fact. */
static inline struct ana_call ana_gpu_call_of(const struct ana_case *c, const struct ana_gpu_wait *wait)
{
    return (struct ana_call){.name = trc_call(c->members->process[wait->index].rank.file, wait->op->call)->name};
}

/* Whether it is a message, not a collective. */
static inline bool ana_gpu_is_message(const struct ana_gpu_meet *meet)
{
    return meet->from != ANA_GPU_NO_RANK;
}

/* The rank index of rank `rank` of a communicator of rank `index`; SIZE_MAX: it has no file. */
size_t ana_gpu_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct trc_comm *comm, size_t index,
                      int32_t rank);
/* Whether rank `index` is a member of the communicator: by its own file or, for one of all ranks, by any file. */
bool ana_gpu_is_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, size_t index);
/* The newest operation of a rank that is collective `sequence` of a communicator, over or not; NULL: it is no longer in
 * the rank's table. */
const struct trc_gpu_op *ana_gpu_op_of(const struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence);

/* The other end of a message; NULL if its rank has not called it, or (*past) has by now called later ones, so that its
 * table may have forgotten it. */
const struct trc_gpu_op *ana_gpu_other_end(const struct ana_case *c, size_t index, const struct ana_gpu_wait *wait,
                                           bool *past);

/* gpu_knot.c: finds operations that wait for each other, and for hosts that wait for them, and fills c->out.  False:
 * there are none. */
bool ana_gpu_knot(struct ana_case *c, struct ana_gpu *gpu);

/* gpu_model.c: the place in gpu->order of the first operation of a rank. */
size_t ana_gpu_first(const struct ana_gpu *gpu, size_t index);
/* gpu_model.c: the operation at that place; NULL: it is another rank's, or there are no more. */
struct ana_gpu_wait *ana_gpu_at(const struct ana_gpu *gpu, size_t at, size_t index);

/* gpu_find.c: a message whose other end was not called, as the summary of a finding. */
void ana_gpu_explain_unmatched(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *meet);
/* gpu_find.c: a fact about a collective or message; the finding's culprits name the ranks. */
struct ana_fact ana_gpu_fact(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *meet,
                             enum ana_sentence id);
/* gpu_find.c: writes the ranks that wait in it, or whose kernel runs, to gpu->room, each once; returns how many. */
size_t ana_gpu_waiting_in(struct ana_gpu *gpu, const struct ana_gpu_meet *meet, bool started);
