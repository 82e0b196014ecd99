/* Scenarios of the run; see replay.h. */
#include "trace/cause/replay.h"
#include "trace/cause/backtrace.h"
#include "trace/util/times.h"
#include <stdlib.h>
#include <string.h>

#define MOST_MEETINGS 65536u
#define MOST_DEPTH    4u  /* most nested replays for another rank */
#define LEAST_EDGES   64u /* least room of a ring; a power of two */

_Static_assert(ANA_STEPS_OF_RANK * 2u <= UINT16_MAX && ANA_STEPS_OF_RANK * ANA_EDGES_OF_STEP <= UINT16_MAX,
               "the rooms of a rank are counted in 16 bits");

struct ana_replay *ana_replay_new(size_t ranks, uint32_t room)
{
    struct ana_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return NULL;
    ana_map_init(&replay->begun, sizeof(struct ana_begun));
    replay->member_room = 1024;
    while (replay->member_room < room * ranks)
        replay->member_room *= 2;
    replay->meeting_room = replay->member_room < MOST_MEETINGS ? (uint32_t)replay->member_room : MOST_MEETINGS;
    replay->rank = calloc(ranks + 1, sizeof *replay->rank);
    replay->stack = malloc((ranks + 1) * 2 * sizeof *replay->stack);
    replay->meeting = malloc(replay->meeting_room * sizeof *replay->meeting);
    replay->member = malloc(replay->member_room * sizeof *replay->member);
    if (replay->rank && replay->stack && replay->meeting && replay->member)
        return replay;
    ana_replay_free(replay, 0);
    return NULL;
}

void ana_replay_free(struct ana_replay *replay, size_t ranks)
{
    if (!replay)
        return;
    for (size_t i = 0; i < ranks; i++) {
        free(replay->rank[i].edge);
        free(replay->rank[i].ahead);
        free(replay->rank[i].ahead_of);
    }
    free(replay->rank);
    free(replay->segment);
    free(replay->arrived);
    free(replay->stack);
    ana_map_free(&replay->begun);
    free(replay->meeting);
    free(replay->member);
    free(replay);
}

bool ana_replay_rank_begin(struct ana_replay *replay, size_t index, uint32_t room)
{
    struct ana_replay_rank *rank = &replay->rank[index];
    rank->ahead_of = calloc(room, sizeof *rank->ahead_of);
    rank->edge = malloc(LEAST_EDGES * sizeof *rank->edge);
    rank->edge_room = LEAST_EDGES;
    return rank->ahead_of && rank->edge;
}

/* ---- how far ahead a rank was ----------------------------------------------------------------------------------- */

/* Makes room for one more.  False: out of memory. */
static __attribute__((noinline)) bool more_room(struct ana_replay *replay, struct ana_replay_rank *rank)
{
    uint32_t room = rank->ahead_room + (rank->ahead_room / 4u > 8 ? rank->ahead_room / 4u : 8);
    struct ana_ahead *ahead = realloc(rank->ahead, room * sizeof *ahead);
    replay->out_of_memory |= !ahead;
    if (!ahead)
        return false;
    rank->ahead = ahead;
    rank->ahead_room = (uint16_t)room;
    return true;
}

/* Stores how far ahead a rank is in a slot, 0: in one that is free; returns which.  0: out of memory. */
static inline uint16_t store_ahead(struct ana_replay *replay, struct ana_replay_rank *rank, uint16_t slot,
                                   const struct ana_ahead *now)
{
    if (!slot && rank->free) {
        slot = rank->free;
        memcpy(&rank->free, &rank->ahead[slot - 1], sizeof rank->free);
    } else if (!slot) {
        if (__builtin_expect(rank->aheads == rank->ahead_room, 0) && !more_room(replay, rank))
            return 0;
        slot = ++rank->aheads;
    }
    rank->ahead[slot - 1] = *now;
    return slot;
}

void ana_replay_store_ahead(const struct ana_causes *causes, size_t index, uint32_t step)
{
    struct ana_replay_rank *rank = &causes->replay->rank[index];
    uint16_t *slot = &rank->ahead_of[step & causes->mask];
    *slot = store_ahead(causes->replay, rank, *slot, &rank->now);
}

/* ---- a rank ----------------------------------------------------------------------------------------------------- */

/* A rank whose steps are replayed. */
struct run {
    struct ana_replay *replay;
    struct ana_replay_rank *rank;
    const struct ana_cause_step *ring;
    uint32_t mask, first, so_far; /* mask of the ring; the first and the last step kept */
    bool several;
};

static inline struct run run_of(const struct ana_causes *causes, uint32_t index)
{
    const struct ana_cause_rank *of = &causes->rank[index];
    uint32_t mask = causes->mask, first = of->so_far > mask ? of->so_far - mask : 1;
    return (struct run){causes->replay, &causes->replay->rank[index], of->step, mask, first, of->so_far, of->several};
}

/* A step is left behind: the one in whose place of the ring it lies is no longer kept. */
static inline void pass(struct ana_replay_rank *rank, uint16_t *slot)
{
    if (!*slot)
        return;
    memcpy(&rank->ahead[*slot - 1], &rank->free, sizeof rank->free);
    rank->free = *slot;
    *slot = 0;
}

static inline const struct ana_cause_step *step_of(const struct run *run, uint32_t number)
{
    return &run->ring[number & run->mask];
}

/* Ends the replay of a step: how far ahead its end is may be needed, by `next`, if there is one. */
static inline void end_step(const struct run *run, uint32_t number, const struct ana_cause_step *next,
                            const struct ana_ahead *now)
{
    uint16_t *slot = &run->rank->ahead_of[number & run->mask];
    __builtin_prefetch(next + (ANA_STEPS_AHEAD - 1), 1);
    if ((next->needed && number != run->so_far) || run->several)
        *slot = store_ahead(run->replay, run->rank, *slot, now);
    else
        pass(run->rank, slot);
}

/* Adds the time taken out of the segment before a step, which began at `before_ns`. */
static inline __attribute__((always_inline)) void shorten_segment(const struct ana_causes *causes, uint32_t scenario,
                                                                  const struct ana_cause_step *step, int64_t before_ns,
                                                                  struct ana_ahead *ahead)
{
    const struct ana_scenario *of = &causes->replay->scenario[scenario];
    const int64_t more = ana_step_until(causes, step) - before_ns - of->usual_ns;
    const double ns = more > 0 ? (double)more : 0;
    ana_ahead_add(ahead, scenario, 0, ANA_SCENARIO_CALLS - 1, ns);
    if (of->then)
        ana_ahead_add(ahead, ANA_SCENARIO_SECOND, ANA_SCENARIO_SECOND, ANA_SCENARIO_SECOND, ns);
}

/* Adds the time taken out of a call: all its needs were met at `last_ns`. */
static inline void shorten_call(const struct ana_causes *causes, const struct ana_cause_step *step, int64_t last_ns,
                                struct ana_ahead *ahead)
{
    const struct ana_cause_place *place = ana_cause_place_at(causes, step->place);
    if (!place)
        return;
    double own_ns = (double)(step->end_ns - last_ns);
    const ana_pair both = {own_ns, own_ns};
    ahead->of[ANA_SCENARIO_IDEAL / 2] += place->ideal * both;
    ahead->of[ANA_SCENARIO_CALLS / 2] += place->calls * both;
}

/* ---- needs of a step -------------------------------------------------------------------------------------------- */

/* A rank, and the step that it must have been replayed to before another can go on. */
struct need {
    uint32_t index, step;
    uint32_t depth; /* depth of nested replays for another */
};

static bool replay_rank(const struct ana_causes *causes, uint32_t index, uint32_t to, struct need *need);

/* Replays a rank up to `to` for another.  False: `need` is to be replayed first. */
static __attribute__((noinline)) bool reach(const struct ana_causes *causes, uint32_t index, uint32_t to,
                                            struct need *need)
{
    struct ana_replay_rank *rank = &causes->replay->rank[index];
    struct need deeper = {.depth = need->depth + 1};
    rank->busy = true;
    bool there = replay_rank(causes, index, to, &deeper);
    rank->busy = false;
    need->index = index;
    need->step = to;
    return there;
}

/* The step of its rank whose end a step goes on from; 0: it is the first. */
static inline uint32_t base_of(const struct ana_cause_step *step, uint32_t number)
{
    return number - (step->back ? step->back : 1);
}

/* Finds how far ahead the begin of a step is, without the event it had been polled for.  False: not known yet; without
 * `need` nothing is replayed for it.  Circles, which only wrong clocks make, are not waited for. */
static inline __attribute__((always_inline)) bool begin_alone(const struct ana_causes *causes, uint32_t index,
                                                              uint32_t number, const struct ana_cause_step *step,
                                                              struct ana_ahead *out, struct need *need)
{
    const struct ana_replay_rank *rank = &causes->replay->rank[index];
    uint32_t base = base_of(step, number);
    if (base > rank->done && (!need || (!rank->busy && !reach(causes, index, base, need))))
        return false;
    bool kept = base < rank->done && causes->rank[index].so_far - base < causes->room;
    *out = kept ? *ana_ahead_at(causes, rank, base) : rank->now;
    uint32_t scenario = ana_scenario_of(causes->replay, step->segment);
    const struct ana_cause_step *before = scenario ? ana_step_at(causes, index, ana_step_back(step, number)) : NULL;
    if (before)
        shorten_segment(causes, scenario, step, before->end_ns, out);
    return true;
}

/* Continues a step that had been polled for at the call that ended its polls.  False: not known yet. */
static __attribute__((noinline)) bool join_polled(const struct ana_causes *causes, const struct ana_cause_step *step,
                                                  struct ana_ahead *begin, struct need *need)
{
    uint32_t from = step->releaser - 1;
    const struct ana_cause_step *other = ana_step_at(causes, from, step->releaser_step);
    struct ana_ahead its;
    int64_t last_ns = ana_step_until(causes, step);
    if (!other)
        return true;
    if (!begin_alone(causes, from, step->releaser_step, other, &its, need))
        return false;
    ana_ahead_later(begin, &last_ns, &its, step->release_ns);
    return true;
}

/* Finds how far ahead the begin of a step is.  False: not known yet. */
static inline __attribute__((always_inline)) bool begin_of(const struct ana_causes *causes, uint32_t index,
                                                           uint32_t number, const struct ana_cause_step *step,
                                                           struct ana_ahead *out, struct need *need)
{
    if (!begin_alone(causes, index, number, step, out, need))
        return false;
    if (__builtin_expect(!step->spins, 1) || !step->releaser || step->release_ns > step->begin_ns)
        return true;
    if (!need)
        return false;
    struct ana_ahead begin = *out;
    bool fact = join_polled(causes, step, &begin, need);
    *out = begin;
    return fact;
}

/* Continues a meeting, as far as begins are known.  False: not to its end. */
static __attribute__((noinline)) bool meet(const struct ana_causes *causes, struct ana_meeting *meeting,
                                           struct need *need)
{
    for (; meeting->ready < meeting->count; meeting->ready++) {
        const struct ana_member *member = ana_member_at(causes->replay, meeting, meeting->ready);
        const struct ana_cause_step *step = ana_step_at(causes, member->index, member->step);
        struct ana_ahead one;
        if (!step)
            continue;
        if (!begin_of(causes, member->index, member->step, step, &one, need))
            return false;
        if (meeting->last_ns == INT64_MIN) {
            meeting->last = one;
            meeting->last_ns = step->begin_ns;
        } else {
            ana_ahead_later(&meeting->last, &meeting->last_ns, &one, step->begin_ns);
        }
    }
    return true;
}

/* Joins the source of an edge into a step that goes on from *last, which was at *last_ns, unless by wrong clocks the
 * source came after the call had ended.  False: not known yet. */
static inline __attribute__((always_inline)) bool join_edge(const struct ana_causes *causes,
                                                            const struct ana_edge *edge, int64_t end_ns,
                                                            struct ana_ahead *last, int64_t *last_ns, struct need *need)
{
    if (edge->index == ANA_MEETING) {
        struct ana_meeting *meeting = ana_meeting_at(causes->replay, edge->step);
        if (meeting && meeting->ready < meeting->count && (!need || !meet(causes, meeting, need)))
            return false;
        if (meeting && meeting->last_ns != INT64_MIN && meeting->last_ns <= end_ns)
            ana_ahead_later(last, last_ns, &meeting->last, meeting->last_ns);
        return true;
    }
    const struct ana_cause_step *step = ana_step_at(causes, edge->index, edge->step);
    struct ana_ahead other;
    if (!step || step->begin_ns > end_ns)
        return true;
    if (!begin_of(causes, edge->index, edge->step, step, &other, need))
        return false;
    ana_ahead_later(last, last_ns, &other, step->begin_ns);
    return true;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* Replays the next step of a rank.  False: another must be replayed first. */
static inline __attribute__((always_inline)) bool replay_step(const struct ana_causes *causes, uint32_t index,
                                                              const struct run *run, struct need *need)
{
    uint32_t number = run->rank->done + 1;
    const struct ana_cause_step *step = step_of(run, number);
    struct ana_ahead last;
    int64_t last_ns = step->begin_ns;
    const struct ana_edge *edge;
    if (!begin_of(causes, index, number, step, &last, need))
        return false;
    for (uint32_t e = step->edges; (edge = ana_edge_at(run->rank, e)); e = edge->next)
        if (!join_edge(causes, edge, step->end_ns, &last, &last_ns, need))
            return false;
    shorten_call(causes, step, last_ns, &last);
    end_step(run, number, step_of(run, number + 1), &last);
    run->rank->now = last;
    run->rank->done = number;
    return true;
}

/* Replays the steps of a rank up to `to`.  False: another must be replayed first. */
static bool replay_rank(const struct ana_causes *causes, uint32_t index, uint32_t to, struct need *need)
{
    const struct run run = run_of(causes, index);
    while (run.rank->done < to) {
        if (run.rank->done + 1 < run.first)
            pass(run.rank, &run.rank->ahead_of[++run.rank->done & run.mask]); /* it had to be left out */
        else if (!replay_step(causes, index, &run, need->depth < MOST_DEPTH ? need : NULL))
            return false;
    }
    return true;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

void ana_replay_to(struct ana_causes *causes, size_t of, uint32_t until)
{
    struct ana_replay *replay = causes->replay;
    size_t depth = 1;
    replay->stack[0] = (uint32_t)of;
    replay->stack[1] = until;
    replay->rank[of].busy = true;
    while (depth > 0) {
        uint32_t index = replay->stack[2 * depth - 2], to = replay->stack[2 * depth - 1];
        struct need need = {0};
        if (replay_rank(causes, index, to, &need)) {
            replay->rank[index].busy = false;
            depth--;
            continue;
        }
        replay->stack[2 * depth] = need.index;
        replay->stack[2 * depth + 1] = need.step;
        replay->rank[need.index].busy = true;
        depth++;
    }
}

void ana_replay_until(struct ana_causes *causes, int64_t now_ns)
{
    for (size_t i = 0; i < causes->ranks; i++)
        ana_replay_to(causes, i, ana_step_ended(causes, i, now_ns));
}

int64_t ana_replay_saves(const struct ana_causes *causes, uint32_t scenario, const bool *over)
{
    int64_t last_ns = INT64_MIN;
    if (causes->closed)
        return causes->replay->saves[scenario];
    for (size_t i = 0; i < causes->ranks; i++) {
        const struct ana_replay_rank *rank = &causes->replay->rank[i];
        const struct ana_cause_step *step = ana_step_at(causes, i, rank->done);
        if (step && over[i])
            last_ns = step->end_ns > last_ns ? step->end_ns : last_ns;
    }
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < causes->ranks; i++) {
        const struct ana_replay_rank *rank = &causes->replay->rank[i];
        const struct ana_cause_step *step = ana_step_at(causes, i, rank->done);
        if (!step)
            continue;
        int64_t ahead = ana_rounded(ana_ahead_in(&rank->now, scenario));
        if (over[i] && last_ns - (step->end_ns - ahead) < least)
            least = last_ns - (step->end_ns - ahead);
        else if (!over[i] && ahead < least)
            least = ahead;
    }
    return least == INT64_MAX ? 0 : least;
}
