/* A rank that has left out a collective and went on to another call, in which it waits for the others. */
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

enum { VOTERS = 16, SUSPECTS = 8, GROUPS = 16 };

/* The wait of the voter in this collective; NULL: it does not wait there. */
static const struct ana_waiting *waiting_in(struct ana_case *c, const struct ana_group *g, size_t voter)
{
    for (const struct ana_waiting *p = ana_waits(c, voter); p < ana_waits(c, voter + 1); p++) {
        bool inside = p->kind == ANA_WAITING_COLLECTIVE && ana_group_at(c, p->group) == g;
        for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies) && !inside; d++) {
            inside = d->kind == ANA_DEPENDENCY_COLLECTIVE && d->identity == g->identity && d->sequence == g->sequence;
        }
        if (p->blocked && inside)
            return p;
    }
    return NULL;
}

/* Whether the suspect waits, if through others, for somebody who waits in this collective. */
static bool is_waited_for_there(struct ana_case *c, const struct ana_group *g, size_t suspect)
{
    for (size_t i = 0; i < c->count; i++)
        if (ana_rank_knot(c, i) == ana_rank_knot(c, suspect) && waiting_in(c, g, i))
            return true;
    return false;
}

/* Whether the suspect has sent the voter something since its last collective that was not taken. */
static bool has_sent_ahead(struct ana_case *c, uint32_t thread, size_t suspect, size_t voter)
{
    const struct ana_steps *s = ana_case_steps(c, suspect, thread);
    for (size_t i = s->count; i-- > 0 && (!s->step[i].identity || i + 1 == s->count);)
        if (s->step[i].to == (uint32_t)voter)
            return ana_message_left(c, suspect, voter);
    return false;
}

/* Whether several ranks that wait in the collective have not come to the suspect's place: one rank having left
 * something out is likelier than all having done so. */
static bool is_alone_ahead(struct ana_case *c, const struct ana_group *g, struct ana_waiting *waiting)
{
    size_t blocker[VOTERS], n = ana_waits_for_anybody(c, waiting) ? 0 : ana_waiting_for(c, waiting, blocker, VOTERS),
                            behind = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ana_waiting *in = waiting_in(c, g, blocker[i]);
        if (!in || in->thread != waiting->thread) /* other threads go other ways */
            return false;
    }
    struct ana_range range = ana_members(c->job, g->call.index, g->comm, false);
    for (size_t m = range.from; m < range.to && m < range.from + VOTERS && n == 1; m++) {
        size_t index = ana_member(c->job, g->call.index, g->comm, m);
        behind += index != SIZE_MAX && index != waiting->index && waiting_in(c, g, index) &&
                  has_sent_ahead(c, waiting->thread, waiting->index, index);
    }
    return n + behind >= 2;
}

static bool has_left_out(struct ana_case *c, const struct ana_group *g, size_t suspect)
{
    struct ana_waiting *waiting = ana_rank_waiting(c, suspect);
    if (!waiting || !ana_rank_knot(c, suspect) || !is_waited_for_there(c, g, suspect))
        return false;
    size_t voters = 0;
    int past = 0;
    struct ana_range range = ana_members(c->job, g->call.index, g->comm, false);
    for (size_t m = range.from; m < range.to && voters < VOTERS; m++) {
        size_t index = ana_member(c->job, g->call.index, g->comm, m);
        if (index == SIZE_MAX || ana_group_misses(g, index))
            continue;
        const struct ana_waiting *in = waiting_in(c, g, index);
        voters++;
        enum ana_past where = in ? ana_is_past(c, in, true, suspect) : ANA_PAST_UNKNOWN;
        past += (where == ANA_LEFT_OUT) - (where == ANA_ON_ITS_WAY);
    }
    if (past || waiting->kind == ANA_WAITING_FINALIZE)
        return past > 0;
    return g->missing_count == 1 && is_alone_ahead(c, g, waiting);
}

/* A guess why a call does not end: some ranks left out their part. */
struct guess {
    const struct ana_group *group;    /* it is a collective */
    const struct ana_waiting *waiter; /* else: who waits for a message */
    size_t come;                      /* number of ranks that wait there */
    size_t found, suspect[SUSPECTS];
};

static void guess(struct ana_case *c, const struct ana_group *g, struct guess *out)
{
    size_t all = (size_t)g->comm->def.size + (size_t)g->comm->def.remote_size;
    *out = (struct guess){.group = g};
    if (!g->blocked || g->nowhere || g->missing_count > SUSPECTS || g->missing_count * 2 > all)
        return;
    out->come = all - g->missing_count;
    for (size_t i = 0; i < g->missing_count; i++)
        if (has_left_out(c, g, g->missing[i]))
            out->suspect[out->found++] = g->missing[i];
}

/* The guess that needs the fewest culprits; on a tie, the one that most ranks testify to. None where one rank speaks
 * against another in two ways. */
static struct guess best_guess(struct ana_case *c)
{
    struct guess best = {0}, one;
    bool tie = false;
    for (size_t i = 0; i < c->groups.count && i < GROUPS; i++) {
        guess(c, ana_group_at(c, i), &one);
        bool fewer = one.found < best.found || (one.found == best.found && one.come > best.come);
        bool few = one.found == 1 || one.found * 3 <= one.come;
        if (!one.found || !few)
            continue;
        tie = best.found && !fewer && (tie || (one.come == 1 && best.come == 1 && one.suspect[0] != best.suspect[0]));
        best = !best.found || fewer ? one : best;
    }
    return tie ? (struct guess){0} : best;
}

/* The guess from messages that a stuck rank waits for and whose other end is as asked for. */
static struct guess message_guess(struct ana_case *c, enum ana_past past)
{
    struct guess out = {0};
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        bool needs = p->blocked && ana_rank_knot(c, p->index);
        for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies) && needs; d++) {
            size_t suspect = d->kind <= ANA_DEPENDENCY_RECEIVER && d->met <= 0 && !ana_graph_moves(&c->graph, d->node)
                                 ? ana_dependency_partner(c, d)
                                 : SIZE_MAX;
            if (suspect == SIZE_MAX || suspect == p->index || ana_is_past(c, p, false, suspect) != past)
                continue;
            if (out.found && out.suspect[0] != suspect) /* several are no explanation */
                return (struct guess){0};
            out.waiter = out.found ? out.waiter : p;
            out.suspect[0] = suspect;
            out.found = 1;
            out.come++;
        }
    }
    return out;
}

static bool settle(struct ana_case *c, const struct guess *g, enum ana_verdict_class id, int64_t lasted_ns)
{
    if (!g->found || !ana_case_settle_likely(c, id, g->suspect, g->found, lasted_ns))
        return false;
    ana_case_blame_all(c, ana_ranks_at(g->suspect, g->found));
    return true;
}

static void explain_message(struct ana_case *c, const struct guess *g, enum ana_sentence id)
{
    ANA_SUMMARY(c, id, .who = ana_one_rank(g->suspect[0]), .others = ana_one_rank(g->waiter->index),
                .more = (int64_t)g->come - 1, .call = ana_waiting_call(g->waiter),
                .other_call = ana_rank_call(c, g->suspect[0]));
}

static bool message_left_out(struct ana_case *c)
{
    struct guess best = message_guess(c, ANA_LEFT_OUT);
    if (!best.found || !settle(c, &best, ANA_CLASS_UNMATCHED, best.waiter->lasted_ns))
        return false;
    explain_message(c, &best, ANA_SENTENCE_WENT_PAST);
    return true;
}

bool ana_find_at_odds(struct ana_case *c)
{
    struct guess best = message_guess(c, ANA_WAS_THERE);
    const struct ana_waiting *there = best.found ? ana_rank_waiting(c, best.suspect[0]) : NULL;
    if (!there || there->kind == ANA_WAITING_FINALIZE || best.come > 1 ||
        !settle(c, &best, ANA_CLASS_UNMATCHED, best.waiter->lasted_ns))
        return false;
    ana_case_blame(c, best.waiter->index);
    explain_message(c, &best, ANA_SENTENCE_AT_ODDS);
    return true;
}

/* Whether a thread is inside a call at a place where it has never been. */
static bool is_new_there(struct ana_case *c, const struct ana_waiting *p)
{
    const struct ana_steps *steps = ana_case_steps(c, p->index, p->thread);
    return steps->open && !ana_was_at(steps, steps->step[steps->count - 1].place);
}

/* Whether the suspect waits in a collective of another communicator with the ranks that wait in this one, all at places
 * that are new to them: it may have been about to come here after that. */
static bool in_other_order(struct ana_case *c, const struct guess *g)
{
    const struct ana_waiting *p = g->found == 1 && g->group ? ana_rank_waiting(c, g->suspect[0]) : NULL;
    const struct ana_waiting *other = p ? ana_rank_waiting(c, g->group->call.index) : NULL;
    return other && p->kind == ANA_WAITING_COLLECTIVE && p->comm && p->identity != g->group->identity &&
           strcmp(p->call->name, g->group->call.name) == 0 && p->comm->def.size == g->group->comm->def.size &&
           !p->comm->def.remote_size && is_new_there(c, p) && is_new_there(c, other);
}

struct ana_ranks ana_ranks_in(struct ana_case *c, const struct ana_group *g)
{
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->count; i++)
        if (waiting_in(c, g, i))
            index[n++] = i;
    return ana_ranks_at(index, n);
}

bool ana_find_left_out(struct ana_case *c)
{
    struct guess best = best_guess(c);
    const struct ana_group *g = best.group;
    bool orders = in_other_order(c, &best);
    if (!best.found || !settle(c, &best, orders ? ANA_CLASS_CYCLE : ANA_CLASS_MISSING, g->lasted_ns))
        return message_left_out(c);
    if (orders) {
        c->out->next.id = ANA_SENTENCE_NEXT_ORDERS;
        ANA_SUMMARY(c, ANA_SENTENCE_TWO_ORDERS, .who = ANA_CULPRITS, .call = ana_rank_call(c, best.suspect[0]),
                    .others = ana_ranks_in(c, g), .other_call = g->call);
        return true;
    }
    const struct ana_waiting *suspect = ana_rank_waiting(c, best.suspect[0]);
    if (suspect->call->opclass == TRC_OP_SPAWN) { /* it has no number among the collectives, so either may be first */
        c->out->next.id = ANA_SENTENCE_NEXT_PART;
        ANA_SUMMARY(c, ANA_SENTENCE_NOT_OUT, .who = ANA_CULPRITS, .call = ana_waiting_call(suspect), .comm = g->comm,
                    .count = (int64_t)g->inside, .of = g->comm->def.size, .other_call = g->call);
    } else {
        ANA_SUMMARY(c, ANA_SENTENCE_LEFT_OUT, .who = ANA_CULPRITS, .call = {.name = g->call.name}, .comm = g->comm,
                    .count = (int64_t)g->inside, .of = (int64_t)g->comm->def.size + g->comm->def.remote_size,
                    .other_call = ana_waiting_call(suspect));
    }
    ANA_FACT(c, ANA_SENTENCE_COLLECTIVE_NUMBER, .number = (int64_t)g->sequence + 1, .comm = g->comm,
             .time = g->lasted_ns);
    return true;
}
