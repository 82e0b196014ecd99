/* The model of NCCL's waiting: operations on devices, and hosts that wait for them, as nodes of the wait-for graph.
 *
 *     a collective, a message   ranks that have not come, and streams of ranks that have not started it
 *     a stream                  the operation before it, with all of its launch
 *     a host outside MPI        any of its operations that can end: which it waits for is not known
 *
 * Kernels that are not NCCL's are not known: they may end. */
#include "trace/verdict/gpu.h"

/* ---- hosts ------------------------------------------------------------------------------------------------------ */

size_t ana_gpu_first(const struct ana_gpu *gpu, size_t index)
{
    size_t low = 0, high = gpu->waits;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gpu->wait[gpu->order[middle]].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct ana_gpu_wait *ana_gpu_at(const struct ana_gpu *gpu, size_t at, size_t index)
{
    struct ana_gpu_wait *w = at < gpu->waits ? &gpu->wait[gpu->order[at]] : NULL;
    return w && w->index == index ? w : NULL;
}

/* Time when a thread of the rank last came out of a call that is no poll. */
static int64_t last_call(const struct ana_case *c, size_t index)
{
    const struct trc_file *file = ana_case_file(c, index);
    int64_t last = INT64_MIN;
    for (uint32_t t = 0; t < trc_threads(file); t++) {
        const struct trc_thread *thread = trc_thread(file, t);
        const struct trc_sig *sig = trc_live_sig(file, t, thread->last);
        if (!sig || sig->flags & TRC_SIG_POLL || trc_call(file, sig->call)->opclass == TRC_OP_NCCL_COMM)
            continue;
        int64_t end = ana_time_within(ana_clock_job_time(c->members->clock, index, thread->last_end));
        last = end > last ? end : last;
    }
    return last;
}

bool ana_gpu_waiting(struct ana_case *c, size_t index, struct ana_waiting *out)
{
    struct ana_gpu *gpu = c->gpu;
    size_t at = ana_gpu_first(gpu, index);
    const struct ana_gpu_wait *w = ana_gpu_at(gpu, at, index), *oldest = w;
    if (!w)
        return false;
    int64_t since = last_call(c, index), end = ana_case_end(c, index);
    for (; (w = ana_gpu_at(gpu, at, index)); at++) {
        since = w->since_ns > since ? w->since_ns : since;
        oldest = w->op->number < oldest->op->number ? w : oldest;
    }
    const struct trc_file *file = ana_case_file(c, index);
    gpu->sig[index] = (struct trc_sig){.call = oldest->op->call,
                                       .comm = oldest->op->comm,
                                       .site = oldest->op->site,
                                       .peer = TRC_PEER_NONE,
                                       .tag = TRC_TAG_NONE,
                                       .source = TRC_PEER_NONE,
                                       .rtag = TRC_TAG_NONE};
    *out = (struct ana_waiting){.index = index,
                                .thread = oldest->op->thread,
                                .kind = ANA_WAITING_DEVICE,
                                .sig = &gpu->sig[index],
                                .call = trc_call(file, oldest->op->call),
                                .comm = oldest->comm,
                                .identity = oldest->comm->def.identity,
                                .sequence = oldest->op->sequence,
                                .since_ns = since,
                                .lasted_ns = end > since ? end - since : 0,
                                .group = ANA_NO_GROUP};
    out->blocked = !c->rank[index].gone && !c->rank[index].moved && out->lasted_ns >= c->rules.proof_ns;
    return true;
}

size_t ana_gpu_need(struct ana_case *c, size_t index)
{
    const struct ana_gpu *gpu = c->gpu;
    size_t node = ana_graph_node(&c->graph, ANA_WAITS_ANY);
    const struct ana_gpu_wait *w;
    for (size_t at = ana_gpu_first(gpu, index); (w = ana_gpu_at(gpu, at, index)); at++)
        ana_graph_wait(&c->graph, node, w->ended);
    return node;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* Operations that one launch put on a stream end together. */
static void add_launch(struct ana_case *c, size_t first, size_t n)
{
    struct ana_gpu *gpu = c->gpu;
    size_t node = gpu->meet[gpu->wait[gpu->order[first]].meet].node;
    if (n > 1) {
        node = ana_graph_node(&c->graph, ANA_WAITS_ALL);
        for (size_t i = first; i < first + n; i++)
            ana_graph_wait(&c->graph, node, gpu->meet[gpu->wait[gpu->order[i]].meet].node);
    }
    for (size_t i = first; i < first + n; i++)
        gpu->wait[gpu->order[i]].ended = node;
}

static bool same_launch(const struct ana_gpu_wait *a, const struct ana_gpu_wait *b)
{
    return a->index == b->index && a->op->stream == b->op->stream && a->op->group == b->op->group;
}

static void add_needs(struct ana_case *c, const struct ana_gpu_meet *m)
{
    const struct ana_gpu *gpu = c->gpu;
    for (size_t i = 0; i < m->missing_count; i++)
        ana_graph_wait(&c->graph, m->node, m->missing[i]);
    for (size_t i = m->first; i < m->first + m->count; i++)
        if (gpu->wait[i].op->state < TRC_GPU_STARTED && gpu->wait[i].ahead != SIZE_MAX)
            ana_graph_wait(&c->graph, m->node, gpu->wait[gpu->wait[i].ahead].ended);
}

void ana_gpu_model(struct ana_case *c)
{
    struct ana_gpu *gpu = c->gpu;
    for (size_t i = 0; i < gpu->meets; i++) {
        gpu->meet[i].node = ana_graph_node(&c->graph, ANA_WAITS_ALL);
        ana_graph_count(&c->graph, gpu->meet[i].node);
    }
    for (size_t i = 0, n = 0; i < gpu->waits; i += n) {
        for (n = 1; i + n < gpu->waits && same_launch(&gpu->wait[gpu->order[i]], &gpu->wait[gpu->order[i + n]]);)
            n++;
        add_launch(c, i, n);
    }
    for (size_t i = 0; i < gpu->meets; i++)
        if (gpu->meet[i].old)
            add_needs(c, &gpu->meet[i]);
}
