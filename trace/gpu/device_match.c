/* Matching of kernels with NCCL's operations. */
#include "trace/gpu/device_data.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/gpu/nccl_bandwidth.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define WAITING     65536   /* launches, or kernels, of one stream that wait for their other half, at most; */
#define WAITING_ALL 4194304 /* the same for a stream of every rank together: kernels of graphs have no other half */
#define EARLY_NS    200000  /* a kernel may seem to begin so much before its call: two clocks */

/* A launch: an operation, or the operations of a group that share a kernel. */
struct launch {
    struct ana_nccl_call call,
        other; /* S of all its operations of the one call, and of the other: receives beside sends */
    bool has_other;
    bool shared; /* several collectives: whose time it is is not known */
};
struct ran {
    int64_t begin_ns, end_ns;
    enum ana_nccl_function function;
};
/* A list that is read from `from` on. */
struct list {
    void *at;
    size_t count, room, from;
};
/* The launches and kernels of a stream that wait for each other: one of the lists is always empty. */
struct queue {
    struct list launches, kernels;
};
/* Operations of an open group, to be launched on one communicator and stream. */
struct pending {
    struct launch launch;
    uint32_t number;
};

struct ana_gpu_match *ana_gpu_match_new(size_t ranks)
{
    struct ana_gpu_match *match = calloc(1, sizeof *match);
    if (!match || !(match->rows = ana_nccl_rows_new())) {
        free(match);
        return NULL;
    }
    match->waiting = ranks > WAITING_ALL / WAITING ? WAITING_ALL / ranks + 64 : WAITING;
    ana_map_init(&match->queues, sizeof(struct queue));
    ana_map_init(&match->groups, sizeof(struct list));
    return match;
}

void ana_gpu_match_free(struct ana_gpu_match *match)
{
    if (!match)
        return;
    for (size_t i = 0; i < match->queues.count; i++) {
        struct queue *q = ana_map_value(&match->queues, i);
        free(q->launches.at);
        free(q->kernels.at);
    }
    for (size_t i = 0; i < match->groups.count; i++)
        free(((struct list *)ana_map_value(&match->groups, i))->at);
    ana_map_free(&match->queues);
    ana_map_free(&match->groups);
    ana_nccl_rows_free(match->rows);
    free(match);
}

static void add_pair(struct ana_job *job, struct ana_gpu_match *match, const struct launch *l, const struct ran *k)
{
    enum ana_nccl_share share = l->shared ? ANA_NCCL_SHARED : ANA_NCCL_ALONE;
    ana_nccl_rows_kernel(job, match->rows, &l->call, k->begin_ns, k->end_ns, share);
    if (l->has_other && !l->shared)
        ana_nccl_rows_kernel(job, match->rows, &l->other, k->begin_ns, k->end_ns, ANA_NCCL_WITH_OTHER);
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

/* Appends an element to a list.  False: `most` wait already, or out of memory. */
static bool append(struct list *list, const void *element, size_t size, size_t most)
{
    if (list->from > 64 && list->from * 2 > list->count) {
        memmove(list->at, (char *)list->at + list->from * size, (list->count - list->from) * size);
        list->count -= list->from;
        list->from = 0;
    }
    if (list->count - list->from >= most || !ana_grow(&list->at, list->count, &list->room, size))
        return false;
    memcpy((char *)list->at + list->count++ * size, element, size);
    return true;
}

/* Returns whether a kernel can belong to a launch.  Else it belongs to a later launch, and this one's kernel was
 * lost. */
static bool can_be(struct ana_gpu_match *match, const struct queue *q, const struct launch *l, const struct ran *k)
{
    if (!l->shared && !l->call.p2p && !ana_nccl_rows_fits(match->rows, &l->call, k->begin_ns))
        return false;
    enum ana_nccl_function wanted = l->shared ? ANA_NCCL_ANY : ana_nccl_function_of(l->call.name);
    if (wanted == ANA_NCCL_ANY || k->function == ANA_NCCL_ANY || wanted == k->function)
        return true;
    for (const struct launch *later = l + 1; later < (const struct launch *)q->launches.at + q->launches.count; later++)
        if (!later->shared && ana_nccl_function_of(later->call.name) == k->function)
            return false;
    return true; /* names do not always tell the function */
}

static void match_heads(struct ana_job *job, struct ana_gpu_match *match, struct queue *q)
{
    struct list *launches = &q->launches, *kernels = &q->kernels;
    while (launches->from < launches->count && kernels->from < kernels->count) {
        const struct launch *l = (const struct launch *)launches->at + launches->from;
        const struct ran *k = (const struct ran *)kernels->at + kernels->from;
        /* The kernel is of a graph, or of a call that was not recorded. */
        if (k->begin_ns + EARLY_NS < l->call.begin_ns || k->end_ns < l->call.begin_ns) {
            match->unmatched++;
            kernels->from++;
            continue;
        }
        if (!can_be(match, q, l, k)) {
            match->unmatched++;
            launches->from++;
            continue;
        }
        add_pair(job, match, l, k);
        launches->from++;
        kernels->from++;
    }
}

void ana_gpu_match_kernel(struct ana_job *job, struct ana_gpu_match *match, size_t index, uint32_t stream_number,
                          const char *name, int64_t begin_ns, int64_t end_ns)
{
    struct queue *q = ana_map_add(&match->queues, index, stream_number, 0);
    const struct ran k = {begin_ns, end_ns, ana_nccl_function_of(name)};
    if (q && append(&q->kernels, &k, sizeof k, match->waiting))
        match_heads(job, match, q);
    else
        match->unmatched++;
}

static void add_launch(struct ana_job *job, struct ana_gpu_match *match, size_t index, uint32_t number,
                       const struct launch *launch)
{
    struct queue *q = number ? ana_map_add(&match->queues, index, number, 0) : NULL;
    if (q && append(&q->launches, launch, sizeof *launch, match->waiting))
        match_heads(job, match, q);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static uint64_t add_known(uint64_t a, uint64_t b)
{
    return a == UINT64_MAX || b == UINT64_MAX ? UINT64_MAX : a + b;
}

/* Adds an operation of a group to those for the same communicator and stream. */
static void add_to_group(struct list *group, const struct ana_nccl_call *one, uint32_t number)
{
    for (size_t i = 0; i < group->count; i++) {
        struct pending *p = (struct pending *)group->at + i;
        struct launch *l = &p->launch;
        if (l->call.identity != one->identity || p->number != number)
            continue;
        l->shared |= !l->call.p2p || !one->p2p;
        if (one->call == l->call.call) {
            l->call.bytes = add_known(l->call.bytes, one->bytes);
        } else if (!l->has_other) {
            l->has_other = true;
            l->other = *one;
        } else if (one->call == l->other.call) {
            l->other.bytes = add_known(l->other.bytes, one->bytes);
        }
        return;
    }
    append(group, &(struct pending){{.call = *one}, number}, sizeof(struct pending), WAITING);
}

void ana_gpu_call(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    struct ana_gpu_match *match = gpu->match;
    enum trc_opclass opclass = e->use->call->opclass;
    if (e->kind != TRC_RECORD_EVENT || e->sig->flags & (TRC_SIG_FAILED | TRC_SIG_SUB))
        return;
    bool grouped = e->sig->flags & TRC_SIG_GROUPED;
    if (opclass == TRC_OP_NCCL_GROUP) {
        struct list *group = grouped || strcmp(e->use->call->name, "ncclGroupEnd") != 0
                                 ? NULL
                                 : ana_map_find(&match->groups, e->index, e->thread, 0);
        const struct pending *p = group ? group->at : NULL;
        for (size_t i = 0; group && i < group->count; i++)
            add_launch(job, match, e->index, p[i].number, &p[i].launch);
        if (group)
            group->count = 0;
        return;
    }
    if (!trc_opclass_is(opclass, TRC_FACT_ENQUEUES))
        return;
    struct ana_nccl_call c = {.name = e->use->call->name,
                              .identity = e->use->comm ? e->use->comm->def.identity : 0,
                              .sequence = ana_event_sequence(e),
                              .begin_ns = e->begin_ns,
                              .of = e->use->call,
                              .step = e->step,
                              .index = e->index,
                              .call = ana_call_number_of(ana_job_members(job), e->index, e->sig->call),
                              .size = e->use->comm ? e->use->comm->def.size : 0,
                              .p2p = opclass == TRC_OP_NCCL_P2P,
                              .peer = SIZE_MAX,
                              .sends = strncmp(e->use->call->name, "ncclRecv", 8) != 0,
                              .together = ana_nccl_together(e->use->call->name)};
    c.bytes = ana_nccl_size(e->use->call->name, e->sig->sent, e->sig->received, c.size);
    c.size_class = (uint16_t)(c.bytes == UINT64_MAX ? 0 : trc_size_class(c.bytes));
    int32_t other = c.sends ? e->sig->peer : e->sig->source;
    if (c.p2p && other >= 0)
        c.peer = ana_index_of_rank(job, ana_job_rank(job, e->index)->world, other);
    ana_nccl_rows_call(job, match->rows, &c, e->use->comm);
    if (c.size < 2)
        return; /* one rank alone: NCCL copies, if anything */
    if (!grouped) {
        add_launch(job, match, e->index, e->sig->object, &(struct launch){.call = c});
        return;
    }
    struct list *group = ana_map_add(&match->groups, e->index, e->thread, 0);
    if (group)
        add_to_group(group, &c, e->sig->object);
}

/* ---- a look ----------------------------------------------------------------------------------------------------- */

/* Kernels and launches whose other half has not come so far. */
static uint64_t count_unmatched(const struct ana_gpu_match *match)
{
    uint64_t unmatched = match->unmatched;
    for (size_t i = 0; i < match->queues.count; i++) {
        const struct queue *q = ana_map_value(&match->queues, i);
        unmatched += q->kernels.count - q->kernels.from;
    }
    return unmatched;
}

bool ana_gpu_match_summarize(const struct ana_job *job, const struct ana_gpu_match *match,
                             const struct ana_selection *selection, struct ana_gpu_summary *out)
{
    out->unmatched = count_unmatched(match);
    return ana_nccl_rows_summarize(job, match->rows, selection, out);
}

void ana_gpu_match_archive(struct ana_archive *archive, struct ana_job *job, struct ana_gpu_match *match, size_t newest)
{
    uint64_t unmatched = count_unmatched(match);
    ANA_ARCHIVE(archive, unmatched);
    if (archive->loads)
        match->unmatched = unmatched;
    ana_nccl_rows_archive(archive, job, match->rows, newest);
}
