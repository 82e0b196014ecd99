/* Ranks that meet in one collective (same communicator, same number) with different calls or arguments. */
#include "trace/relations/partners.h"
#include "trace/util/hash.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define MEMBERS_MAX 64u /* members of a communicator whose past records are compared */
#define GROUPS_MAX  64u
#define BACK        8u /* collectives before the one that hangs that are compared too: it may have gone wrong there */

/* The call of one that came to it. */
struct record {
    const struct trc_call *call;
    const struct trc_sig *sig;
};

/* Ranks that came to one collective. */
struct meeting {
    struct record *record;
    struct ana_agreed *terms; /* terms of each record */
    size_t count;
    bool doubt; /* some may count otherwise than the others: then nothing can be compared */
};

/* The length of a call's name without its variants: "MPI_Allgatherv_init_c" is "MPI_Allgather" with `loose`, else
 * "MPI_Allgatherv_init". */
static size_t core(const char *name, bool loose)
{
    static const char *const endings[] = {"_c", "_init", "_block"};
    size_t n = strlen(name);
    for (size_t i = 0; i < (loose ? sizeof endings / sizeof *endings : 1); i++) {
        size_t m = strlen(endings[i]);
        n -= n > m && memcmp(name + n - m, endings[i], m) == 0 ? m : 0;
    }
    return loose && (name[n - 1] == 'v' || name[n - 1] == 'w') ? n - 1 : n;
}

/* A number that is equal for calls that match: `strict` by the rules of MPI, else also for calls that often complete
 * together anyway, such as MPI_Gather and MPI_Gatherv, or calls on files. */
static uint64_t call_term(const struct trc_call *call, bool strict)
{
    enum trc_category category = trc_opclass_category(call->opclass);
    bool by_name = category != TRC_CAT_NCCL && (strict || category != TRC_CAT_IO);
    return ana_hash(call->name, by_name ? core(call->name, !strict) : 0) + 2 * (uint64_t)call->opclass +
           !!strstr(call->name, "_init");
}

static void join(struct meeting *m, const struct trc_comm *comm, size_t who, struct record record)
{
    const struct trc_sig *sig = record.sig;
    bool inter = comm->def.remote_size > 0 || sig->flags & TRC_SIG_FAILED;
    bool rooted = trc_opclass_is_rooted(record.call->opclass) && !inter;
    m->terms[m->count] = (struct ana_agreed){
        {[ANA_TERM_ROOT] = (uint32_t)(rooted ? sig->peer : TRC_PEER_NONE),
         [ANA_TERM_AMOUNT] = inter ? TRC_BYTES_UNKNOWN : ana_agreed_bytes(record.call, sig->sent, sig->received)},
        who};
    m->record[m->count++] = record;
}

/* Collects all records of one collective: of ranks inside it, and of ranks that completed or started it. */
static void meet(struct ana_case *c, const struct ana_group *g, uint64_t sequence, bool past, struct meeting *m)
{
    m->count = 0;
    m->doubt = false;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count) && sequence == g->sequence; p++) {
        if (p->kind != ANA_WAITING_COLLECTIVE || p->sequence != sequence || p->identity != g->identity)
            continue;
        join(m, g->comm, p->index, (struct record){p->call, p->sig});
        m->doubt |= trc_order_in_doubt(p->comm, sequence) || !trc_call_known(ana_case_file(c, p->index), p->sig->call);
    }
    size_t inside = m->count, looked = 0;
    for (size_t i = 0, k = 0; past && i < c->count && looked < MEMBERS_MAX; i++) {
        while (k < inside && m->terms[k].who < i)
            k++;
        if (k < inside && m->terms[k].who == i)
            continue;
        const struct ana_last_collective *one = ana_past_collective(c, i, g->identity, sequence);
        looked++;
        if (!one)
            continue;
        join(m, g->comm, i, (struct record){one->call, &one->sig});
        m->doubt |= one->doubt;
    }
}

static struct ana_difference compare(struct ana_case *c, const struct meeting *m, bool strict)
{
    struct ana_difference d;
    for (size_t i = 0; i < m->count; i++)
        m->terms[i].term[ANA_TERM_CALL] = call_term(m->record[i].call, strict);
    c->memory |= !ana_find_difference(m->terms, m->count, &d);
    return d;
}

static struct ana_given_call given(const struct record *record)
{
    return (struct ana_given_call){.call = record->call->name, .site = record->sig->site};
}

/* The rank of the other group that the record names as the root, if it came and did not say that it is. */
static size_t wrong_root(struct ana_case *c, const struct meeting *m, size_t i)
{
    const struct trc_sig *sig = m->record[i].sig;
    const struct trc_comm *own = trc_comm(ana_case_file(c, m->terms[i].who), sig->comm);
    size_t root = ana_partner(c->job, m->terms[i].who, own, sig->peer);
    for (size_t k = 0; k < m->count; k++)
        if (m->terms[k].who == root)
            return m->record[k].sig->peer == TRC_PEER_ROOT ? SIZE_MAX : root;
    return SIZE_MAX;
}

static bool has_root(const struct meeting *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->record[i].sig->peer == TRC_PEER_ROOT || m->record[i].sig->peer == TRC_PEER_UNKNOWN)
            return true;
    return false;
}

/* Whether all have come to a collective of an intercommunicator, and nobody is the root, or one names another root. */
static bool roots_differ(struct ana_case *c, const struct trc_comm *comm, const struct meeting *m)
{
    if (comm->def.remote_size == 0 || m->count == 0 || !trc_opclass_is_rooted(m->record[0].call->opclass) ||
        m->count < (size_t)comm->def.size + (size_t)comm->def.remote_size)
        return false;
    bool wrong = !has_root(m);
    for (size_t i = 0; i < m->count; i++)
        wrong |= wrong_root(c, m, i) != SIZE_MAX;
    return wrong;
}

/* Blames the ranks that name another rank as the root, or the rank that is named where nobody is the root; else all. */
static void explain_roots(struct ana_case *c, const struct trc_comm *comm, const struct meeting *m)
{
    const bool rooted = has_root(m);
    for (size_t i = 0; i < m->count; i++) {
        size_t root = wrong_root(c, m, i);
        ana_case_blame(c, rooted && root != SIZE_MAX ? m->terms[i].who : root);
    }
    bool named = c->out->culprits > 0;
    for (size_t i = 0; i < m->count && !named; i++)
        ana_case_blame(c, m->terms[i].who);
    ANA_SUMMARY(c, rooted ? ANA_SENTENCE_WRONG_ROOT : ANA_SENTENCE_NO_ROOT, .who = ANA_CULPRITS,
                .call = {.name = m->record[0].call->name}, .comm = comm, .count = comm->def.size,
                .of = comm->def.remote_size);
}

/* Time that the ranks that came have waited: in the collective, or elsewhere where nobody can move any more. */
static int64_t stood_ns(struct ana_case *c, const struct ana_group *g)
{
    int64_t least = g->waited_ns;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count) && g->waited_ns == INT64_MAX; p++) {
        if (p->blocked && ana_rank_knot(c, p->index) && p->lasted_ns < least)
            least = p->lasted_ns;
    }
    return least == INT64_MAX ? 0 : least;
}

static bool judge(struct ana_case *c, const struct ana_group *g, uint64_t sequence, const struct meeting *m)
{
    const struct trc_comm *comm = g->comm;
    bool all = sequence == g->sequence && m->count >= (size_t)comm->def.size + (size_t)comm->def.remote_size;
    struct ana_difference d = compare(c, m, false);
    bool strict = d.odds == 0 && all; /* all are inside and none comes out: this time it did not complete */
    if (strict)
        d = compare(c, m, true);
    bool rootless = d.odds == 0 && roots_differ(c, comm, m);
    if (d.odds == 0 && !rootless)
        return false;
    enum ana_confidence confidence = g->sure && (!strict || rootless) ? ANA_PROVEN : ANA_LIKELY;
    if (!ana_case_settle(c, ANA_CLASS_MISMATCHED, confidence, stood_ns(c, g))) {
        if (c->live || strict)
            return false; /* it goes on for now */
        ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_MISMATCHED, ANA_LIKELY);
    }
    if (rootless)
        explain_roots(c, comm, m);
    else
        ana_case_explain_difference(c, m->terms, m->count, &d, given(&m->record[d.odd]), given(&m->record[d.usual]),
                                    comm, (int64_t)sequence + 1);
    return true;
}

/* Whether a mismatch matters: a finished job completed in spite of it. */
static bool worth_it(const struct ana_case *c)
{
    if (c->live)
        return true;
    for (size_t i = 0; i < c->count; i++)
        if (c->members->process[i].rank.state == ANA_RANK_DEAD)
            return true;
    return false;
}

/* Looks at those collectives in which somebody is `blocked`, or at the others. */
static bool find_in(struct ana_case *c, struct meeting *m, bool blocked)
{
    bool past = blocked || !c->live;
    for (size_t i = 0; i < c->groups.count && i < GROUPS_MAX; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        if ((g->waited_ns != INT64_MAX) != blocked)
            continue;
        for (uint64_t back = 0; back <= (past ? BACK : 0) && back <= g->sequence; back++) {
            meet(c, g, g->sequence - back, past, m);
            if (!m->doubt && judge(c, g, g->sequence - back, m))
                return true;
        }
    }
    return false;
}

bool ana_find_mismatch(struct ana_case *c)
{
    size_t most = c->waiting_count + MEMBERS_MAX;
    struct meeting m = {.record = ana_case_alloc(c, most * sizeof *m.record),
                        .terms = ana_case_alloc(c, most * sizeof *m.terms)};
    return m.record && m.terms && worth_it(c) && (find_in(c, &m, true) || find_in(c, &m, false));
}
