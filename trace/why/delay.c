/* Steps and waits: what is kept until a wait is followed back (way.c). */
#include "trace/why/way.h"
#include "trace/why/why.h"
#include <stdlib.h>

#define PENDING (1u << 16) /* waits that are still to be followed */

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
    if (delays->rank && delays->wait && delays->ways)
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
    delays->way_left += ANA_WAY_OF_STEP * ANA_STEPS_LEAST / 4;
    if (rank->step) {
        follow_due(why, INT64_MIN);
        return true;
    }
    rank->step = calloc(delays->room, sizeof *rank->step);
    why->out_of_memory |= !rank->step;
    return rank->step;
}

/* ---- finding steps ---------------------------------------------------------------------------------------------- */

static bool begins_at(const struct ana_delays *delays, const struct ana_why_steps *rank, uint32_t number, int64_t ns)
{
    return rank->step[number & (delays->room - 1)].begin_ns == ns;
}

/* The first of the steps oldest .. so_far that ends no earlier than `ns`.  They are in order of their ends. */
static uint32_t first_after(const struct ana_delays *delays, const struct ana_why_steps *rank, uint32_t oldest,
                            int64_t ns)
{
    uint32_t n = rank->so_far + 1 - oldest;
    while (n > 0) {
        uint32_t half = n / 2;
        if (rank->step[(oldest + half) & (delays->room - 1)].end_ns < ns) {
            oldest += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return oldest;
}

/* The number of the step of a rank that begins at `ns`; 0: it is not kept.  Mostly it is one of the latest. */
static uint32_t step_at(const struct ana_delays *delays, size_t index, int64_t ns)
{
    enum { LATEST = 16, BESIDE = 64 };
    const struct ana_why_steps *rank = &delays->rank[index];
    uint32_t kept = rank->so_far < delays->room ? rank->so_far : delays->room;
    uint32_t number = rank->so_far;
    for (uint32_t i = 0; i < LATEST && i < kept; i++, number--)
        if (begins_at(delays, rank, number, ns))
            return number;
    if (kept <= LATEST)
        return 0;
    number = first_after(delays, rank, rank->so_far - kept + 1, ns);
    for (uint32_t i = 0; i < BESIDE && rank->so_far - number < kept; i++, number++)
        if (begins_at(delays, rank, number, ns))
            return number;
    return 0;
}

/* ---- waits ------------------------------------------------------------------------------------------------------ */

/* Notes in the waiter's step who ended its wait last. */
static void set_releaser(const struct ana_delays *delays, const struct ana_late_wait *wait, int64_t release_ns)
{
    struct ana_why_step *step = &delays->rank[wait->waiter].step[wait->waiter_step & (delays->room - 1)];
    if (step->releaser && step->release_ns >= release_ns)
        return;
    step->release_ns = release_ns;
    step->releaser = wait->culprit + 1;
    step->releaser_step = wait->culprit_step;
}

void ana_why_wait(struct ana_why *why, const struct ana_wait_span *whole, int64_t left_ns)
{
    struct ana_delays *delays = why->delays;
    struct ana_late_wait wait = {
        .waiter = (uint32_t)whole->waiter,
        .culprit = (uint32_t)whole->culprit,
        .waiter_step = step_at(delays, whole->waiter, whole->begin_ns),
        .culprit_step = step_at(delays, whole->culprit, whole->came_ns),
        .ns = left_ns,
        .end_ns = whole->end_ns,
    };
    if (wait.waiter_step && wait.culprit_step)
        set_releaser(delays, &wait, whole->end_ns);
    if (left_ns <= 0)
        return;
    delays->waited_ns = ana_plus(delays->waited_ns, left_ns);
    follow_due(why, INT64_MIN);
    delays->wait[delays->waits++ % PENDING] = wait;
}

void ana_why_polled(struct ana_why *why, const struct ana_message *m)
{
    struct ana_delays *delays = why->delays;
    if (!why->rank[m->destination].spins)
        return;
    uint32_t number = step_at(delays, m->destination, m->recv_wait_begin_ns);
    const struct ana_why_steps *rank = &delays->rank[m->destination];
    for (int i = 0; i < 2 && number; i++) { /* the call that received it, or the probe before */
        const struct ana_why_step *step = &rank->step[number & (delays->room - 1)];
        if (!step->releaser && step->release_ns != INT64_MIN && step->release_ns < m->send_begin_ns &&
            m->send_begin_ns <= step->begin_ns) {
            struct ana_late_wait wait = {.waiter = (uint32_t)m->destination,
                                         .culprit = (uint32_t)m->source,
                                         .waiter_step = number,
                                         .culprit_step = step_at(delays, m->source, m->send_begin_ns)};
            if (wait.culprit_step)
                set_releaser(delays, &wait, m->send_begin_ns);
            return;
        }
        number = step->back;
    }
}

void ana_why_settle(struct ana_why *why, int64_t now_ns)
{
    int64_t due_ns = now_ns == INT64_MAX ? now_ns : ana_plus(now_ns, -ANA_DELAY_LAG_NS);
    if (why->delays)
        follow_due(why, due_ns);
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
