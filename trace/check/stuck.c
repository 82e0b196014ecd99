/* Standstill of the replay: some wait for each other in a circle, which nobody would leave if MPI did not buffer.  A
 * wait for one of several requests, or for a message from anyone, might have gone another way: it proves nothing, nor
 * does a wait for such a thread. */
#include "trace/check/check_impl.h"
#include <string.h>

#define CIRCLE 64u /* members of a circle that are named */

/* One thing that an actor waits for. */
struct want {
    struct ana_end *end;
    struct ana_meeting *meeting;
};

/* The next thing that is missing, from step *at and request part *part on.  False: no more. */
static bool next_want(const struct ana_check *c, struct ana_actor *actor, size_t *at, unsigned *part, struct want *out)
{
    while (*at <= actor->at) {
        struct ana_request *request = *at == actor->at ? &actor->blocking : NULL;
        if (!request && ana_act_of(c, actor, &actor->step[*at])->sig.flags & TRC_SIG_COMPLETE)
            request = ana_request_of(c, actor, &actor->step[*at]);
        while (request && *part < 3) {
            unsigned which = (*part)++;
            *out = (struct want){.end = which == 0   ? request->send
                                        : which == 1 ? request->receive
                                                     : NULL,
                                 .meeting = which == 2 ? request->meeting : NULL};
            size_t first = 0;
            if ((out->end && !out->end->done && out->end->waiter == actor) ||
                (out->meeting && ana_meeting_missing(c, out->meeting, &first) != ANA_NO_RANK))
                return true;
        }
        *part = 0;
        ++*at;
    }
    return false;
}

/* Whether somebody of this rank could still do something. */
static bool rank_has_hope(const struct ana_check *c, uint32_t rank)
{
    const struct ana_player *p = &c->player[rank];
    for (size_t i = p->first; i < p->first + p->actors; i++)
        if (ana_actor_blocked(&c->actor[i]) ? !c->actor[i].stuck : !p->finalized)
            return true;
    return false;
}

static bool want_has_hope(const struct ana_check *c, const struct want *want)
{
    if (want->meeting) {
        size_t at = 0;
        for (uint32_t rank; (rank = ana_meeting_missing(c, want->meeting, &at)) != ANA_NO_RANK;)
            if (!rank_has_hope(c, rank))
                return false;
        return true;
    }
    const struct ana_end *end = want->end;
    if (!end->receive || !ana_act_is_wild(end->act))
        return rank_has_hope(c, end->receive ? end->got->from : end->act->to);
    bool hope = ana_end_has_other(c, end);
    for (uint32_t rank = 0; rank < ana_job_ranks(c->job) && !hope; rank++)
        hope = rank != end->act->rank && rank_has_hope(c, rank);
    return hope;
}

/* The first thing without hope that a stuck actor waits for.  False: there is none, so it is not stuck. */
static bool find_hopeless(const struct ana_check *c, struct ana_actor *actor, struct want *out)
{
    size_t at = actor->waiting;
    unsigned part = 0;
    while (next_want(c, actor, &at, &part, out))
        if (!want_has_hope(c, out))
            return true;
    return false;
}

/* Returns whether the call could end by another of its requests than the ones that it completed. */
static bool is_choice(const struct ana_check *c, const struct ana_actor *actor)
{
    const char *name = ana_act_of(c, actor, &actor->step[actor->waiting])->call->name;
    return strcmp(name, "MPI_Waitany") == 0 || strcmp(name, "MPI_Waitsome") == 0;
}

/* Marks the actors that can never move.  Returns one such actor; NULL: none. */
static struct ana_actor *mark_stuck(struct ana_check *c)
{
    struct ana_actor *first = NULL;
    struct want want;
    for (size_t i = 0; i < c->actors; i++) {
        c->actor[i].stuck = ana_actor_blocked(&c->actor[i]) && !is_choice(c, &c->actor[i]);
        c->actor[i].visited = 0;
    }
    for (bool changed = true; changed;) {
        changed = false;
        first = NULL;
        for (size_t i = 0; i < c->actors; i++)
            if (c->actor[i].stuck && !find_hopeless(c, &c->actor[i], &want)) {
                c->actor[i].stuck = false;
                changed = true;
            } else if (c->actor[i].stuck && !first) {
                first = &c->actor[i];
            }
    }
    return first;
}

/* A stuck actor that `want` waits for; NULL: who could give it is gone. */
static struct ana_actor *find_next(const struct ana_check *c, const struct want *want)
{
    size_t at = 0;
    uint32_t rank = want->meeting        ? ana_meeting_missing(c, want->meeting, &at)
                    : want->end->receive ? want->end->got->from
                                         : want->end->act->to;
    while (want->meeting && rank != ANA_NO_RANK && rank_has_hope(c, rank))
        rank = ana_meeting_missing(c, want->meeting, &at);
    const struct ana_player *p = rank == ANA_NO_RANK ? NULL : &c->player[rank];
    for (size_t i = p ? p->first : 0; p && i < p->first + p->actors; i++)
        if (c->actor[i].stuck)
            return &c->actor[i];
    return NULL;
}

struct circle {
    struct ana_actor *member[CIRCLE];
    const struct ana_act *act[CIRCLE]; /* act that each waits for */
    size_t count;
    bool by_buffering; /* a send or a collective is among these */
};

/* Follows who waits for whom to the circle at its end. */
static void find_circle(const struct ana_check *c, struct ana_actor *actor, struct circle *circle)
{
    struct want want;
    size_t length = 0;
    while (actor && !actor->visited) {
        actor->visited = ++length;
        actor = find_hopeless(c, actor, &want) ? find_next(c, &want) : NULL;
    }
    for (struct ana_actor *m = actor; m && circle->count < CIRCLE && (circle->count == 0 || m != actor);) {
        find_hopeless(c, m, &want);
        circle->member[circle->count] = m;
        circle->act[circle->count++] = want.end ? want.end->act : ana_act_of(c, m, &m->step[m->waiting]);
        circle->by_buffering |= !want.end || !want.end->receive;
        m = find_next(c, &want);
    }
}

/* Gives an actor what MPI gave it by buffering, or by not waiting for all.  False: it waits for a message. */
static bool release(struct ana_check *c, struct ana_actor *actor)
{
    size_t at = actor->waiting;
    unsigned part = 0;
    bool released = false;
    for (struct want want; next_want(c, actor, &at, &part, &want);) {
        released |= want.meeting || !want.end->receive;
        if (want.meeting)
            actor->let_go = true;
        else if (!want.end->receive)
            ana_end_buffer(c, want.end);
    }
    if (actor->let_go)
        ana_rank_queue(c, actor->rank);
    return released;
}

bool ana_check_stuck(struct ana_check *c)
{
    struct ana_actor *stuck = mark_stuck(c);
    struct circle circle = {.count = 0};
    bool blocked = false, released = false;
    if (stuck)
        find_circle(c, stuck, &circle);
    if (circle.by_buffering)
        ana_found_add(c, ANA_CHECK_BUFFERING, circle.act, circle.count, "%zu in a circle", circle.count);
    for (size_t i = 0; i < circle.count; i++)
        released |= release(c, circle.member[i]);
    for (size_t i = 0; i < c->actors && !released; i++) {
        blocked |= ana_actor_blocked(&c->actor[i]);
        released |= ana_actor_blocked(&c->actor[i]) && release(c, &c->actor[i]);
    }
    if (released || !blocked)
        return released;
    c->free = true; /* somebody waits for a message that was never sent: the order was another */
    for (uint32_t i = 0; i < ana_job_ranks(c->job); i++)
        ana_rank_queue(c, i);
    return true;
}
