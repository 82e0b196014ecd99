/* Device operations under way: gathered from the tables of all ranks. */
#include "trace/verdict/gpu.h"
#include <stdlib.h>
#include <string.h>

static int64_t time_of(const struct ana_case *c, size_t index, uint64_t ticks)
{
    return ana_time_within(ana_clock_job_time(c->job->clock, index, ticks));
}

static bool is_collective(const struct trc_gpu_op *op)
{
    return !(op->flags & (TRC_GPU_MESSAGE | TRC_GPU_ASYNC_ERROR));
}

static void add_wait(struct ana_case *c, struct ana_gpu *gpu, size_t index, const struct trc_gpu_op *op,
                     const struct trc_comm *comm)
{
    if (gpu->waits == gpu->wait_room) {
        size_t room = gpu->wait_room ? gpu->wait_room * 2 : 64;
        void *grown = realloc(gpu->wait, room * sizeof *gpu->wait);
        if (!grown) {
            c->memory = true;
            return;
        }
        gpu->wait = grown;
        gpu->wait_room = room;
    }
    uint64_t ticks = op->state == TRC_GPU_STARTED ? op->started : op->state == TRC_GPU_ENQUEUED ? op->enqueued : 0;
    int64_t since = time_of(c, index, ticks ? ticks : op->called), end = ana_case_end(c, index);
    gpu->wait[gpu->waits++] = (struct ana_gpu_wait){index, op, comm, since, end > since ? end - since : 0};
}

/* Takes one rank's table. */
static void take(struct ana_case *c, struct ana_gpu *gpu, size_t index)
{
    const struct ana_rank *r = &c->job->process[index].rank;
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

static int by_place(const void *a, const void *b)
{
    const struct ana_gpu_wait *x = a, *y = b;
    bool k = is_collective(x->op), l = is_collective(y->op);
    uint64_t i = x->comm->def.identity, j = y->comm->def.identity;
    if (k != l)
        return k ? -1 : 1;
    if (i != j)
        return i < j ? -1 : 1;
    if (x->op->sequence != y->op->sequence)
        return x->op->sequence < y->op->sequence ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Finds the members of the communicators that somebody waits on, as all files define them. */
static void find_members(struct ana_case *c, struct ana_gpu *gpu)
{
    struct ana_map wanted;
    ana_map_init(&wanted, 1);
    for (size_t i = 0; i < gpu->waits; i++)
        c->memory |= !ana_map_add(&wanted, gpu->wait[i].comm->def.identity, 0, 0);
    for (size_t i = 0; i < c->count; i++) {
        const struct trc_file *file = c->job->process[i].rank.file;
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
    return ana_index_of_rank(c->job, c->job->process[index].rank.world, trc_comm_world_rank(comm, rank, false));
}

bool ana_gpu_is_member(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, size_t index)
{
    if (ana_map_find(&gpu->freed, m->identity, index, 0))
        return true;
    const struct ana_rank *r = &c->job->process[index].rank, *first = &c->job->process[gpu->wait[m->first].index].rank;
    return r->world == first->world && m->comm->def.flags & TRC_COMM_ALL && r->rank >= 0 && r->rank < m->comm->def.size;
}

const struct trc_gpu_op *ana_gpu_op_of(const struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence)
{
    const struct trc_file *file = c->job->process[index].rank.file;
    for (size_t i = trc_gpu_ops(file); i-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, i);
        const struct trc_comm *comm = is_collective(op) && op->sequence == sequence ? trc_comm(file, op->comm) : NULL;
        if (comm && comm->def.identity == identity)
            return op;
    }
    return NULL;
}

/* Whether a rank has come to a meet.  Where its table has nothing of the communicator, what it did there is long over:
 * then its events tell. */
static bool has_come(struct ana_case *c, const struct ana_gpu *gpu, size_t index, uint64_t identity, uint64_t sequence)
{
    const uint64_t *newest = ana_map_find(&gpu->newest, identity, index, 0);
    if (!newest && !ana_gpu_op_of(c, index, identity, sequence))
        newest = ana_map_find(&ana_case_last_events(c, index)->newest, identity, 0, 0);
    return newest && *newest > sequence;
}

static void find_missing(struct ana_case *c, struct ana_gpu *gpu, struct ana_gpu_meet *m)
{
    size_t size = (size_t)m->comm->def.size, found = 0;
    m->missing = calloc(c->count + 1, sizeof *m->missing);
    if (!m->missing) {
        c->memory = true;
        return;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (!ana_gpu_is_member(c, gpu, m, i))
            continue;
        found++;
        if (!has_come(c, gpu, i, m->identity, m->sequence))
            m->missing[m->missing_count++] = i;
    }
    m->nowhere = size > found ? size - found : 0;
}

static bool make_meets(struct ana_gpu *gpu)
{
    if (gpu->waits)
        qsort(gpu->wait, gpu->waits, sizeof *gpu->wait, by_place);
    gpu->meet = calloc(gpu->waits + 1, sizeof *gpu->meet);
    if (!gpu->meet)
        return false;
    for (size_t i = 0; i < gpu->waits && is_collective(gpu->wait[i].op); i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i];
        struct ana_gpu_meet *m = gpu->meets ? &gpu->meet[gpu->meets - 1] : NULL;
        if (!m || m->identity != w->comm->def.identity || m->sequence != w->op->sequence) {
            m = &gpu->meet[gpu->meets++];
            *m = (struct ana_gpu_meet){.identity = w->comm->def.identity,
                                       .sequence = w->op->sequence,
                                       .comm = w->comm,
                                       .first = i,
                                       .lasted_ns = INT64_MAX,
                                       .leads_to = SIZE_MAX};
        }
        m->count++;
        m->lasted_ns = w->lasted_ns < m->lasted_ns ? w->lasted_ns : m->lasted_ns;
        gpu->collectives = i + 1;
    }
    return true;
}

static size_t meet_of(const struct ana_gpu *gpu, size_t wait)
{
    for (size_t i = 0; i < gpu->meets; i++)
        if (wait >= gpu->meet[i].first && wait < gpu->meet[i].first + gpu->meet[i].count)
            return i;
    return SIZE_MAX;
}

/* The meet that an operation of this rank must wait for: before it on its stream or, where the rank has not come at
 * all, whatever it waits in. */
static size_t before(const struct ana_case *c, const struct ana_gpu *gpu, size_t meet, size_t index,
                     const struct ana_gpu_wait *w)
{
    for (size_t i = 0; i < gpu->collectives; i++) {
        const struct ana_gpu_wait *other = &gpu->wait[i];
        if (other->index != index || other->lasted_ns < c->rules.proof_ns)
            continue;
        bool ahead = !w || (other->op->stream == w->op->stream && other->op->number < w->op->number &&
                            other->op->group != w->op->group);
        size_t to = ahead ? meet_of(gpu, i) : SIZE_MAX;
        if (to != SIZE_MAX && to != meet)
            return to;
    }
    return SIZE_MAX;
}

static void find_order(const struct ana_case *c, struct ana_gpu *gpu)
{
    for (size_t i = 0; i < gpu->meets; i++) {
        struct ana_gpu_meet *m = &gpu->meet[i];
        if (m->lasted_ns < c->rules.proof_ns)
            continue; /* nobody asks, and a busy job has thousands of them */
        for (size_t k = 0; k < m->missing_count && m->leads_to == SIZE_MAX; k++)
            m->leads_to = before(c, gpu, i, m->missing[k], NULL);
        for (size_t k = m->first; k < m->first + m->count && m->leads_to == SIZE_MAX; k++)
            if (gpu->wait[k].op->state < TRC_GPU_STARTED)
                m->leads_to = before(c, gpu, i, gpu->wait[k].index, &gpu->wait[k]);
    }
}

bool ana_gpu_gather(struct ana_case *c, struct ana_gpu *gpu)
{
    *gpu = (struct ana_gpu){.room = calloc(c->count + 1, sizeof *gpu->room)};
    c->memory |= !gpu->room;
    ana_map_init(&gpu->member, sizeof(size_t));
    ana_map_init(&gpu->freed, 1);
    ana_map_init(&gpu->newest, sizeof(uint64_t));
    for (size_t i = 0; i < c->count; i++)
        if (trc_gpu(c->job->process[i].rank.file))
            take(c, gpu, i);
    if (gpu->waits == 0 || c->memory)
        return false;
    find_members(c, gpu);
    if (!make_meets(gpu)) {
        c->memory = true;
        return false;
    }
    for (size_t i = 0; i < gpu->meets; i++)
        if (gpu->meet[i].lasted_ns >= c->rules.proof_ns)
            find_missing(c, gpu, &gpu->meet[i]);
    find_order(c, gpu);
    return !c->memory;
}

void ana_gpu_free(struct ana_gpu *gpu)
{
    for (size_t i = 0; i < gpu->meets; i++)
        free(gpu->meet[i].missing);
    free(gpu->meet);
    free(gpu->wait);
    free(gpu->room);
    ana_map_free(&gpu->member);
    ana_map_free(&gpu->freed);
    ana_map_free(&gpu->newest);
}
