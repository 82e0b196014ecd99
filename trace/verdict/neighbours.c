/* Neighbourhoods that do not fit: a rank gets from another that does not send to it.  Leaders that do not fit: the two
 * groups of MPI_Intercomm_create name other leaders, or other tags.  Members of a group that do not meet in
 * MPI_Comm_create_group: they give other tags, or do not come. */
#include "trace/verdict/differs.h"
#include "trace/verdict/verdict_impl.h"

/* The communicator as this rank has it, where it has come to a collective of it. */
static const struct trc_comm *comm_of(struct ana_case *c, size_t index, uint64_t identity)
{
    const struct trc_file *file = ana_case_file(c, index);
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (p->identity == identity)
            return p->comm;
    const struct ana_last_events *last_events = ana_case_last_events(c, index);
    for (size_t k = last_events->collectives; k-- > 0;)
        if (last_events->collective[k].identity == identity)
            return trc_comm(file, last_events->collective[k].sig.comm);
    return NULL;
}

static size_t count(const struct ana_case *c, size_t index, const struct trc_comm *comm, const struct trc_ranks *list,
                    size_t other)
{
    size_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        n += ana_partner(c->job, index, comm, list->rank[i]) == other;
    return n;
}

/* The first source that sends to this rank less often than this rank gets from it; SIZE_MAX: none is known. */
static size_t find_lopsided(struct ana_case *c, const struct ana_waiting *p)
{
    const struct trc_ranks *sources = trc_ranks(ana_case_file(c, p->index), p->comm->sources);
    for (uint32_t i = 0; sources && i < sources->n; i++) {
        size_t source = ana_partner(c->job, p->index, p->comm, sources->rank[i]);
        const struct trc_comm *its = source == SIZE_MAX ? NULL : comm_of(c, source, p->identity);
        const struct trc_ranks *destinations = its ? trc_ranks(ana_case_file(c, source), its->destinations) : NULL;
        if (destinations &&
            count(c, source, its, destinations, p->index) < count(c, p->index, p->comm, sources, source))
            return source;
    }
    return SIZE_MAX;
}

/* Whether a leader names as the other one a rank that leads no group, or the two give other tags. */
static bool leaders_differ(struct ana_case *c, const struct ana_waiting *p)
{
    size_t other, mine;
    const struct ana_waiting *q = ana_other_leader(c, p, &other);
    const bool leads = q && q->sig->peer >= 0, meets = q && (ana_other_leader(c, q, &mine), mine == p->index);
    if (!q || !q->blocked || (leads && !meets) || (meets && q->sig->tag == p->sig->tag) ||
        !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN,
                         p->lasted_ns < q->lasted_ns ? p->lasted_ns : q->lasted_ns))
        return false;
    ana_case_blame(c, p->index);
    if (meets)
        ana_case_blame(c, other);
    ANA_SUMMARY(c, meets ? ANA_SENTENCE_OTHER_LEADERS_TAG : ANA_SENTENCE_NO_LEADER, .who = ana_one_rank(p->index),
                .others = ana_one_rank(other), .call = {.name = p->call->name}, .number = p->sig->tag,
                .other_number = q->sig->tag);
    return true;
}

static struct ana_given_call given(struct ana_case *c, const struct ana_waiting *p, size_t index)
{
    return (struct ana_given_call){.call = p->call->name, .site = ana_creates_too(c, p, index)->sig->site};
}

/* Finds members of a deadlocked group that gave MPI_Comm_create_group another tag, or are not inside it.  Does nothing
 * unless `p` is the group's first member there. */
static bool members_differ(struct ana_case *c, const struct ana_waiting *p)
{
    const struct trc_ranks *group = ana_case_deadlocked(c, p->index) ? ana_created_group(c, p) : NULL;
    if (!group)
        return false;
    struct ana_agreed *terms = ana_case_alloc(c, group->n * sizeof *terms);
    size_t *absent = ana_case_room(c), n = 0, absents = 0;
    for (uint32_t i = 0; terms && absent && i < group->n; i++) {
        const size_t index = ana_partner(c->job, p->index, NULL, group->rank[i]);
        const struct ana_waiting *q = index == SIZE_MAX ? NULL : ana_creates_too(c, p, index);
        if (index == SIZE_MAX || !ana_case_deadlocked(c, index) || (q && n == 0 && q != p))
            return false;
        if (q)
            terms[n++] = (struct ana_agreed){{[ANA_TERM_TAG] = (uint32_t)q->sig->tag}, index};
        else
            absent[absents++] = index;
    }
    struct ana_difference d;
    c->memory |= n && !ana_find_difference(terms, n, &d);
    if (!n || c->memory || (!d.odds && (!absents || absents > n)) ||
        !(d.odds ? ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, p->lasted_ns)
                 : ana_case_settle_likely(c, ANA_CLASS_MISSING, absent, absents, p->lasted_ns)))
        return false;
    if (d.odds) {
        ana_case_explain_difference(c, terms, n, &d, given(c, p, terms[d.odd].who), given(c, p, terms[d.usual].who),
                                    p->comm, 0);
        return true;
    }
    ana_case_blame_all(c, ana_case_ranks(c, absent, absents));
    ANA_SUMMARY(c, ANA_SENTENCE_NOT_COME, .who = ANA_CULPRITS, .call = {.name = p->call->name}, .comm = p->comm,
                .count = (int64_t)n, .of = (int64_t)group->n, .other_call = ana_rank_call(c, absent[0]));
    c->out->next.id = ANA_SENTENCE_NEXT_PART;
    return true;
}

bool ana_find_lopsided(struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->blocked && (leaders_differ(c, p) || members_differ(c, p)))
            return true;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        if (!p->blocked || p->kind != ANA_WAITING_COLLECTIVE || p->call->opclass != TRC_OP_NEIGHBOR)
            continue;
        size_t source = find_lopsided(c, p);
        if (source == SIZE_MAX || !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, p->lasted_ns))
            continue;
        ana_case_blame(c, p->index);
        ana_case_blame(c, source);
        ANA_SUMMARY(c, ANA_SENTENCE_LOPSIDED, .who = ana_one_rank(p->index), .others = ana_one_rank(source),
                    .call = {.name = p->call->name}, .comm = p->comm);
        ANA_NEXT(c, ANA_SENTENCE_NEXT_LOPSIDED);
        return true;
    }
    return false;
}
