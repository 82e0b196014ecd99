/* A rank that has left out a collective and went on to another call, in which it waits for the others. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

enum { VOTERS = 16, SUSPECTS = 8, GROUPS = 16 };

/* The steps of a rank since the collective of this communicator before `sequence`, up to that itself. */
struct round {
    const struct ana_step *step;
    size_t count;
    bool known; /* that collective is there, or there was none */
};

static struct round round_of(struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence)
{
    const struct ana_steps *s = ana_case_steps(c, index);
    size_t end = s->count;
    for (size_t i = 0; i < end; i++)
        if (s->step[i].identity == identity && s->step[i].sequence == sequence)
            end = i + 1;
    size_t at = end;
    while (at > 0 && !(s->step[at - 1].identity == identity && s->step[at - 1].sequence + 1 == sequence))
        at--;
    return (struct round){s->step + at, end - at, end && (at > 0 || sequence == 0)};
}

/* How often a rank has been at a place and come on. */
static size_t passed(const struct round *r, uint64_t place)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < r->count; i++)
        n += r->step[i].place == place;
    return n;
}

/* In earlier rounds of the suspect: 1 if from `before` it came to `wanted` before `instead`, -1 the other way round, 0
 * if it has not been there. */
static int habit(const struct ana_steps *s, uint64_t before, uint64_t wanted, uint64_t instead)
{
    bool passed_before = false;
    int found = 0;
    for (size_t i = 0; i + 1 < s->count; i++) {
        uint64_t place = s->step[i].place;
        if (passed_before && (place == wanted || place == instead)) {
            found = place == wanted ? 1 : -1;
            passed_before = false;
        }
        passed_before |= place == before;
    }
    return found;
}

struct votes {
    size_t left_out, on_its_way;
    size_t straight; /* had nothing to do before it; so few programs do that between two ranks only */
};

/* One who waits in the collective tells from where it came there.  Who has been at that place as often and went on has
 * left the collective out; who has not is still on its way. */
static void vote(struct ana_case *c, const struct ana_group *g, size_t voter, size_t suspect, struct votes *votes)
{
    struct round his = round_of(c, voter, g->identity, g->sequence);
    struct round its = round_of(c, suspect, g->identity, g->sequence);
    if (!his.known || !its.known || his.count == 0 || its.count == 0)
        return;
    uint64_t wanted = his.step[his.count - 1].place, instead = its.step[its.count - 1].place;
    if (his.count == 1) { /* straight from the last one */
        votes->straight++;
        return;
    }
    uint64_t before = his.step[his.count - 2].place;
    int used = habit(ana_case_steps(c, suspect), before, wanted, instead);
    bool has_passed = used ? used > 0 : passed(&its, before) >= passed(&his, before);
    if (has_passed)
        votes->left_out++;
    else
        votes->on_its_way++;
}

static bool is_missing(const struct ana_group *g, size_t index)
{
    for (size_t i = 0; i < g->missing_count; i++)
        if (g->missing[i] == index)
            return true;
    return false;
}

/* Whether the suspect waits, if through others, for somebody who waits in this collective. */
static bool is_waited_for_there(struct ana_case *c, const struct ana_group *g, size_t suspect)
{
    for (size_t i = 0; i < c->waiting_count; i++) {
        struct ana_waiting *p = &c->waiting[i];
        if (!p->blocked || ana_rank_knot(c, p->index) != ana_rank_knot(c, suspect))
            continue;
        bool inside = p->kind == ANA_WAITING_COLLECTIVE && ana_group_at(c, p->group) == g;
        for (uint32_t k = 0; k < p->dependencies && !inside; k++) {
            const struct ana_dependency *d = &c->dependency[p->first_dependency + k];
            inside = d->kind == ANA_DEPENDENCY_COLLECTIVE && d->identity == g->identity && d->sequence == g->sequence;
        }
        if (inside)
            return true;
    }
    return false;
}

/* The one rank that this one waits for: it may be the one that does not do its part.  SIZE_MAX: several. */
static size_t partner_of(struct ana_case *c, struct ana_waiting *waiting)
{
    size_t blocker[2];
    return ana_waiting_for(c, waiting, blocker, 2) == 1 ? blocker[0] : SIZE_MAX;
}

static bool has_left_out(struct ana_case *c, const struct ana_group *g, size_t suspect)
{
    struct votes votes = {0};
    struct ana_waiting *waiting = ana_rank_waiting(c, suspect);
    if (!waiting || waiting->kind == ANA_WAITING_FINALIZE || !ana_rank_knot(c, suspect) ||
        !is_waited_for_there(c, g, suspect))
        return false;
    size_t partner = partner_of(c, waiting), voters = 0;
    struct ana_range range = ana_members(c->job, g->call.index, g->comm, false);
    for (size_t m = range.from; m < range.to && voters < VOTERS; m++) {
        size_t index = ana_member(c->job, g->call.index, g->comm, m);
        if (index == SIZE_MAX || index == partner || is_missing(g, index))
            continue;
        voters++;
        vote(c, g, index, suspect, &votes);
    }
    if (partner != SIZE_MAX && votes.straight >= 2)
        votes.left_out += votes.straight;
    return votes.left_out > votes.on_its_way;
}

/* What would explain that a collective does not end: some left it out. */
struct guess {
    const struct ana_group *group;
    size_t come; /* to it */
    size_t found, suspect[SUSPECTS];
};

static void guess(struct ana_case *c, const struct ana_group *g, struct guess *out)
{
    size_t all = (size_t)g->comm->def.size;
    *out = (struct guess){.group = g};
    if (!g->blocked || g->nowhere || g->comm->def.remote_size || g->missing_count > SUSPECTS ||
        g->missing_count * 2 > all)
        return;
    out->come = all - g->missing_count;
    for (size_t i = 0; i < g->missing_count; i++)
        if (has_left_out(c, g, g->missing[i]))
            out->suspect[out->found++] = g->missing[i];
}

/* The guess that needs the fewest culprits; of those, the one that most ranks testify to. */
static struct guess best_guess(struct ana_case *c)
{
    struct guess best = {0}, one;
    for (size_t i = 0; i < c->groups.count && i < GROUPS; i++) {
        guess(c, ana_group_at(c, i), &one);
        bool fewer = one.found < best.found || (one.found == best.found && one.come > best.come);
        bool few = one.found == 1 || one.found * 3 <= one.come;
        if (one.found && few && (!best.found || fewer))
            best = one;
    }
    return best;
}

bool ana_find_left_out(struct ana_case *c)
{
    struct guess best = best_guess(c);
    const struct ana_group *g = best.group;
    if (!best.found ||
        !ana_case_settle(c, ANA_CLASS_MISSING, ana_case_certainty(c, best.suspect, best.found), g->lasted_ns))
        return false;
    for (size_t i = 0; i < best.found; i++)
        ana_case_blame(c, best.suspect[i]);
    c->out->deadlock = c->out->confidence == ANA_PROVEN;
    if (c->out->deadlock)
        c->out->confidence = ANA_LIKELY; /* that they hang is proven, whose fault it is is not */
    c->out->summary = (struct ana_fact){ANA_SAY_LEFT_OUT,
                                        .who = ANA_CULPRITS,
                                        .call = {.name = g->call.name},
                                        .comm = g->comm,
                                        .count = (int64_t)g->inside,
                                        .of = g->comm->def.size,
                                        .other_call = ana_waiting_call(ana_rank_waiting(c, best.suspect[0]))};
    ana_case_fact(c, (struct ana_fact){ANA_SAY_COLLECTIVE_NUMBER, .number = (int64_t)g->sequence + 1, .comm = g->comm,
                                       .time = g->lasted_ns});
    return true;
}
