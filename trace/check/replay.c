/* The steps of all threads, played again as if every send were synchronous and every collective waited for all.  Who
 * waits for what then shows in which order calls depend on each other; times of the run play no part. */
#include "trace/check/check_impl.h"
#include <stdlib.h>

/* ---- one call --------------------------------------------------------------------------------------------------- */

void ana_actor_wake(struct ana_check *c, struct ana_actor *actor)
{
    if (actor->missing && --actor->missing > 0)
        return;
    ana_rank_queue(c, actor->rank);
}

static void wait_for_end(struct ana_actor *actor, struct ana_end *end)
{
    if (!end || end->done)
        return;
    end->waiter = actor;
    actor->missing++;
}

/* Objects begun by a start: both ends of a message, or one, or a collective. */
static void begin(struct ana_check *c, struct ana_actor *actor, const struct ana_act *act, const struct ana_act *got,
                  uint64_t sequence, struct ana_request *into)
{
    uint32_t flags = act->sig.flags;
    bool cancelled = got && got->sig.flags & TRC_SIG_CANCELLED;
    if (flags & TRC_SIG_COLL)
        into->meeting = ana_meeting_enter(c, actor, act, sequence, &into->place);
    if (flags & TRC_SIG_P2P_OUT && act->sig.peer != TRC_PEER_NULL && !(cancelled && !into->freed))
        into->send = ana_end_post(c, actor, act, NULL, false);
    if (!(flags & TRC_SIG_P2P_IN) || act->sig.source == TRC_PEER_NULL || (cancelled && !into->freed))
        return;
    bool asks = act->sig.source == TRC_PEER_ANY || act->sig.rtag == TRC_TAG_ANY;
    into->receive = ana_end_post(c, actor, act, asks || (got && !cancelled) ? got : act, true);
}

/* Whether the completions behind this call tell that it waited for them: a test could have gone on without. */
static bool completes_by_waiting(const struct ana_act *base)
{
    return base->call->opclass == TRC_OP_WAIT || base->call->opclass == TRC_OP_MRECV;
}

/* Begins the objects of one step, and adds the ones it waits for. */
static void enter_step(struct ana_check *c, struct ana_actor *actor, const struct ana_step *step,
                       const struct ana_act *base)
{
    const struct ana_act *act = ana_act_of(c, actor, step);
    uint32_t flags = act->sig.flags;
    struct ana_request *request = flags & (TRC_SIG_START | TRC_SIG_COMPLETE) ? ana_request_of(c, actor, step) : NULL;
    if (flags & TRC_SIG_COMPLETE) {
        if (request && completes_by_waiting(base)) {
            wait_for_end(actor, request->send);
            wait_for_end(actor, request->receive);
            ana_meeting_wait(request->meeting, request->place, actor);
        }
    } else if (flags & TRC_SIG_START) {
        if (request)
            begin(c, actor, act, request->end, step->sequence, request);
    } else {
        begin(c, actor, act, act, step->sequence, &actor->blocking);
        wait_for_end(actor, actor->blocking.send);
        wait_for_end(actor, actor->blocking.receive);
        ana_meeting_wait(actor->blocking.meeting, actor->blocking.place, actor);
    }
    if (flags & TRC_SIG_RMA || act->sig.object)
        ana_check_epoch(c, act);
}

static void leave_request(struct ana_check *c, struct ana_actor *actor, struct ana_request *request)
{
    if (request->receive && request->receive->paired && actor->clock) {
        ana_clock_join(actor, request->receive->stamp);
        ana_race_open(c, actor, request->receive);
    }
    ana_meeting_leave(c, request->meeting, request->place, actor);
    ana_end_leave(c, request->send);
    ana_end_leave(c, request->receive);
    request->send = request->receive = NULL;
    request->meeting = NULL;
}

/* Ends a call: its requests are gone, and the knowledge that came with its messages is merged. */
static void leave_call(struct ana_check *c, struct ana_actor *actor)
{
    for (size_t i = actor->waiting; i < actor->at; i++) {
        const struct ana_step *step = &actor->step[i];
        struct ana_request *request =
            ana_act_of(c, actor, step)->sig.flags & TRC_SIG_COMPLETE ? ana_request_of(c, actor, step) : NULL;
        if (request)
            leave_request(c, actor, request);
    }
    leave_request(c, actor, &actor->blocking);
    if (actor->clock)
        actor->clock[actor - c->actor]++;
    actor->waiting = actor->at;
    actor->let_go = false;
}

/* Enters the actor's next call with what belongs to it. */
static void enter_call(struct ana_check *c, struct ana_actor *actor)
{
    const struct ana_act *base = ana_act_of(c, actor, &actor->step[actor->at]);
    actor->waiting = actor->at;
    do
        enter_step(c, actor, &actor->step[actor->at++], base);
    while (actor->at < actor->steps && ana_act_of(c, actor, &actor->step[actor->at])->sig.flags & TRC_SIG_SUB);
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

void ana_rank_queue(struct ana_check *c, uint32_t rank)
{
    if (c->player[rank].queued)
        return;
    c->player[rank].queued = true;
    c->turn[(c->turn_first + c->turns++) % ana_job_ranks(c->job)] = rank;
}

static bool can_move(const struct ana_check *c, const struct ana_actor *actor)
{
    return (actor->missing == 0 || actor->let_go || c->free) &&
           (actor->waiting < actor->at || actor->at < actor->steps);
}

/* The thread of a rank whose next call came first: those on one channel then begin in the order in which they did. */
static struct ana_actor *choose_thread(struct ana_check *c, const struct ana_player *p)
{
    struct ana_actor *best = NULL;
    uint64_t first = UINT64_MAX;
    for (size_t i = p->first; i < p->first + p->actors; i++) {
        struct ana_actor *actor = &c->actor[i];
        if (!can_move(c, actor))
            continue;
        uint64_t begin = actor->waiting < actor->at ? 0 : actor->step[actor->at].begin;
        if (!best || begin < first) {
            best = actor;
            first = begin;
        }
    }
    return best;
}

static void play_rank(struct ana_check *c, uint32_t rank)
{
    for (struct ana_actor *actor; !c->memory && (actor = choose_thread(c, &c->player[rank]));) {
        if (actor->waiting < actor->at) {
            actor->missing = 0;
            leave_call(c, actor);
        } else {
            enter_call(c, actor);
        }
    }
}

bool ana_check_replay(struct ana_check *c)
{
    c->free = c->partial; /* nobody can be waited for if events are missing */
    c->wild &= !c->partial;
    c->turn = calloc(ana_job_ranks(c->job) + 1, sizeof *c->turn);
    if (!c->turn || !ana_clocks_begin(c))
        return false;
    for (uint32_t i = 0; i < ana_job_ranks(c->job); i++)
        ana_rank_queue(c, i);
    do {
        while (c->turns > 0 && !c->memory) {
            uint32_t rank = c->turn[c->turn_first];
            c->turn_first = (c->turn_first + 1) % ana_job_ranks(c->job);
            c->turns--;
            c->player[rank].queued = false;
            play_rank(c, rank);
        }
    } while (!c->memory && ana_check_stuck(c));
    return !c->memory;
}
