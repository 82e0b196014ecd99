/* Shadows of the run; see replay.h. */
#include "trace/cause/replay.h"
#include "trace/cause/way.h"
#include "trace/util/pages.h"
#include "trace/util/times.h"
#include <stdlib.h>
#include <string.h>

#define MOST_MEETINGS 65536u
#define LEAST_EDGES   64u /* that a ring has room for; a power of two */

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
    replay->ahead_size = ranks * room * sizeof *replay->ahead;
    replay->ahead = ana_pages_make(replay->ahead_size);
    replay->stack = malloc((ranks + 1) * 2 * sizeof *replay->stack);
    replay->meeting = malloc(replay->meeting_room * sizeof *replay->meeting);
    replay->member = malloc(replay->member_room * sizeof *replay->member);
    if (replay->rank && replay->ahead && replay->stack && replay->meeting && replay->member)
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
        free(replay->rank[i].ahead_of);
    }
    ana_pages_drop(replay->ahead, replay->ahead_size);
    free(replay->rank);
    free(replay->segment);
    free(replay->came);
    free(replay->stack);
    ana_map_free(&replay->begun);
    free(replay->meeting);
    free(replay->member);
    free(replay);
}

bool ana_replay_rank_begin(struct ana_replay *replay, size_t index, uint32_t room)
{
    struct ana_replay_rank *rank = &replay->rank[index];
    rank->ahead = replay->ahead + index * room;
    rank->ahead_of = calloc(room, sizeof *rank->ahead_of);
    rank->edge = malloc(LEAST_EDGES * sizeof *rank->edge);
    rank->edge_room = LEAST_EDGES;
    return rank->ahead_of && rank->edge;
}

/* ---- how far ahead a rank was ----------------------------------------------------------------------------------- */

void ana_replay_keep(const struct ana_causes *causes, size_t index, uint32_t step)
{
    struct ana_replay_rank *rank = &causes->replay->rank[index];
    uint16_t *of = &rank->ahead_of[step & (causes->room - 1)];
    if (!*of && rank->free) {
        *of = rank->free;
        memcpy(&rank->free, &rank->ahead[*of - 1], sizeof rank->free);
    } else if (!*of) {
        *of = ++rank->aheads;
    }
    rank->ahead[*of - 1] = rank->now;
}

/* The next step of a rank is replayed: the one in whose place of the ring it lies is no longer kept. */
static inline void pass(const struct ana_causes *causes, struct ana_replay_rank *rank)
{
    uint16_t *of = &rank->ahead_of[++rank->done & (causes->room - 1)];
    if (!*of)
        return;
    memcpy(&rank->ahead[*of - 1], &rank->free, sizeof rank->free);
    rank->free = *of;
    *of = 0;
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/* A rank, and the step that it must have been replayed to before another can go on. */
struct need {
    uint32_t index, step;
};

/* The step whose end the begin of this one goes on from; 0: it is the rank's first. */
static inline uint32_t base_of(const struct ana_cause_step *step, uint32_t number)
{
    return step->back ? step->back : number - 1;
}

/* What is later of the two, in each shadow. */
static inline void take_later(struct ana_coming *last, const struct ana_coming *other)
{
    double more = other->ns > last->ns ? (double)(other->ns - last->ns) : 0;
    double slack = last->ns > other->ns ? (double)(last->ns - other->ns) : 0;
    for (uint32_t s = 0; s < ANA_SHADOWS; s++) {
        double own = last->ahead.ns[s] + more, its = other->ahead.ns[s] + slack;
        last->ahead.ns[s] = own < its ? own : its;
    }
    last->ns = other->ns > last->ns ? other->ns : last->ns;
}

/* What is taken out of the segment before a step. */
static void shorten(const struct ana_causes *causes, uint32_t index, const struct ana_cause_step *step, uint32_t shadow,
                    struct ana_coming *begin)
{
    const struct ana_cause_step *before = ana_step_at(causes, index, step->back);
    if (!before)
        return;
    int64_t until_ns = step->spins_ns != INT64_MIN ? step->spins_ns : step->begin_ns - step->polled_ns;
    int64_t more = until_ns - before->end_ns - causes->replay->shadow[shadow].usual_ns;
    begin->ahead.ns[shadow] += more > 0 ? (double)more : 0;
}

/* The begin of a step, without what it had been polled for.  False: it cannot be told yet.  Circles, which only wrong
 * clocks make, are not waited for. */
static inline bool begin_alone(const struct ana_causes *causes, uint32_t index, uint32_t number,
                               const struct ana_cause_step *step, struct ana_coming *out, struct need *need)
{
    const struct ana_replay_rank *rank = &causes->replay->rank[index];
    uint32_t base = base_of(step, number), shadow = ana_shadow_of(causes->replay, step->segment);
    if (base > rank->done && !rank->busy) {
        *need = (struct need){index, base};
        return false;
    }
    bool kept = base < rank->done && causes->rank[index].so_far - base < causes->room;
    out->ahead = kept ? *ana_ahead_at(causes, rank, base) : rank->now;
    out->ns = step->begin_ns;
    if (__builtin_expect(shadow != 0, 0))
        shorten(causes, index, step, shadow, out);
    return true;
}

/* The begin of a step.  False: it cannot be told yet. */
static inline bool begin_of(const struct ana_causes *causes, uint32_t index, uint32_t number,
                            const struct ana_cause_step *step, struct ana_coming *out, struct need *need)
{
    if (!begin_alone(causes, index, number, step, out, need))
        return false;
    if (step->spins_ns == INT64_MIN || !step->releaser || step->release_ns > step->begin_ns)
        return true;
    uint32_t from = step->releaser - 1; /* it had been polled for until that one's call came */
    const struct ana_cause_step *other = ana_step_at(causes, from, step->releaser_step);
    struct ana_coming its;
    if (other && !begin_alone(causes, from, step->releaser_step, other, &its, need))
        return false;
    out->ns = step->spins_ns;
    its.ns = step->release_ns;
    if (other)
        take_later(out, &its);
    out->ns = step->begin_ns;
    return true;
}

/* Goes on with a meeting, as far as begins can be told.  False: not to its end. */
static bool meet(const struct ana_causes *causes, struct ana_meeting *meeting, struct need *need)
{
    for (; meeting->ready < meeting->count; meeting->ready++) {
        const struct ana_member *member = ana_member_at(causes->replay, meeting, meeting->ready);
        const struct ana_cause_step *step = ana_step_at(causes, member->index, member->step);
        struct ana_coming one;
        if (step && !begin_of(causes, member->index, member->step, step, &one, need))
            return false;
        if (step && meeting->last.ns == INT64_MIN)
            meeting->last = one;
        else if (step)
            take_later(&meeting->last, &one);
    }
    return true;
}

/* Takes what an edge leads to, unless by wrong clocks it came after the call had ended.  False: it cannot be told yet. */
static bool take_edge(const struct ana_causes *causes, const struct ana_edge *edge, int64_t end_ns,
                      struct ana_coming *last, struct need *need)
{
    struct ana_coming other;
    if (edge->index == ANA_MEETING) {
        struct ana_meeting *meeting = ana_meeting_at(causes->replay, edge->step);
        if (meeting && !meet(causes, meeting, need))
            return false;
        if (meeting && meeting->last.ns != INT64_MIN && meeting->last.ns <= end_ns)
            take_later(last, &meeting->last);
        return true;
    }
    const struct ana_cause_step *step = ana_step_at(causes, edge->index, edge->step);
    if (!step || step->begin_ns > end_ns)
        return true;
    if (!begin_of(causes, edge->index, edge->step, step, &other, need))
        return false;
    take_later(last, &other);
    return true;
}

/* Replays the next step of a rank, which is kept.  False: another must be replayed first. */
static bool replay_next(struct ana_causes *causes, uint32_t index, const struct ana_cause_step *step, struct need *need)
{
    struct ana_replay_rank *rank = &causes->replay->rank[index];
    uint32_t number = rank->done + 1;
    const struct ana_edge *edge;
    struct ana_coming last;
    if (!begin_of(causes, index, number, step, &last, need))
        return false;
    __builtin_prefetch(&causes->rank[index].step[(number + ANA_STEPS_AHEAD) & (causes->room - 1)], 1);
    __builtin_prefetch(&rank->ahead[rank->aheads], 1);
    for (uint32_t e = step->edges; (edge = ana_edge_at(rank, e)); e = edge->next)
        if (!take_edge(causes, edge, step->end_ns, &last, need))
            return false;
    const struct ana_cause_place *place = ana_cause_place_at(causes, step->place);
    double own_ns = (double)(step->end_ns - last.ns);
    if (place && place->communicates)
        last.ahead.ns[ANA_SHADOW_IDEAL] += own_ns;
    if (place && place->shadow)
        last.ahead.ns[place->shadow] += own_ns;
    const struct ana_cause_step *next = ana_step_at(causes, index, number + 1);
    rank->now = last.ahead;
    pass(causes, rank);
    if ((next && next->needed) || causes->rank[index].several)
        ana_replay_keep(causes, index, number);
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
        struct ana_replay_rank *rank = &replay->rank[index];
        const struct ana_cause_step *step = ana_step_at(causes, index, rank->done + 1);
        struct need need;
        if (rank->done >= to) {
            rank->busy = false;
            depth--;
        } else if (!step) {
            pass(causes, rank); /* it had to be left out */
        } else if (!replay_next(causes, index, step, &need)) {
            replay->stack[2 * depth] = need.index;
            replay->stack[2 * depth + 1] = need.step;
            replay->rank[need.index].busy = true;
            depth++;
        }
    }
}

void ana_replay_until(struct ana_causes *causes, int64_t now_ns)
{
    for (size_t i = 0; i < causes->ranks; i++)
        ana_replay_to(causes, i, ana_step_ended(causes, i, now_ns));
}

int64_t ana_replay_saves(const struct ana_causes *causes, uint32_t shadow, const bool *over)
{
    int64_t last_ns = INT64_MIN;
    if (causes->closed)
        return causes->replay->saves[shadow];
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
        int64_t ahead = ana_rounded(rank->now.ns[shadow]);
        if (over[i] && last_ns - (step->end_ns - ahead) < least)
            least = last_ns - (step->end_ns - ahead);
        else if (!over[i] && ahead < least)
            least = ahead;
    }
    return least == INT64_MAX ? 0 : least;
}
