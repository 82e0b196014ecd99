/* Steps and waits: what is kept until a wait is followed back (way.c), and the run replayed (replay.c). */
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include "trace/cause/way.h"
#include "trace/util/grow.h"
#include "trace/util/pages.h"
#include "trace/util/times.h"
#include <string.h>

#define PENDING (1u << 16) /* waits that are still to be followed */

uint32_t ana_steps_room(size_t ranks)
{
    uint32_t room = ANA_STEPS_OF_RANK;
    while (room > ANA_STEPS_LEAST && room * ranks > ANA_STEPS)
        room /= 2;
    return room;
}

struct ana_causes *ana_causes_new(size_t ranks)
{
    struct ana_causes *causes = calloc(1, sizeof *causes);
    if (!causes)
        return NULL;
    causes->ranks = ranks;
    causes->room = ana_steps_room(ranks);
    causes->rank = calloc(ranks + 1, sizeof *causes->rank);
    causes->step = ana_pages_make(ranks * causes->room * sizeof *causes->step);
    causes->wait = malloc(PENDING * sizeof *causes->wait);
    causes->ways = ana_ways_new();
    causes->path = ana_path_new(ranks);
    causes->replay = ana_replay_new(ranks, causes->room);
    if (causes->rank && causes->step && causes->wait && causes->ways && causes->path && causes->replay)
        return causes;
    ana_causes_free(causes);
    return NULL;
}

void ana_causes_free(struct ana_causes *causes)
{
    if (!causes)
        return;
    ana_pages_drop(causes->step, causes->ranks * causes->room * sizeof *causes->step);
    free(causes->rank);
    free(causes->segment);
    free(causes->place);
    free(causes->wait);
    ana_ways_free(causes->ways);
    ana_path_free(causes->path);
    ana_replay_free(causes->replay, causes->ranks);
    free(causes);
}

/* Whether the oldest wait has to be followed now: it is due, or the steps that it needs will soon be overwritten. */
static bool is_due(const struct ana_causes *causes, int64_t now_ns)
{
    const struct ana_late_wait *wait = &causes->wait[causes->followed % PENDING];
    uint32_t most = causes->room / 2;
    return wait->end_ns <= now_ns || causes->waits - causes->followed == PENDING ||
           causes->rank[wait->waiter].so_far - wait->waiter_step > most ||
           causes->rank[wait->culprit].so_far - wait->culprit_step > most;
}

static void follow_due(struct ana_causes *causes, int64_t now_ns)
{
    while (causes->followed < causes->waits && is_due(causes, now_ns)) {
        ana_ways_follow(causes, &causes->wait[causes->followed % PENDING]);
        causes->followed++;
    }
}

/* ---- segments, places, steps ------------------------------------------------------------------------------------- */

/* Makes room for the element of this number, + 1; what lies before it and was not told is zero.  False: out of memory. */
static bool room_for(void *array, size_t *count, size_t *room, size_t size, uint32_t number)
{
    for (; *count < number; ++*count) {
        if (!ana_grow(array, *count, room, size))
            return false;
        char *at;
        memcpy(&at, array, sizeof at);
        memset(at + *count * size, 0, size);
    }
    return true;
}

static void take_place(struct ana_causes *causes, const struct ana_told *told)
{
    if (!room_for(&causes->place, &causes->places, &causes->place_room, sizeof *causes->place, told->index)) {
        causes->out_of_memory = true;
        return;
    }
    struct ana_cause_place *place = &causes->place[told->index - 1];
    place->communicates = told->place.communicates;
    place->ends = told->place.ends;
}

static void take_segment(struct ana_causes *causes, const struct ana_told *told)
{
    if (!room_for(&causes->segment, &causes->segments, &causes->segment_room, sizeof *causes->segment, told->index)) {
        causes->out_of_memory = true;
        return;
    }
    struct ana_cause_segment *segment = &causes->segment[told->index - 1];
    segment->from = told->segment.from;
    segment->stretch = told->segment.stretch;
    if (segment->stretch > causes->stretches)
        causes->stretches = segment->stretch;
}

/* Makes the ring of a rank, or follows waits that would lose their steps in it.  False: it has no ring. */
static bool turn_steps(struct ana_causes *causes, uint32_t index)
{
    struct ana_cause_rank *rank = &causes->rank[index];
    causes->way_left += ANA_WAY_OF_STEP * ANA_STEPS_TURN;
    causes->steps += ANA_STEPS_TURN;
    if (!rank->step) {
        rank->lost = rank->lost || !ana_replay_rank_begin(causes->replay, index, causes->room);
        rank->step = rank->lost ? NULL : causes->step + (size_t)index * causes->room;
        causes->out_of_memory |= rank->lost;
        return !rank->lost;
    }
    follow_due(causes, INT64_MIN);
    if (rank->so_far - causes->path->begin[index] >= causes->room / 4)
        ana_path_round(causes);
    if (rank->so_far - causes->replay->rank[index].done >= causes->room / 4 * 3)
        ana_replay_to(causes, index, rank->so_far - causes->room / 2);
    return !rank->lost;
}

static inline void take_step(struct ana_causes *causes, const struct ana_told *told)
{
    struct ana_cause_rank *rank = &causes->rank[told->index];
    if (__builtin_expect(rank->so_far % ANA_STEPS_TURN == 0, 0) && !turn_steps(causes, told->index))
        return;
    rank->several |= told->step.several;
    bool known = told->step.segment <= causes->segments && told->step.place <= causes->places; /* else: no memory */
    rank->step[++rank->so_far & (causes->room - 1)] = (struct ana_cause_step){
        .begin_ns = told->step.begin_ns,
        .end_ns = told->step.end_ns,
        .spins_ns = told->step.spins_ns,
        .segment = known ? told->step.segment : 0,
        .back = told->step.back,
        .place = known ? told->step.place : 0,
        .polled_ns = told->step.polled_ns,
    };
    __builtin_prefetch(&rank->step[(rank->so_far + ANA_STEPS_AHEAD) & (causes->room - 1)], 1);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Notes in the waiter's step who ended its wait last. */
static void set_releaser(const struct ana_causes *causes, const struct ana_late_wait *wait, int64_t release_ns)
{
    struct ana_cause_step *step = ana_step_at(causes, wait->waiter, wait->waiter_step);
    if (!step || !wait->culprit_step || (step->releaser && step->release_ns >= release_ns))
        return;
    step->release_ns = release_ns;
    step->releaser = wait->culprit + 1;
    step->releaser_step = wait->culprit_step;
}

/* Has a wait followed back once all before it is known. */
static void take_wait(struct ana_causes *causes, const struct ana_late_wait *wait)
{
    if (!wait->device)
        set_releaser(causes, wait, wait->end_ns);
    if (wait->ns <= 0)
        return;
    causes->waited_ns = ana_plus(causes->waited_ns, wait->ns);
    follow_due(causes, INT64_MIN);
    causes->wait[causes->waits++ % PENDING] = *wait;
}

static void take_polled(struct ana_causes *causes, const struct ana_told *told)
{
    uint32_t number = told->polled.step;
    int64_t send_ns = told->polled.send_begin_ns;
    const struct ana_cause_step *step;
    for (int i = 0; i < 2; i++) { /* the call that received it, or the probe before */
        if (!(step = ana_step_at(causes, told->index, number)))
            return;
        if (!step->releaser && step->spins_ns != INT64_MIN && step->spins_ns < send_ns && send_ns <= step->begin_ns) {
            struct ana_late_wait wait = {.waiter = told->index,
                                         .culprit = told->polled.sender,
                                         .waiter_step = number,
                                         .culprit_step = told->polled.sender_step};
            set_releaser(causes, &wait, send_ns);
            return;
        }
        number = step->back;
    }
}

static void settle(struct ana_causes *causes, int64_t now_ns, bool idle)
{
    bool last = now_ns == INT64_MAX;
    int64_t due_ns = last ? now_ns : ana_plus(now_ns, -ANA_DELAY_LAG_NS);
    follow_due(causes, due_ns);
    if (!idle && (last || causes->steps - causes->replayed < ANA_STEPS_SETTLE * causes->ranks))
        return;
    causes->replayed = causes->steps;
    if (last)
        ana_replay_ends(causes);
    ana_replay_until(causes, due_ns);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

void ana_causes_take(struct ana_causes *causes, const struct ana_told *told, size_t n)
{
    for (const struct ana_told *stop = told + n; told < stop; told++) {
        switch ((enum ana_told_kind)told->kind) {
        case ANA_TOLD_STEP:
            take_step(causes, told);
            break;
        case ANA_TOLD_NEED:
            ana_replay_edge(causes, told->index, told->need.step, told->need.of_index, told->need.of_step);
            break;
        case ANA_TOLD_WAIT:
            take_wait(causes, &told->wait);
            break;
        case ANA_TOLD_POLLED:
            take_polled(causes, told);
            break;
        case ANA_TOLD_PLACE:
            take_place(causes, told);
            break;
        case ANA_TOLD_SEGMENT:
            take_segment(causes, told);
            break;
        case ANA_TOLD_ARRIVALS:
            ana_replay_arrivals(causes, told->arrival, told->index);
            break;
        case ANA_TOLD_INSTANCE:
            ana_replay_instance(causes, told);
            break;
        case ANA_TOLD_JOINED:
            ana_replay_joined(causes, told);
            break;
        case ANA_TOLD_SETTLE:
            settle(causes, told->settle.now_ns, told->settle.idle);
            break;
        }
    }
}

struct ana_cost ana_causes_cost(const struct ana_causes *causes, uint32_t segment)
{
    return segment <= causes->segments ? causes->segment[segment - 1].cost : (struct ana_cost){0};
}

int64_t ana_causes_charged(const struct ana_causes *causes)
{
    int64_t all = 0;
    for (size_t i = 0; i < causes->segments; i++)
        all = ana_plus(all, ana_plus(causes->segment[i].cost.direct_ns, causes->segment[i].cost.passed_ns));
    for (size_t i = 0; i < causes->ranks; i++) {
        const struct ana_cause_rank *rank = &causes->rank[i];
        all = ana_plus(all, ana_plus(rank->inside.direct_ns, rank->inside.passed_ns));
        all = ana_plus(all, ana_plus(rank->unknown.direct_ns, rank->unknown.passed_ns));
    }
    return all;
}
