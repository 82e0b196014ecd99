#include "trace/device_impl.h"
#include "trace/job_impl.h"
#include "trace/nccl_bandwidth.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAITING     65536   /* launches, or kernels, of one stream that wait for their other half, at most; */
#define WAITING_ALL 4194304 /* ... and of a stream of every rank together: kernels of graphs have no other half */
#define INSTANCES   16384u  /* operations of which some ranks' kernels are to come */
#define EARLY_NS    200000  /* a kernel may seem to begin so much before its call: two clocks */

/* An operation, or those of a group that share a kernel. */
struct launch {
    uint64_t identity, sequence;
    uint64_t bytes, other_bytes; /* S of all its operations of `call`, of `other_call` */
    int64_t begin_ns;
    uint32_t call, other_call; /* job-wide; other_call: receives beside sends */
    int32_t size;
    uint16_t size_class, other_class;
    bool p2p, has_other;
    bool shared; /* several collectives: whose time it is cannot be told */
};
struct kernel {
    int64_t begin_ns, end_ns;
};
/* One of both is empty: they meet at once. */
struct queue {
    struct launch *launch;
    struct kernel *kernel;
    size_t launches, launch_room, launch_from;
    size_t kernels, kernel_room, kernel_from;
};
/* Of an open group: what will be launched on one communicator and stream. */
struct pending {
    struct launch launch;
    size_t index;
    uint32_t number, operations;
};
struct group {
    struct pending *pending;
    size_t count, room;
};

struct row {
    uint32_t call;
    uint16_t size_class;
    int32_t size;
    uint64_t calls, bytes, timed, timed_bytes;
    bool unknown_bytes;
    int64_t kernel_ns, transfer_ns;
    struct ana_times_small transfer, skew;
};

struct instance { /* identity 0: free */
    uint64_t identity, sequence, bytes;
    uint32_t call, arrivals;
    uint16_t size_class;
    int32_t size;
    int64_t shortest_ns, longest_ns;
};

struct ana_gpu_match {
    struct ana_map queues; /* rank index, stream number */
    struct ana_map groups; /* rank index, thread */
    struct ana_map rows;   /* communicator, call, size class */
    struct instance *instance;
    uint64_t unmatched;
    size_t waiting; /* in one queue, at most */
};

struct ana_gpu_match *ana_gpu_match_new(size_t ranks)
{
    struct ana_gpu_match *match = calloc(1, sizeof *match);
    if (!match)
        return NULL;
    match->waiting = ranks > WAITING_ALL / WAITING ? WAITING_ALL / ranks + 64 : WAITING;
    ana_map_init(&match->queues, sizeof(struct queue));
    ana_map_init(&match->groups, sizeof(struct group));
    ana_map_init(&match->rows, sizeof(struct row));
    return match;
}

void ana_gpu_match_free(struct ana_gpu_match *match)
{
    if (!match)
        return;
    for (size_t i = 0; i < match->queues.count; i++) {
        struct queue *q = ana_map_value(&match->queues, i);
        free(q->launch);
        free(q->kernel);
    }
    for (size_t i = 0; i < match->groups.count; i++)
        free(((struct group *)ana_map_value(&match->groups, i))->pending);
    ana_map_free(&match->queues);
    ana_map_free(&match->groups);
    ana_map_free(&match->rows);
    free(match->instance);
    free(match);
}

static struct row *row_of(struct ana_gpu_match *match, uint64_t identity, uint32_t call, uint16_t size_class,
                          int32_t size)
{
    struct row *row = ana_map_add(&match->rows, identity, call, size_class);
    if (row) {
        row->call = call;
        row->size_class = size_class;
        row->size = size;
    }
    return row;
}

/* ---- times ---------------------------------------------------------------------------------------------------------
 */

static void add_time(struct row *row, uint64_t bytes, int64_t shortest_ns)
{
    row->timed++;
    row->timed_bytes += bytes == UINT64_MAX ? 0 : bytes;
    row->transfer_ns = ana_plus(row->transfer_ns, shortest_ns);
    ana_small_add(&row->transfer, shortest_ns, 1);
}

/* One rank's kernel of a collective.  When the last has come it is known who waited. */
static void arrive(struct ana_gpu_match *match, const struct launch *l, int64_t ns)
{
    if (!match->instance && !(match->instance = calloc(INSTANCES, sizeof *match->instance)))
        return;
    struct instance *o = &match->instance[(l->identity * 0x9e3779b97f4a7c15u + l->sequence) % INSTANCES];
    if (o->arrivals && (o->identity != l->identity || o->sequence != l->sequence))
        o->arrivals = 0; /* long ago: the other ranks' kernels did not come */
    if (o->arrivals == 0)
        *o = (struct instance){.identity = l->identity,
                               .sequence = l->sequence,
                               .bytes = l->bytes,
                               .call = l->call,
                               .size_class = l->size_class,
                               .size = l->size,
                               .shortest_ns = ns,
                               .longest_ns = ns};
    o->arrivals++;
    o->shortest_ns = ns < o->shortest_ns ? ns : o->shortest_ns;
    o->longest_ns = ns > o->longest_ns ? ns : o->longest_ns;
    if (l->bytes > o->bytes)
        o->size_class = l->size_class;
    o->bytes = l->bytes > o->bytes ? l->bytes : o->bytes;
    if (o->arrivals < (uint32_t)o->size)
        return;
    struct row *row = row_of(match, o->identity, o->call, o->size_class, o->size);
    if (row) {
        add_time(row, o->bytes, o->shortest_ns);
        ana_small_add(&row->skew, o->longest_ns - o->shortest_ns, 1);
    }
    o->arrivals = 0;
}

static void pair(struct ana_gpu_match *match, const struct launch *l, const struct kernel *k)
{
    int64_t ns = k->end_ns - k->begin_ns;
    struct row *row = row_of(match, l->identity, l->call, l->size_class, l->size);
    if (!row)
        return;
    row->kernel_ns = ana_plus(row->kernel_ns, ns);
    if (l->shared)
        return;
    if (!l->p2p) {
        arrive(match, l, ns);
        return;
    }
    add_time(row, l->bytes, ns);
    if (l->has_other && (row = row_of(match, l->identity, l->other_call, l->other_class, l->size)))
        add_time(row, l->other_bytes, ns);
}

/* ---- queues --------------------------------------------------------------------------------------------------------
 */

/* Room for one more at the end of a list that is read from `from` on; NULL: too many wait, or out of memory. */
static void *push(void **list, size_t *count, size_t *room, size_t *from, size_t size, size_t most)
{
    if (*from > 64 && *from * 2 > *count) {
        memmove(*list, (char *)*list + *from * size, (*count - *from) * size);
        *count -= *from;
        *from = 0;
    }
    if (*count - *from >= most)
        return NULL;
    if (*count == *room) {
        size_t more = *room ? *room * 2 : 16;
        void *grown = realloc(*list, more * size);
        if (!grown)
            return NULL;
        *list = grown;
        *room = more;
    }
    return (char *)*list + (*count)++ * size;
}

static void meet(struct ana_gpu_match *match, struct queue *q)
{
    while (q->launch_from < q->launches && q->kernel_from < q->kernels) {
        const struct launch *l = &q->launch[q->launch_from];
        const struct kernel *k = &q->kernel[q->kernel_from];
        if (k->begin_ns + EARLY_NS < l->begin_ns) { /* of a graph, or of a call that was not seen */
            match->unmatched++;
            q->kernel_from++;
            continue;
        }
        pair(match, l, k);
        q->launch_from++;
        q->kernel_from++;
    }
}

void ana_gpu_match_kernel(struct ana_gpu_match *match, size_t index, uint32_t stream_number, int64_t begin_ns,
                          int64_t end_ns)
{
    struct queue *q = ana_map_add(&match->queues, index, stream_number, 0);
    void *list = q ? q->kernel : NULL;
    struct kernel *k = q ? push(&list, &q->kernels, &q->kernel_room, &q->kernel_from, sizeof *k, match->waiting) : NULL;
    if (!k) {
        match->unmatched++;
        return;
    }
    q->kernel = list;
    *k = (struct kernel){begin_ns, end_ns};
    meet(match, q);
}

static void launched(struct ana_gpu_match *match, size_t index, uint32_t number, const struct launch *launch)
{
    struct queue *q = number ? ana_map_add(&match->queues, index, number, 0) : NULL;
    void *list = q ? q->launch : NULL;
    struct launch *l =
        q ? push(&list, &q->launches, &q->launch_room, &q->launch_from, sizeof *l, match->waiting) : NULL;
    if (!l)
        return;
    q->launch = list;
    *l = *launch;
    meet(match, q);
}

/* ---- calls ---------------------------------------------------------------------------------------------------------
 */

/* Puts an operation of a group to those that go to the same communicator and stream. */
static void add_to_group(struct group *group, const struct launch *one, size_t index, uint32_t number)
{
    for (size_t i = 0; i < group->count; i++) {
        struct launch *l = &group->pending[i].launch;
        if (l->identity != one->identity || group->pending[i].number != number)
            continue;
        group->pending[i].operations++;
        l->shared |= !l->p2p || !one->p2p;
        if (one->call == l->call) {
            l->bytes += one->bytes;
        } else if (!l->has_other) {
            l->has_other = true;
            l->other_call = one->call;
            l->other_bytes = one->bytes;
            l->other_class = one->size_class;
        } else if (one->call == l->other_call) {
            l->other_bytes += one->bytes;
        }
        return;
    }
    void *list = group->pending;
    size_t none = 0;
    struct pending *p = push(&list, &group->count, &group->room, &none, sizeof *p, WAITING);
    if (!p)
        return;
    group->pending = list;
    *p = (struct pending){*one, index, number, 1};
}

void ana_gpu_match_call(struct ana_job *job, struct ana_gpu_match *match, const struct ana_event *e)
{
    enum trc_opclass opclass = e->call->opclass;
    if (e->kind != TRC_RECORD_EVENT || e->sig->flags & (TRC_SIG_FAILED | TRC_SIG_SUB))
        return;
    bool grouped = e->sig->flags & TRC_SIG_GROUPED;
    if (opclass == TRC_OP_NCCL_GROUP) {
        struct group *group = grouped || strcmp(e->call->name, "ncclGroupEnd") != 0
                                  ? NULL
                                  : ana_map_find(&match->groups, e->index, e->thread, 0);
        for (size_t i = 0; group && i < group->count; i++)
            launched(match, e->index, group->pending[i].number, &group->pending[i].launch);
        if (group)
            group->count = 0;
        return;
    }
    if (opclass != TRC_OP_NCCL_COLL && opclass != TRC_OP_NCCL_P2P)
        return;
    struct launch l = {.identity = e->comm ? e->comm->def.identity : 0,
                       .sequence = e->sequence,
                       .begin_ns = e->begin_ns,
                       .call = ana_call_number_of(job, e->index, e->sig->call),
                       .size = e->comm ? e->comm->def.size : 0,
                       .p2p = opclass == TRC_OP_NCCL_P2P};
    l.bytes = ana_nccl_size(e->call->name, e->sig->sent, e->sig->received, l.size);
    l.size_class = (uint16_t)(l.bytes == UINT64_MAX ? 0 : trc_size_class(l.bytes));
    struct row *row = row_of(match, l.identity, l.call, l.size_class, l.size);
    if (row && row->calls == 0 && e->comm)
        ana_comm_name(job, l.identity, e->comm);
    if (row) {
        row->calls++;
        row->unknown_bytes |= l.bytes == UINT64_MAX;
        row->bytes += l.bytes == UINT64_MAX ? 0 : l.bytes;
    }
    if (l.size < 2)
        return; /* one rank alone: NCCL copies, if anything */
    if (!grouped) {
        launched(match, e->index, e->sig->object, &l);
        return;
    }
    struct group *group = ana_map_add(&match->groups, e->index, e->thread, 0);
    if (group)
        add_to_group(group, &l, e->index, e->sig->object);
}

/* ---- a look --------------------------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    const struct ana_nccl_stat *x = a, *y = b;
    int order = x->comm_identity == y->comm_identity ? 0 : strcmp(x->comm_name, y->comm_name);
    if (!order && x->comm_identity != y->comm_identity)
        order = x->comm_identity < y->comm_identity ? -1 : 1;
    if (!order)
        order = strcmp(x->call, y->call);
    return order ? order : x->size_class - y->size_class;
}

bool ana_gpu_match_look(const struct ana_job *job, const struct ana_gpu_match *match, struct ana_gpu_look *out)
{
    out->unmatched = match->unmatched;
    out->nccl = calloc(match->rows.count + 1, sizeof *out->nccl);
    if (!out->nccl)
        return false;
    for (size_t i = 0; i < match->rows.count; i++) {
        const struct row *row = ana_map_value(&match->rows, i);
        if (row->calls == 0)
            continue; /* a class that only one rank's view of it gave */
        struct ana_nccl_stat *s = &out->nccl[out->nccl_count++];
        uint64_t identity = ana_map_key(&match->rows, i)[0];
        char *const *name = ana_map_find(&job->comm_names, identity, 0, 0);
        *s = (struct ana_nccl_stat){.call = job->call[row->call].name,
                                    .comm_identity = identity,
                                    .comm_name = name && *name ? *name : "?",
                                    .size = row->size,
                                    .size_class = row->size_class,
                                    .calls = row->calls,
                                    .bytes = row->unknown_bytes ? UINT64_MAX : row->bytes,
                                    .timed = row->timed,
                                    .algbw = NAN,
                                    .busbw = NAN,
                                    .transfer_p50_ns = ana_small_of(&row->transfer).p50_ns,
                                    .skew_p50_ns = ana_small_of(&row->skew).p50_ns,
                                    .skew_p99_ns = ana_small_of(&row->skew).p99_ns,
                                    .kernel_ns = row->kernel_ns};
        if (row->timed_bytes && row->transfer_ns > 0 && !row->unknown_bytes)
            s->algbw = (double)row->timed_bytes / ((double)row->transfer_ns / 1e9);
        s->busbw = s->algbw * ana_nccl_bus_factor(s->call, s->size);
    }
    qsort(out->nccl, out->nccl_count, sizeof *out->nccl, by_name);
    for (size_t i = 0; i < match->queues.count; i++) {
        const struct queue *q = ana_map_value(&match->queues, i);
        out->unmatched += q->kernels - q->kernel_from;
    }
    return true;
}
