/* Operations on devices that wait for each other: in other orders on their streams, or by way of hosts that wait
 * elsewhere for ranks that wait here. */
#include "trace/members/members.h"
#include "trace/verdict/gpu.h"

static uint32_t knot_of(const struct ana_case *c, const struct ana_gpu_meet *m)
{
    return ana_graph_moves(&c->graph, m->node) ? 0 : c->graph.knot[m->node];
}

/* ---- hosts ------------------------------------------------------------------------------------------------------ */

/* Writes the ranks that have not come and wait, in MPI or for another operation, for ranks that wait here. */
static size_t find_hosts(struct ana_case *c, const struct ana_gpu_meet *m, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < m->missing_count; i++)
        if (ana_rank_waiting(c, m->missing[i]) && ana_rank_knot(c, m->missing[i]) == knot_of(c, m))
            out[n++] = m->missing[i];
    return n;
}

/* Blames the smaller side. */
static bool judge_hosts(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t hosts = find_hosts(c, m, gpu->room);
    bool message = ana_gpu_is_message(m);
    if (hosts == 0 || !ana_case_settle(c, message ? ANA_CLASS_UNMATCHED : ANA_CLASS_CYCLE, ANA_LIKELY, m->lasted_ns))
        return false;
    struct ana_ranks others = ana_case_ranks(c, gpu->room, hosts);
    size_t n = ana_gpu_waiting_in(gpu, m, false);
    if (n <= hosts)
        ana_case_blame_all(c, ana_ranks_at(gpu->room, n));
    if (n >= hosts)
        ana_case_blame_all(c, others);
    if (message) {
        ana_gpu_explain_unmatched(c, gpu, m);
        return true;
    }
    struct ana_fact fact = ana_gpu_fact(c, gpu, m, ANA_SENTENCE_DEVICE_AND_HOST);
    fact.who = ana_case_ranks(c, gpu->room, n);
    fact.others = others;
    if (others.n)
        fact.other_call = ana_rank_call(c, others.index[0]);
    c->out->summary = fact;
    ANA_NEXT(c, ANA_SENTENCE_DEVICE_AND_HOST_NEXT);
    return true;
}

/* ---- orders on streams ------------------------------------------------------------------------------------------ */

/* One of its knot that comes before it on a stream. */
static size_t next_of(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i], *other;
        bool starts = w->op->state >= TRC_GPU_STARTED;
        for (size_t at = ana_gpu_first(gpu, w->index); !starts && (other = ana_gpu_at(gpu, at, w->index)); at++)
            if (other->op->stream == w->op->stream && other->op->number < w->op->number &&
                other->op->group != w->op->group && knot_of(c, &gpu->meet[other->meet]) == knot_of(c, m))
                return other->meet;
    }
    return SIZE_MAX;
}

/* Writes the circle that this one leads to, at most one of each, and returns its length; 0: there is none. */
static size_t find_circle(const struct ana_case *c, const struct ana_gpu *gpu, size_t at, size_t *circle)
{
    size_t n = 0, first;
    for (size_t steps = 0; steps < gpu->meets && at != SIZE_MAX; steps++) /* it closes within this number of steps */
        at = next_of(c, gpu, &gpu->meet[at]);
    for (first = at; at != SIZE_MAX && (n == 0 || at != first); at = next_of(c, gpu, &gpu->meet[at]))
        circle[n++] = at;
    return n;
}

/* Adds the ranks in an operation of a circle: its kernel runs there. */
static void add_running(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t n = ana_gpu_waiting_in(gpu, m, true);
    struct ana_fact fact = ana_gpu_fact(c, gpu, m, ANA_SENTENCE_DEVICE_IN);
    fact.who = ana_case_ranks(c, gpu->room, n);
    if (n && c->out->facts < 4)
        ana_case_fact(c, fact);
}

static bool judge_circle(struct ana_case *c, struct ana_gpu *gpu, const size_t *circle, size_t n)
{
    int64_t lasted = INT64_MAX;
    bool message = false;
    for (size_t i = 0; i < n; i++) {
        const struct ana_gpu_meet *m = &gpu->meet[circle[i]];
        lasted = m->lasted_ns < lasted ? m->lasted_ns : lasted;
        message |= ana_gpu_is_message(m);
    }
    /* All are on their streams: no program can take that back. */
    if (n == 0 || !ana_case_settle(c, ANA_CLASS_CYCLE, ANA_PROVEN, lasted))
        return false;
    const struct ana_gpu_meet *first = &gpu->meet[circle[0]], *other = &gpu->meet[circle[n > 1]];
    struct ana_fact fact =
        ana_gpu_fact(c, gpu, first, message ? ANA_SENTENCE_DEVICE_CIRCLE : ANA_SENTENCE_DEVICE_ORDER);
    fact.other_call = ana_gpu_call_of(c, &gpu->wait[other->first]);
    fact.other_comm = other->comm;
    c->out->summary = fact;
    ANA_NEXT(c, ANA_SENTENCE_DEVICE_ORDER_NEXT);
    for (size_t k = 0; k < n; k++) {
        const struct ana_gpu_meet *m = &gpu->meet[circle[k]];
        for (size_t i = m->first; i < m->first + m->count; i++)
            ana_case_blame(c, gpu->wait[i].index);
        add_running(c, gpu, m);
    }
    return true;
}

static bool find_hosts_of(struct ana_case *c, struct ana_gpu *gpu, bool message, bool running)
{
    for (size_t i = 0; i < gpu->meets; i++) {
        const struct ana_gpu_meet *m = &gpu->meet[i];
        if (m->old && ana_gpu_is_message(m) == message && knot_of(c, m) && m->waited_in == running &&
            judge_hosts(c, gpu, m))
            return true;
    }
    return false;
}

bool ana_gpu_knot(struct ana_case *c, struct ana_gpu *gpu)
{
    size_t *circle = ana_case_alloc(c, gpu->meets * sizeof *circle);
    for (size_t i = 0; circle && i < gpu->meets; i++) {
        bool asked = gpu->meet[i].old && knot_of(c, &gpu->meet[i]);
        if (asked && judge_circle(c, gpu, circle, find_circle(c, gpu, i, circle)))
            return true;
    }
    /* A message without its other end tells most; an operation behind others on its streams, least. */
    return find_hosts_of(c, gpu, true, true) || find_hosts_of(c, gpu, false, true) ||
           find_hosts_of(c, gpu, true, false) || find_hosts_of(c, gpu, false, false);
}
