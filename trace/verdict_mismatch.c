/* Ranks that meet in one collective (same communicator, same number) with different calls or arguments. */
#include "trace/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 64u /* of a communicator, whose past records are compared */
#define BACK        8u  /* collectives before the one that hangs that are compared too: it may have gone wrong there */

/* What all ranks of one collective must agree on. */
struct terms {
    size_t index;
    const struct trc_call *call;
    int32_t root;   /* world rank; TRC_PEER_NONE: none */
    uint64_t bytes; /* one contribution; TRC_BYTES_UNKNOWN: may differ */
    bool here;      /* it is the root of an intercommunicator's */
};

struct meeting {
    struct terms *terms;
    size_t count, room;
};

static bool varies(const char *name)
{
    return strstr(name, "therv") || strstr(name, "tterv") || strstr(name, "toallv") || strstr(name, "toallw");
}

static uint64_t contribution(const struct trc_call *call, const struct trc_sig *sig)
{
    switch (call->opclass) {
    case TRC_OP_BCAST: /* sent by the root, received by the others */
        return sig->sent > sig->received ? sig->sent : sig->received;
    case TRC_OP_REDUCE:
    case TRC_OP_ALLREDUCE:
    case TRC_OP_SCAN:
    case TRC_OP_EXSCAN:
    case TRC_OP_REDUCE_SCATTER:
        return sig->sent;
    case TRC_OP_GATHER:
        return varies(call->name) ? TRC_BYTES_UNKNOWN : sig->sent;
    case TRC_OP_SCATTER:
    case TRC_OP_ALLTOALL:
        return varies(call->name) ? TRC_BYTES_UNKNOWN : sig->received;
    case TRC_OP_ALLGATHER:
        return sig->received;
    default:
        return TRC_BYTES_UNKNOWN;
    }
}

static struct terms terms_of(size_t index, const struct trc_comm *comm, const struct trc_call *call,
                             const struct trc_sig *sig)
{
    bool rooted = ana_opclass_shape(call->opclass) == TRC_SHAPE_FROM_ROOT ||
                  ana_opclass_shape(call->opclass) == TRC_SHAPE_TO_ROOT;
    bool inter = comm->def.remote_size > 0 || sig->flags & TRC_SIG_FAILED;
    return (struct terms){index, call, rooted && !inter ? sig->peer : TRC_PEER_NONE,
                          inter ? TRC_BYTES_UNKNOWN : contribution(call, sig), sig->peer == TRC_PEER_ROOT};
}

static bool same_call(const struct trc_call *a, const struct trc_call *b)
{
    if (strcmp(a->name, b->name) == 0)
        return true;
    /* MPI_Bcast and MPI_Bcast_c meet, as MPI_Gather and MPI_Gatherv do in practice; MPI_Bcast and MPI_Ibcast do not. */
    bool i = strncmp(a->name, "MPI_I", 5) == 0, k = strncmp(b->name, "MPI_I", 5) == 0;
    return a->opclass == b->opclass && a->opclass != TRC_OP_COMM_CREATE && i == k;
}

static bool agree(const struct terms *a, const struct terms *b)
{
    bool bytes = a->bytes == b->bytes || a->bytes == TRC_BYTES_UNKNOWN || b->bytes == TRC_BYTES_UNKNOWN;
    return same_call(a->call, b->call) && a->root == b->root && bytes;
}

static void join(struct ana_case *c, struct meeting *m, struct terms terms)
{
    if (m->count == m->room) {
        size_t room = m->room ? m->room * 2 : 16;
        struct terms *grown = realloc(m->terms, room * sizeof *grown);
        if (!grown) {
            c->memory = true;
            return;
        }
        m->terms = grown;
        m->room = room;
    }
    m->terms[m->count++] = terms;
}

/* All records of one collective: of those inside it, and of those that went through. */
static void meet(struct ana_case *c, const struct ana_group *g, uint64_t sequence, bool past, struct meeting *m)
{
    m->count = 0;
    for (size_t i = 0; i < c->posts && sequence == g->sequence; i++) {
        const struct ana_post *p = &c->post[i];
        if (p->kind == ANA_POST_COLLECTIVE && p->sequence == sequence && p->identity == g->identity)
            join(c, m, terms_of(p->index, p->comm, p->call, p->sig));
    }
    size_t inside = m->count, looked = 0;
    for (size_t i = 0; past && i < c->count && looked < MEMBERS_MAX; i++) {
        bool here = false;
        for (size_t k = 0; k < inside && !here; k++)
            here = m->terms[k].index == i;
        if (here)
            continue;
        looked++;
        const struct ana_tail *tail = ana_case_tail(c, i);
        for (size_t k = tail->collectives; k-- > 0;)
            if (tail->collective[k].identity == g->identity && tail->collective[k].sequence == sequence) {
                join(c, m, terms_of(i, g->comm, tail->collective[k].call, &tail->collective[k].sig));
                break;
            }
    }
}

/* The terms that most ranks gave; of equally many those of the lowest rank. */
static size_t usual(const struct meeting *m)
{
    size_t best = 0, best_count = 0;
    for (size_t i = 0; i < m->count && i < MEMBERS_MAX; i++) {
        size_t n = 0;
        for (size_t k = 0; k < m->count; k++)
            n += agree(&m->terms[i], &m->terms[k]);
        if (n > best_count) {
            best = i;
            best_count = n;
        }
    }
    return best;
}

static void say(struct ana_case *c, const struct ana_group *g, uint64_t sequence, const struct terms *usual,
                const struct terms *odd, size_t odds, size_t all)
{
    char who[128], others[128], comm[128];
    bool tie = odds * 2 == all;
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (odds == 1 || tie)
        snprintf(who, sizeof who, "rank %s", ana_rank_label(c->job, odd->index).text);
    if (all - odds == 1 || tie)
        snprintf(others, sizeof others, "rank %s", ana_rank_label(c->job, usual->index).text);
    else
        snprintf(others, sizeof others, "the other %zu", all - odds);
    ana_comm_words(c->job, g->comm, comm, sizeof comm);
    if (!same_call(odd->call, usual->call))
        ana_case_say(c, "%s called %s where %s called %s: collective %llu on %s", who, odd->call->name, others,
                     usual->call->name, (unsigned long long)sequence + 1, comm);
    else if (odd->root != usual->root)
        ana_case_say(c, "%s gave root %d to %s where %s gave root %d: collective %llu on %s", who, odd->root,
                     odd->call->name, others, usual->root, (unsigned long long)sequence + 1, comm);
    else
        ana_case_say(c, "%s gave %llu bytes to %s where %s gave %llu: collective %llu on %s", who,
                     (unsigned long long)odd->bytes, odd->call->name, others, (unsigned long long)usual->bytes,
                     (unsigned long long)sequence + 1, comm);
    ana_case_evidence(c, "both are collective %llu on that %s in the ranks' own records",
                      (unsigned long long)sequence + 1, ana_comm_kind(g->comm));
}

static int64_t lasted(const struct ana_case *c, const struct ana_group *g)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < c->posts; i++) {
        const struct ana_post *p = &c->post[i];
        if (p->blocked && p->kind == ANA_POST_COLLECTIVE && p->group != ANA_NO_GROUP &&
            ana_group_at(c, p->group) == g && p->lasted_ns < least)
            least = p->lasted_ns;
    }
    return least == INT64_MAX ? 0 : least;
}

/* All have come to a collective of an intercommunicator, and each side takes the other for its root's. */
static bool has_no_root(const struct ana_group *g, const struct meeting *m)
{
    enum trc_shape shape = ana_opclass_shape(m->count ? m->terms[0].call->opclass : TRC_OP_OTHER);
    if (g->comm->def.remote_size == 0 || (shape != TRC_SHAPE_FROM_ROOT && shape != TRC_SHAPE_TO_ROOT) ||
        m->count < (size_t)g->comm->def.size + (size_t)g->comm->def.remote_size)
        return false;
    for (size_t i = 0; i < m->count; i++)
        if (m->terms[i].here || m->terms[i].root == TRC_PEER_UNKNOWN)
            return false;
    return true;
}

static bool judge(struct ana_case *c, const struct ana_group *g, uint64_t sequence, const struct meeting *m)
{
    size_t most = usual(m), odds = 0, odd = SIZE_MAX;
    for (size_t i = 0; i < m->count; i++)
        if (!agree(&m->terms[most], &m->terms[i]) && odds++ == 0)
            odd = i;
    bool rootless = odds == 0 && has_no_root(g, m);
    if (odds == 0 && !rootless)
        return false;
    if (!ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, lasted(c, g))) {
        if (c->live)
            return false; /* it goes on for now */
        c->out->state = ANA_BROKEN;
        c->out->id = ANA_CLASS_MISMATCHED;
        c->out->confidence = ANA_LIKELY;
    }
    for (size_t i = 0; i < m->count; i++)
        if (rootless || odds * 2 == m->count || !agree(&m->terms[most], &m->terms[i]))
            ana_case_blame(c, m->terms[i].index);
    if (rootless)
        ana_case_say(c,
                     "nobody gave MPI_ROOT to %s on an intercommunicator of %d and %d: each side waits for the other",
                     m->terms[0].call->name, g->comm->def.size, g->comm->def.remote_size);
    else
        say(c, g, sequence, &m->terms[most], &m->terms[odd], odds, m->count);
    return true;
}

/* A job that finished has got over it. */
static bool worth_it(const struct ana_case *c)
{
    if (c->live)
        return true;
    for (size_t i = 0; i < c->count; i++)
        if (c->job->process[i].rank.state == ANA_RANK_DEAD)
            return true;
    return false;
}

bool ana_find_mismatch(struct ana_case *c)
{
    struct meeting m = {0};
    bool found = false;
    for (size_t i = 0; i < c->groups.count && i < MEMBERS_MAX && !found && worth_it(c); i++) {
        const struct ana_group *g = ana_group_at(c, i);
        bool past = g->blocked || !c->live;
        for (uint64_t back = 0; back <= (past ? BACK : 0) && back <= g->sequence && !found; back++) {
            meet(c, g, g->sequence - back, past, &m);
            found = judge(c, g, g->sequence - back, &m);
        }
    }
    free(m.terms);
    return found;
}
