/* Steps and waits: what is kept until a wait is followed back (way.c), and the run replayed (replay.c). */
#include "trace/why/path.h"
#include "trace/why/replay.h"
#include "trace/why/shadow.h"
#include "trace/why/way.h"
#include "trace/why/why.h"
#include <stdlib.h>

#define PENDING (1u << 16)            /* waits that are still to be followed */
#define TURN    (ANA_STEPS_LEAST / 4) /* steps of a rank between two looks at what is due */

struct ana_delays *ana_delays_new(size_t ranks)
{
    struct ana_delays *delays = calloc(1, sizeof *delays);
    if (!delays)
        return NULL;
    delays->ranks = ranks;
    delays->room = ANA_STEPS_OF_RANK;
    while (delays->room > ANA_STEPS_LEAST && delays->room * ranks > ANA_STEPS)
        delays->room /= 2;
    delays->rank = calloc(ranks + 1, sizeof *delays->rank);
    delays->wait = malloc(PENDING * sizeof *delays->wait);
    delays->ways = ana_ways_new();
    delays->path = ana_path_new(ranks);
    delays->replay = ana_replay_new(ranks, delays->room);
    if (delays->rank && delays->wait && delays->ways && delays->path && delays->replay)
        return delays;
    ana_delays_free(delays);
    return NULL;
}

void ana_delays_free(struct ana_delays *delays)
{
    if (!delays)
        return;
    for (size_t i = 0; delays->rank && i < delays->ranks; i++)
        free(delays->rank[i].step);
    free(delays->rank);
    free(delays->wait);
    ana_ways_free(delays->ways);
    ana_path_free(delays->path);
    ana_replay_free(delays->replay, delays->ranks);
    free(delays);
}

/* Whether the oldest wait has to be followed now: it is due, or the steps that it needs will soon be overwritten. */
static bool is_due(const struct ana_delays *delays, int64_t now_ns)
{
    const struct ana_late_wait *wait = &delays->wait[delays->followed % PENDING];
    uint32_t most = delays->room / 2;
    return wait->end_ns <= now_ns || delays->waits - delays->followed == PENDING ||
           delays->rank[wait->waiter].so_far - wait->waiter_step > most ||
           delays->rank[wait->culprit].so_far - wait->culprit_step > most;
}

static void follow_due(struct ana_why *why, int64_t now_ns)
{
    struct ana_delays *delays = why->delays;
    while (delays->followed < delays->waits && is_due(delays, now_ns)) {
        ana_ways_follow(why, &delays->wait[delays->followed % PENDING]);
        delays->followed++;
    }
}

bool ana_why_steps_turn(struct ana_why *why, size_t index)
{
    struct ana_delays *delays = why->delays;
    struct ana_why_steps *rank = &delays->rank[index];
    delays->way_left += ANA_WAY_OF_STEP * TURN;
    delays->steps += TURN;
    if (!rank->step) {
        rank->step = aligned_alloc(sizeof *rank->step, delays->room * sizeof *rank->step);
        bool ok = rank->step && ana_replay_rank_begin(delays->replay, index, delays->room);
        why->out_of_memory |= !ok;
        return ok;
    }
    follow_due(why, INT64_MIN);
    if (rank->so_far - delays->path->begin[index] >= delays->room / 4)
        ana_path_round(why);
    if (rank->so_far - delays->replay->rank[index].done >= delays->room / 4 * 3) {
        ana_shadows_choose(why, false);
        ana_replay_to(why, index, rank->so_far - delays->room / 2);
    }
    return true;
}

/* ---- waits ------------------------------------------------------------------------------------------------------ */

/* Notes in the waiter's step who ended its wait last. */
static void set_releaser(const struct ana_delays *delays, const struct ana_late_wait *wait, int64_t release_ns)
{
    struct ana_why_step *step = ana_step_at(delays, wait->waiter, wait->waiter_step);
    if (!step || !wait->culprit_step || (step->releaser && step->release_ns >= release_ns))
        return;
    step->release_ns = release_ns;
    step->releaser = wait->culprit + 1;
    step->releaser_step = wait->culprit_step;
}

static struct ana_late_wait late_wait(const struct ana_wait_span *span, int64_t ns)
{
    return (struct ana_late_wait){
        .waiter = (uint32_t)span->waiter,
        .culprit = (uint32_t)span->culprit,
        .waiter_step = span->waiter_step,
        .culprit_step = span->came_step,
        .ns = ns,
        .end_ns = span->end_ns,
    };
}

/* Has a wait followed back once all before it is known. */
static void follow_later(struct ana_why *why, const struct ana_late_wait *wait)
{
    struct ana_delays *delays = why->delays;
    if (wait->ns <= 0)
        return;
    delays->waited_ns = ana_plus(delays->waited_ns, wait->ns);
    follow_due(why, INT64_MIN);
    delays->wait[delays->waits++ % PENDING] = *wait;
}

void ana_why_wait(struct ana_why *why, const struct ana_wait_span *whole, int64_t left_ns)
{
    struct ana_late_wait wait = late_wait(whole, left_ns);
    set_releaser(why->delays, &wait, whole->end_ns);
    follow_later(why, &wait);
}

void ana_why_device_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t counted_ns)
{
    struct ana_late_wait wait = late_wait(span, counted_ns);
    wait.device = true;
    follow_later(why, &wait);
}

void ana_why_polled(struct ana_why *why, const struct ana_message *m)
{
    struct ana_delays *delays = why->delays;
    if (!why->rank[m->destination].spins)
        return;
    uint32_t number = m->recv_wait_step;
    const struct ana_why_step *step;
    for (int i = 0; i < 2; i++) { /* the call that received it, or the probe before */
        if (!(step = ana_step_at(delays, m->destination, number)))
            return;
        if (!step->releaser && step->spins_ns != INT64_MIN && step->spins_ns < m->send_begin_ns &&
            m->send_begin_ns <= step->begin_ns) {
            struct ana_late_wait wait = {.waiter = (uint32_t)m->destination,
                                         .culprit = (uint32_t)m->source,
                                         .waiter_step = number,
                                         .culprit_step = m->send_step};
            set_releaser(delays, &wait, m->send_begin_ns);
            return;
        }
        number = step->back;
    }
}

void ana_why_message(struct ana_why *why, const struct ana_message *m)
{
    struct ana_wait_span held;
    ana_replay_edge(why, m->destination, m->recv_wait_step, m->source, m->send_step);
    if (m->synchronous || ana_late_receiver(m, &held))
        ana_replay_edge(why, m->source, m->send_wait_step, m->destination, m->recv_step);
}

void ana_why_instance(struct ana_why *why, const struct ana_instance *instance)
{
    ana_replay_instance(why, instance);
}

void ana_why_joined(struct ana_why *why, const struct ana_joined *joined)
{
    ana_replay_joined(why, joined);
}

void ana_why_need(struct ana_why *why, const struct ana_need *need)
{
    ana_replay_edge(why, need->waiter.index, need->waiter.step, need->needed.index, need->needed.step);
}

void ana_why_settle(struct ana_why *why, int64_t now_ns, bool idle)
{
    struct ana_delays *delays = why->delays;
    int64_t due_ns = now_ns == INT64_MAX ? now_ns : ana_plus(now_ns, -ANA_DELAY_LAG_NS);
    if (!delays)
        return;
    follow_due(why, due_ns);
    if (!idle && delays->steps - delays->replayed < 4 * TURN * delays->ranks)
        return;
    delays->replayed = delays->steps;
    if (now_ns == INT64_MAX)
        ana_replay_ends(why);
    ana_shadows_choose(why, now_ns == INT64_MAX);
    ana_replay_until(why, due_ns);
}

int64_t ana_why_charged(const struct ana_why *why)
{
    int64_t all = 0;
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_cost *cost = &ana_segment_at(why, (uint32_t)i + 1)->cost;
        all = ana_plus(all, ana_plus(cost->direct_ns, cost->passed_ns));
    }
    for (size_t i = 0; why->delays && i < why->delays->ranks; i++) {
        const struct ana_why_steps *rank = &why->delays->rank[i];
        all = ana_plus(all, ana_plus(rank->inside.direct_ns, rank->inside.passed_ns));
        all = ana_plus(all, ana_plus(rank->unknown.direct_ns, rank->unknown.passed_ns));
    }
    return all;
}
