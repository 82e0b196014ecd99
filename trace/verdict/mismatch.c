/* Ranks that meet in one collective (same communicator, same number) with different calls or arguments. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 64u /* of a communicator, whose past records are compared */
#define BACK        8u  /* collectives before the one that hangs that are compared too: it may have gone wrong there */

/* What all ranks of one collective must agree on. */
struct terms {
    size_t index;
    const struct trc_call *call;
    uint64_t site;
    int32_t root;   /* world rank; TRC_PEER_NONE: none */
    uint64_t bytes; /* one contribution; TRC_BYTES_UNKNOWN: may differ */
    bool here;      /* it is the root of an intercommunicator's */
};

struct meeting {
    struct terms *terms;
    size_t count, room;
    bool doubt; /* some may count otherwise than the others: then nothing can be compared */
};

static bool varies(const char *name)
{
    return strstr(name, "therv") || strstr(name, "tterv") || strstr(name, "toallv") || strstr(name, "toallw");
}

static uint64_t contribution(const struct trc_call *call, const struct trc_sig *sig)
{
    switch (trc_opclass_agreed(call->opclass)) {
    case TRC_AGREED_SENT:
        return sig->sent;
    case TRC_AGREED_RECEIVED:
        return sig->received;
    case TRC_AGREED_LARGER:
        return sig->sent > sig->received ? sig->sent : sig->received;
    case TRC_AGREED_SENT_EACH:
        return varies(call->name) ? TRC_BYTES_UNKNOWN : sig->sent;
    case TRC_AGREED_RECV_EACH:
        return varies(call->name) ? TRC_BYTES_UNKNOWN : sig->received;
    case TRC_AGREED_NOTHING:
        break;
    }
    return TRC_BYTES_UNKNOWN;
}

static struct terms terms_of(size_t index, const struct trc_comm *comm, const struct trc_call *call,
                             const struct trc_sig *sig)
{
    bool rooted = trc_opclass_is_rooted(call->opclass);
    bool inter = comm->def.remote_size > 0 || sig->flags & TRC_SIG_FAILED;
    return (struct terms){index,
                          call,
                          sig->site,
                          rooted && !inter ? sig->peer : TRC_PEER_NONE,
                          inter ? TRC_BYTES_UNKNOWN : contribution(call, sig),
                          sig->peer == TRC_PEER_ROOT};
}

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

static bool same_words(const char *a, const char *b, bool loose)
{
    size_t n = core(a, loose);
    return n == core(b, loose) && memcmp(a, b, n) == 0;
}

static bool same_call(const struct trc_call *a, const struct trc_call *b)
{
    if (trc_opclass_category(a->opclass) == TRC_CAT_NCCL)
        return a->opclass == b->opclass;
    return same_words(a->name, b->name, false);
}

/* Whether MPI forbids two calls to meet that often complete together anyway: MPI_Gather and MPI_Gatherv, those on
 * files. */
static bool similar(const struct trc_call *a, const struct trc_call *b)
{
    bool init = strstr(a->name, "_init"), file = trc_opclass_category(a->opclass) == TRC_CAT_IO;
    return a->opclass == b->opclass && init == !!strstr(b->name, "_init") &&
           (file || same_words(a->name, b->name, true));
}

/* Whether two terms agree: `strict` by MPI's rules, else by what often completes anyway. */
static bool agree(const struct terms *a, const struct terms *b, bool strict)
{
    bool bytes = a->bytes == b->bytes || a->bytes == TRC_BYTES_UNKNOWN || b->bytes == TRC_BYTES_UNKNOWN;
    return (same_call(a->call, b->call) || (!strict && similar(a->call, b->call))) && a->root == b->root && bytes;
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

/* A collective that somebody is inside, or has started and waits for. */
struct spot {
    uint64_t identity, sequence;
    const struct trc_comm *comm;
    int64_t lasted_ns; /* of the youngest wait for it */
    bool blocked;
    bool sure; /* some wait can only end with it */
};

/* Collects all records of one collective: of ranks inside it, and of those that completed or started it. */
static void meet(struct ana_case *c, const struct spot *spot, uint64_t sequence, bool past, struct meeting *m)
{
    m->count = 0;
    m->doubt = false;
    for (size_t i = 0; i < c->waiting_count && sequence == spot->sequence; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (p->kind != ANA_WAITING_COLLECTIVE || p->sequence != sequence || p->identity != spot->identity)
            continue;
        join(c, m, terms_of(p->index, p->comm, p->call, p->sig));
        m->doubt |= trc_order_in_doubt(p->comm, sequence);
    }
    size_t inside = m->count, looked = 0;
    for (size_t i = 0; past && i < c->count && looked < MEMBERS_MAX; i++) {
        bool here = false;
        for (size_t k = 0; k < inside && !here; k++)
            here = m->terms[k].index == i;
        if (here)
            continue;
        looked++;
        const struct ana_last_events *last_events = ana_case_last_events(c, i);
        for (size_t k = last_events->collectives; k-- > 0;)
            if (last_events->collective[k].identity == spot->identity &&
                last_events->collective[k].sequence == sequence) {
                join(c, m, terms_of(i, spot->comm, last_events->collective[k].call, &last_events->collective[k].sig));
                m->doubt |= last_events->collective[k].doubt;
                break;
            }
    }
}

/* The terms that most ranks gave; of equally many, those of the lowest rank. */
static size_t usual(const struct meeting *m, bool strict)
{
    size_t best = 0, best_count = 0;
    for (size_t i = 0; i < m->count && i < MEMBERS_MAX; i++) {
        size_t n = 0;
        for (size_t k = 0; k < m->count; k++)
            n += agree(&m->terms[i], &m->terms[k], strict);
        if (n > best_count) {
            best = i;
            best_count = n;
        }
    }
    return best;
}

static void say_line(struct ana_case *c, const struct terms *t)
{
    char where[256];
    ana_site_words(c->job, t->index, t->site, where, sizeof where);
    if (where[0])
        ana_case_evidence(c, "rank %s called %s at %s", ana_rank_label(c->job, t->index).text, t->call->name, where);
}

static void say(struct ana_case *c, const struct spot *spot, uint64_t sequence, const struct terms *usual,
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
    ana_comm_words(c->job, spot->comm, comm, sizeof comm);
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
                      (unsigned long long)sequence + 1, ana_comm_kind(spot->comm));
    say_line(c, odd);
    say_line(c, usual);
}

/* Whether all have come to a collective of an intercommunicator, and each side takes the other for the root's. */
static bool has_no_root(const struct trc_comm *comm, const struct meeting *m)
{
    if (comm->def.remote_size == 0 || m->count == 0 || !trc_opclass_is_rooted(m->terms[0].call->opclass) ||
        m->count < (size_t)comm->def.size + (size_t)comm->def.remote_size)
        return false;
    for (size_t i = 0; i < m->count; i++)
        if (m->terms[i].here || m->terms[i].root == TRC_PEER_UNKNOWN)
            return false;
    return true;
}

static size_t count_odd(const struct meeting *m, size_t most, bool strict, size_t *odd)
{
    size_t odds = 0;
    for (size_t i = 0; i < m->count; i++)
        if (!agree(&m->terms[most], &m->terms[i], strict) && odds++ == 0)
            *odd = i;
    return odds;
}

static bool judge(struct ana_case *c, const struct spot *spot, uint64_t sequence, const struct meeting *m)
{
    const struct trc_comm *comm = spot->comm;
    bool all = sequence == spot->sequence && m->count >= (size_t)comm->def.size + (size_t)comm->def.remote_size;
    bool strict = false;
    size_t odd = SIZE_MAX, most = usual(m, false), odds = count_odd(m, most, false, &odd);
    if (odds == 0 && all) { /* all are inside and none comes out: this time it did not complete */
        strict = true;
        most = usual(m, true);
        odds = count_odd(m, most, true, &odd);
    }
    bool rootless = odds == 0 && has_no_root(comm, m);
    if (odds == 0 && !rootless)
        return false;
    enum ana_confidence confidence = spot->sure && (!strict || rootless) ? ANA_PROVEN : ANA_LIKELY;
    if (!ana_case_settle(c, ANA_CLASS_MISMATCHED, confidence, spot->lasted_ns)) {
        if (c->live || strict)
            return false; /* it goes on for now */
        c->out->state = ANA_VERDICT_ABORTED;
        c->out->id = ANA_CLASS_MISMATCHED;
        c->out->confidence = ANA_LIKELY;
    }
    for (size_t i = 0; i < m->count; i++)
        if (rootless || odds * 2 == m->count || !agree(&m->terms[most], &m->terms[i], strict))
            ana_case_blame(c, m->terms[i].index);
    if (rootless)
        ana_case_say(c,
                     "nobody gave MPI_ROOT to %s on an intercommunicator of %d and %d: each side waits for the other",
                     m->terms[0].call->name, comm->def.size, comm->def.remote_size);
    else
        say(c, spot, sequence, &m->terms[most], &m->terms[odd], odds, m->count);
    return true;
}

/* Whether a mismatch matters: a finished job completed in spite of it. */
static bool worth_it(const struct ana_case *c)
{
    if (c->live)
        return true;
    for (size_t i = 0; i < c->count; i++)
        if (c->job->process[i].rank.state == ANA_RANK_DEAD)
            return true;
    return false;
}

static void add_spot(struct ana_case *c, struct ana_map *spots, struct spot one)
{
    struct spot *spot = ana_map_add(spots, one.identity, one.sequence, 0);
    if (!spot) {
        c->memory = true;
        return;
    }
    bool first = !spot->comm, younger = one.blocked && (!spot->blocked || one.lasted_ns < spot->lasted_ns);
    one.sure |= spot->sure;
    one.blocked |= spot->blocked;
    if (!first && !younger)
        one.lasted_ns = spot->lasted_ns;
    *spot = one;
}

/* Adds the collectives that a rank has started and waits for; one of several may end the wait. */
static void add_started(struct ana_case *c, struct ana_map *spots, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    for (uint32_t i = 0; i < p->dependencies; i++) {
        const struct ana_dependency *w = &c->dependency[p->first_dependency + i];
        if (w->kind == ANA_DEPENDENCY_COLLECTIVE && w->comm)
            add_spot(c, spots,
                     (struct spot){w->identity, w->sequence, w->comm, p->lasted_ns, true,
                                   p->kind == ANA_WAITING_MESSAGES && (p->dependencies == 1 || !p->any)});
    }
}

static void find_spots(struct ana_case *c, struct ana_map *spots)
{
    for (size_t i = 0; i < c->waiting_count && spots->count < MEMBERS_MAX; i++) {
        struct ana_waiting *p = &c->waiting[i];
        if (p->kind == ANA_WAITING_COLLECTIVE && p->comm)
            add_spot(c, spots,
                     (struct spot){p->identity, p->sequence, p->comm, p->blocked ? p->lasted_ns : 0, p->blocked, true});
        else if (p->blocked && (p->kind == ANA_WAITING_MESSAGES || p->kind == ANA_WAITING_POLL))
            add_started(c, spots, p);
    }
}

bool ana_find_mismatch(struct ana_case *c)
{
    struct meeting m = {0};
    struct ana_map spots;
    bool found = false;
    ana_map_init(&spots, sizeof(struct spot));
    if (worth_it(c))
        find_spots(c, &spots);
    for (size_t i = 0; i < spots.count && !found; i++) {
        const struct spot *spot = ana_map_value(&spots, i);
        bool past = spot->blocked || !c->live;
        for (uint64_t back = 0; back <= (past ? BACK : 0) && back <= spot->sequence && !found; back++) {
            meet(c, spot, spot->sequence - back, past, &m);
            found = !m.doubt && judge(c, spot, spot->sequence - back, &m);
        }
    }
    ana_map_free(&spots);
    free(m.terms);
    return found;
}
