/* Device operations under way: gathered from the tables of all ranks. */
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include "trace/verdict/gpu.h"
#include <stdlib.h>
#include <string.h>

static int64_t time_of(const struct ana_case *c, size_t index, uint64_t ticks)
{
    return ana_time_within(ana_clock_job_time(c->members->clock, index, ticks));
}

static bool is_collective(const struct trc_gpu_op *op)
{
    return !(op->flags & (TRC_GPU_MESSAGE | TRC_GPU_ASYNC_ERROR));
}

static void add_wait(struct ana_case *c, struct ana_gpu *gpu, size_t index, const struct trc_gpu_op *op,
                     const struct trc_comm *comm)
{
    if (!ana_grow(&gpu->wait, gpu->waits, &gpu->wait_room, sizeof *gpu->wait)) {
        c->memory = true;
        return;
    }
    uint64_t ticks = op->state == TRC_GPU_STARTED ? op->started : op->state == TRC_GPU_ENQUEUED ? op->enqueued : 0;
    int64_t since = time_of(c, index, ticks ? ticks : op->called), end = ana_case_end(c, index);
    struct ana_gpu_wait *w = &gpu->wait[gpu->waits++];
    *w = (struct ana_gpu_wait){.index = index,
                               .op = op,
                               .comm = comm,
                               .since_ns = since,
                               .lasted_ns = end > since ? end - since : 0,
                               .from = ANA_GPU_NO_RANK,
                               .to = ANA_GPU_NO_RANK,
                               .ahead = SIZE_MAX,
                               .ended = SIZE_MAX};
    if (op->flags & TRC_GPU_MESSAGE) {
        bool in = strcmp(ana_gpu_call_of(c, w).name, "ncclRecv") == 0;
        w->from = in ? op->root : comm->def.rank;
        w->to = in ? comm->def.rank : op->root;
    }
}

/* Adds one rank's table. */
static void add_table(struct ana_case *c, struct ana_gpu *gpu, size_t index)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    for (size_t i = 0; i < trc_gpu_ops(r->file); i++) {
        const struct trc_gpu_op *op = trc_gpu_op(r->file, i);
        const struct trc_comm *comm = trc_comm(r->file, op->comm);
        if (!comm)
            continue;
        if (is_collective(op) && op->state != TRC_GPU_FAILED) {
            uint64_t *newest = ana_map_add(&gpu->newest, comm->def.identity, index, 0);
            if (!newest)
                c->memory = true;
            else if (op->sequence + 1 > *newest)
                *newest = op->sequence + 1;
        }
        if (!trc_gpu_over(op) && r->state != ANA_RANK_DONE)
            add_wait(c, gpu, index, op, comm);
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Equal for what meets. */
static int by_meeting(const struct ana_gpu_wait *x, const struct ana_gpu_wait *y)
{
    int by = compare((uint32_t)(x->from + 1), (uint32_t)(y->from + 1)); /* collectives first */
    by = by ? by : compare((uint32_t)x->to, (uint32_t)y->to);
    by = by ? by : compare(x->comm->def.identity, y->comm->def.identity);
    return by ? by : compare(x->op->sequence, y->op->sequence);
}

static int by_place(const void *a, const void *b)
{
    const struct ana_gpu_wait *x = a, *y = b;
    int by = by_meeting(x, y);
    return by ? by : compare(x->index, y->index);
}

static int by_stream(const void *a, const void *b, void *waits)
{
    const struct ana_gpu_wait *x = (struct ana_gpu_wait *)waits + *(const size_t *)a;
    const struct ana_gpu_wait *y = (struct ana_gpu_wait *)waits + *(const size_t *)b;
    int by = compare(x->index, y->index);
    by = by ? by : compare(x->op->stream, y->op->stream);
    return by ? by : compare(x->op->number, y->op->number);
}

/* Finds the members of the communicators that somebody waits on, as all files define them. */
static void find_members(struct ana_case *c, struct ana_gpu *gpu)
{
    struct ana_map wanted;
    ana_map_init(&wanted, 1);
    for (size_t i = 0; i < gpu->waits; i++)
        c->memory |= !ana_map_add(&wanted, gpu->wait[i].comm->def.identity, 0, 0);
    for (size_t i = 0; i < c->count; i++) {
        const struct trc_file *file = ana_case_file(c, i);
        const struct trc_comm *comm;
        uint64_t created;
        for (size_t k = 0; (comm = trc_comm_at(file, k, &created)); k++) {
            if (!ana_map_find(&wanted, comm->def.identity, 0, 0))
                continue;
            size_t *member = ana_map_add(&gpu->member, comm->def.identity, (uint64_t)comm->def.rank, 0);
            if (member)
                *member = i + 1;
            uint8_t *freed = ana_map_add(&gpu->freed, comm->def.identity, i, 0);
            if (freed)
                *freed = trc_comm_freed(file, comm->id);
            c->memory |= !member || !freed;
        }
    }
    ana_map_free(&wanted);
}

size_t ana_gpu_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct trc_comm *comm, size_t index,
                      int32_t rank)
{
    const size_t *member = ana_map_find(&gpu->member, comm->def.identity, (uint64_t)rank, 0);
    if (member)
        return *member - 1;
    return ana_index_of_rank(c->job, c->members->process[index].rank.world, trc_comm_world_rank(comm, rank, false));
}

bool ana_gpu_is_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, size_t index)
{
    if (ana_map_find(&gpu->freed, m->identity, index, 0))
        return true;
    const struct ana_rank *r = &c->members->process[index].rank,
                          *first = &c->members->process[gpu->wait[m->first].index].rank;
    return r->world == first->world && m->comm->def.flags & TRC_COMM_ALL && r->rank >= 0 && r->rank < m->comm->def.size;
}

const struct trc_gpu_op *ana_gpu_op_of(const struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence)
{
    const struct trc_file *file = ana_case_file(c, index);
    for (size_t i = trc_gpu_ops(file); i-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, i);
        const struct trc_comm *comm = is_collective(op) && op->sequence == sequence ? trc_comm(file, op->comm) : NULL;
        if (comm && comm->def.identity == identity)
            return op;
    }
    return NULL;
}

/* Whether a rank has come to a meet. A table without an entry of the communicator means the operation is long over:
 * the rank's events decide. */
static bool has_come(struct ana_case *c, const struct ana_gpu *gpu, size_t index, uint64_t identity, uint64_t sequence)
{
    const uint64_t *newest = ana_map_find(&gpu->newest, identity, index, 0);
    if (!newest && !ana_gpu_op_of(c, index, identity, sequence))
        newest = ana_map_find(&ana_case_last_events(c, index)->newest, identity, 0, 0);
    return newest && *newest > sequence;
}

const struct trc_gpu_op *ana_gpu_other_end(const struct ana_case *c, size_t index, const struct ana_gpu_wait *w,
                                           bool *past)
{
    *past = false;
    const struct trc_file *file = ana_case_file(c, index);
    for (size_t i = trc_gpu_ops(file); i-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, i);
        const struct trc_comm *comm = trc_comm(file, op->comm);
        if (!(op->flags & TRC_GPU_MESSAGE) || op->sequence < w->op->sequence || op->root != w->comm->def.rank ||
            !comm || comm->def.identity != w->comm->def.identity ||
            strcmp(trc_call(file, op->call)->name, ana_gpu_call_of(c, w).name) == 0)
            continue;
        if (op->sequence == w->op->sequence)
            return op;
        *past = true;
    }
    return NULL;
}

static void find_missing_end(const struct ana_case *c, const struct ana_gpu *gpu, struct ana_gpu_meet *m)
{
    const struct ana_gpu_wait *w = &gpu->wait[m->first];
    size_t partner = ana_gpu_member(c, gpu, w->comm, w->index, w->op->root);
    bool past;
    m->nowhere = partner == SIZE_MAX;
    if (partner == SIZE_MAX || ana_gpu_other_end(c, partner, w, &past) || past)
        return;
    m->missing[m->missing_count++] = partner;
}

static void find_missing(struct ana_case *c, struct ana_gpu *gpu, struct ana_gpu_meet *m)
{
    size_t found = 0;
    m->missing = ana_case_room(c);
    if (ana_gpu_is_message(m) && m->missing) {
        find_missing_end(c, gpu, m);
        return;
    }
    for (size_t i = 0; i < c->count && m->missing; i++) {
        if (!ana_gpu_is_member(c, gpu, m, i))
            continue;
        found++;
        if (!has_come(c, gpu, i, m->identity, m->sequence))
            m->missing[m->missing_count++] = i;
    }
    m->nowhere = m->size > found ? m->size - found : 0;
}

static void make_meets(struct ana_case *c, struct ana_gpu *gpu)
{
    ana_sort(gpu->wait, gpu->waits, sizeof *gpu->wait, by_place);
    gpu->meet = ana_case_alloc(c, gpu->waits * sizeof *gpu->meet);
    for (size_t i = 0; gpu->meet && i < gpu->waits; i++) {
        struct ana_gpu_wait *w = &gpu->wait[i];
        if (i == 0 || by_meeting(w, w - 1) != 0)
            gpu->meet[gpu->meets++] = (struct ana_gpu_meet){.identity = w->comm->def.identity,
                                                            .sequence = w->op->sequence,
                                                            .comm = w->comm,
                                                            .from = w->from,
                                                            .to = w->to,
                                                            .first = i,
                                                            .lasted_ns = INT64_MAX,
                                                            .node = SIZE_MAX};
        struct ana_gpu_meet *m = &gpu->meet[gpu->meets - 1];
        bool held = w->op->state == TRC_GPU_CALLED && !(w->op->flags & TRC_GPU_GROUPED);
        m->count++;
        m->started += w->op->state == TRC_GPU_STARTED;
        m->waited_in |= held || w->op->state == TRC_GPU_STARTED;
        m->size = w->from != ANA_GPU_NO_RANK ? 2 : (size_t)w->comm->def.size;
        m->lasted_ns = w->lasted_ns < m->lasted_ns ? w->lasted_ns : m->lasted_ns;
        w->meet = gpu->meets - 1;
    }
}

/* Finds for each operation the one that it is behind on its stream. */
static void make_order(struct ana_case *c, struct ana_gpu *gpu)
{
    gpu->order = ana_case_alloc(c, gpu->waits * sizeof *gpu->order);
    if (!gpu->order)
        return;
    for (size_t i = 0; i < gpu->waits; i++)
        gpu->order[i] = i;
    ana_sort_with(gpu->order, gpu->waits, sizeof *gpu->order, by_stream, gpu->wait);
    for (size_t i = 1; i < gpu->waits; i++) {
        const struct ana_gpu_wait *before = &gpu->wait[gpu->order[i - 1]];
        struct ana_gpu_wait *w = &gpu->wait[gpu->order[i]];
        if (before->index != w->index || before->op->stream != w->op->stream)
            continue;
        w->ahead = before->op->group == w->op->group ? before->ahead : gpu->order[i - 1];
    }
}

bool ana_case_gpu(struct ana_case *c)
{
    struct ana_gpu *gpu = c->gpu = ana_case_alloc(c, sizeof *gpu);
    if (!gpu)
        return false;
    ana_map_init(&gpu->member, sizeof(size_t));
    ana_map_init(&gpu->freed, 1);
    ana_map_init(&gpu->newest, sizeof(uint64_t));
    gpu->room = ana_case_room(c);
    for (size_t i = 0; i < c->count; i++)
        if (trc_gpu(ana_case_file(c, i)))
            add_table(c, gpu, i);
    if (c->memory || gpu->waits == 0)
        return !c->memory;
    find_members(c, gpu);
    gpu->sig = ana_case_alloc(c, c->count * sizeof *gpu->sig);
    make_meets(c, gpu);
    make_order(c, gpu);
    for (size_t i = 0; i < gpu->meets; i++) {
        gpu->meet[i].old = gpu->meet[i].lasted_ns >= c->rules.proof_ns;
        if (gpu->meet[i].old) /* no detector asks about others, and a busy job has thousands */
            find_missing(c, gpu, &gpu->meet[i]);
    }
    return !c->memory;
}

void ana_case_free_gpu(struct ana_case *c)
{
    if (!c->gpu)
        return;
    free(c->gpu->wait);
    ana_map_free(&c->gpu->member);
    ana_map_free(&c->gpu->freed);
    ana_map_free(&c->gpu->newest);
}
