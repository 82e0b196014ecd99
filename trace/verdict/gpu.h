/* Device operations under way, of all ranks together: who waits in which collective on which communicator, who has not
 * come to it, and what it waits behind.  From the tables of trace/format/format_gpu.h alone.  For gpu*.c only. */
#ifndef ANA_VERDICT_GPU_H
#define ANA_VERDICT_GPU_H

#include "trace/verdict/verdict_impl.h"

/* One operation that is not over. */
struct ana_gpu_wait {
    size_t index; /* rank */
    const struct trc_gpu_op *op;
    const struct trc_comm *comm;
    int64_t since_ns, lasted_ns; /* in its state */
};

/* One collective that somebody waits in. */
struct ana_gpu_meet {
    uint64_t identity, sequence;
    const struct trc_comm *comm; /* of the first who waits */
    size_t first, count;         /* waits, side by side */
    int64_t lasted_ns;           /* since the last of them came */
    size_t *missing;             /* rank indices: have not come */
    size_t missing_count;
    size_t nowhere;  /* members of which no file is known */
    size_t leads_to; /* another meet, which must end first; SIZE_MAX: none */
};

struct ana_gpu {
    struct ana_gpu_wait *wait; /* collectives first, by communicator and sequence; then messages */
    size_t waits, wait_room, collectives;
    struct ana_gpu_meet *meet;
    size_t meets;
    size_t *room;          /* for the indices of a set of ranks */
    struct ana_map member; /* identity, rank in it -> rank index + 1, size_t */
    struct ana_map freed;  /* identity, rank index -> it gave the communicator up, uint8_t */
    struct ana_map newest; /* identity, rank index -> sequence of the newest collective that it came to + 1, uint64_t */
};

/* The name of an operation's call, as a term of a fact. */
static inline struct ana_call ana_gpu_call_of(const struct ana_case *c, const struct ana_gpu_wait *wait)
{
    return (struct ana_call){.name = trc_call(c->job->process[wait->index].rank.file, wait->op->call)->name};
}

/* Gathers the device operations under way.  False: there are none, or out of memory (then c->memory). */
bool ana_gpu_gather(struct ana_case *c, struct ana_gpu *gpu);
/* Frees them; the struct is the caller's. */
void ana_gpu_free(struct ana_gpu *gpu);

/* The rank index of rank `rank` of a communicator of rank `index`; SIZE_MAX: it has no file. */
size_t ana_gpu_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct trc_comm *comm, size_t index,
                      int32_t rank);
/* Whether rank `index` is a member of the communicator: by its own file or, for one of all ranks, by any file. */
bool ana_gpu_is_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, size_t index);
/* The newest operation of a rank that is collective `sequence` of a communicator, over or not; NULL: it is no longer in
 * the rank's table. */
const struct trc_gpu_op *ana_gpu_op_of(const struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence);

/* gpu_mismatch.c: finds ranks that called different operations, or with other sizes, under one number, and fills
 * c->out.  False: there are none. */
bool ana_gpu_mismatch(struct ana_case *c, const struct ana_gpu *gpu);

#endif
