/* Needs of each call: see replay.h. */
#include "trace/format/opclass.h"
#include "trace/cause/replay.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define MOST_BEGUN 4096u

/* Stores the begin of a step, from when the step before is replayed on.  False: that is over. */
static inline bool need_begin(const struct ana_causes *causes, size_t index, uint32_t number)
{
    const struct ana_replay_rank *rank = &causes->replay->rank[index];
    struct ana_cause_step *step = ana_step_at(causes, index, number);
    if (!step)
        return false;
    if (__builtin_expect(step->needed || number > rank->done + 1, 1)) {
        step->needed = 1;
        return true;
    }
    if (number <= rank->done && !causes->rank[index].several)
        return false;
    if (number == rank->done + 1)
        ana_replay_store_ahead(causes, index, rank->done);
    step->needed = 1;
    return true;
}

/* Makes a ring longer that has come to its end for the first time, as long as it may be. */
static __attribute__((noinline)) void lengthen(struct ana_causes *causes, struct ana_replay_rank *rank)
{
    uint32_t most = causes->room * ANA_EDGES_OF_STEP, room = rank->edge_room * 2u;
    if (rank->edge_room == most)
        return;
    struct ana_edge *edge = realloc(rank->edge, room * sizeof *edge);
    causes->out_of_memory |= !edge;
    rank->edge = edge ? edge : rank->edge;
    rank->edge_room = edge ? (uint16_t)room : rank->edge_room;
}

static inline void add_edge(struct ana_causes *causes, size_t index, uint32_t number, uint32_t needs_index,
                            uint32_t needs_step)
{
    struct ana_replay_rank *rank = &causes->replay->rank[index];
    struct ana_cause_step *step = ana_step_at(causes, index, number);
    if (!step || number <= rank->done)
        return;
    if (__builtin_expect(rank->edges + 1 == rank->edge_room, 0))
        lengthen(causes, rank);
    struct ana_edge *edge = &rank->edge[++rank->edges & (rank->edge_room - 1u)];
    *edge = (struct ana_edge){step->edges, needs_index, needs_step};
    step->edges = rank->edges;
}

void ana_replay_edge(struct ana_causes *causes, size_t index, uint32_t number, size_t needs_index, uint32_t needs_step)
{
    if (number && needs_step && need_begin(causes, needs_index, needs_step))
        add_edge(causes, index, number, (uint32_t)needs_index, needs_step);
}

void ana_replay_arrivals(struct ana_causes *causes, const struct ana_run_arrival *arrival, uint32_t n)
{
    struct ana_replay *replay = causes->replay;
    for (uint32_t i = 0; i < n; i++) {
        if (!ana_grow(&replay->arrived, replay->coming, &replay->arrived_room, sizeof *replay->arrived)) {
            causes->out_of_memory = true;
            return;
        }
        replay->arrived[replay->coming++] = arrival[i];
    }
}

/* Makes a meeting of all arrivals; returns its number, 0: it has no room. */
static uint32_t add_meeting(const struct ana_causes *causes)
{
    struct ana_replay *replay = causes->replay;
    if (replay->coming > replay->member_room)
        return 0;
    uint32_t number = ++replay->meetings;
    struct ana_meeting *meeting = &replay->meeting[number & (replay->meeting_room - 1)];
    meeting->first = replay->members;
    meeting->count = meeting->ready = 0;
    meeting->last_ns = INT64_MIN;
    for (size_t i = 0; i < replay->coming; i++) {
        const struct ana_run_arrival *one = &replay->arrived[i];
        if (need_begin(causes, one->index, one->step))
            *ana_member_at(replay, meeting, meeting->count++) = (struct ana_member){one->index, one->step};
    }
    replay->members += meeting->count;
    return number;
}

/* Adds an edge from each rank's call to the calls of all lower ranks; of many, to the latest. */
static void add_prefix(struct ana_causes *causes)
{
    enum { FEW = 16 };
    const struct ana_run_arrival *arrived = causes->replay->arrived;
    size_t n = causes->replay->coming;
    for (size_t i = 0; i < n; i++) {
        const struct ana_run_arrival *own = &arrived[i], *last = NULL;
        for (size_t j = 0; j < n; j++) {
            if (arrived[j].comm_rank >= own->comm_rank || arrived[j].comm_rank < 0)
                continue;
            last = &arrived[j]; /* they are in order of their begins */
            if (n <= FEW)
                ana_replay_edge(causes, own->index, own->step, last->index, last->step);
        }
        if (last && n > FEW)
            ana_replay_edge(causes, own->index, own->step, last->index, last->step);
    }
}

/* Remembers the meeting of a nonblocking collective for the ranks that complete it. */
static void store_begun(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    struct ana_map *begun = &causes->replay->begun;
    if (begun->count >= MOST_BEGUN)
        ana_map_free(begun);
    struct ana_begun *kept = ana_map_add(begun, fact->instance.comm_identity, fact->instance.sequence, 0);
    if (kept)
        *kept = (struct ana_begun){add_meeting(causes), (uint32_t)causes->replay->coming};
}

void ana_replay_joined(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    struct ana_map *begun = &causes->replay->begun;
    struct ana_begun *kept = ana_map_find(begun, fact->joined.comm_identity, fact->joined.sequence, 0);
    if (fact->joined.needs_all && kept && kept->meeting)
        add_edge(causes, fact->index, fact->joined.step, ANA_MEETING, kept->meeting);
    else if (fact->joined.of_index != fact->index)
        ana_replay_edge(causes, fact->index, fact->joined.step, fact->joined.of_index, fact->joined.of_step);
    if (kept && --kept->left == 0)
        ana_map_remove(begun, kept);
}

/* Notes the needs of the calls of a blocking collective; `root`: its rank index, UINT32_MAX: none. */
static void add_blocking(struct ana_causes *causes, enum trc_shape shape, uint32_t root)
{
    const struct ana_run_arrival *arrived = causes->replay->arrived, *of_root = NULL;
    size_t n = causes->replay->coming;
    if (shape == TRC_SHAPE_PREFIX)
        add_prefix(causes);
    uint32_t meeting = shape == TRC_SHAPE_ALL || shape == TRC_SHAPE_TO_ROOT ? add_meeting(causes) : 0;
    for (size_t i = 0; i < n; i++)
        if (arrived[i].index == root)
            of_root = &arrived[i];
    for (size_t i = 0; i < n; i++) {
        if (arrived[i].comm_rank < 0)
            continue;
        if (meeting && (shape == TRC_SHAPE_ALL || &arrived[i] == of_root))
            add_edge(causes, arrived[i].index, arrived[i].step, ANA_MEETING, meeting);
        if (shape == TRC_SHAPE_FROM_ROOT && of_root && &arrived[i] != of_root)
            ana_replay_edge(causes, arrived[i].index, arrived[i].step, of_root->index, of_root->step);
    }
}

void ana_replay_instance(struct ana_causes *causes, const struct ana_run_fact *fact)
{
    enum trc_shape shape = trc_opclass_shape(fact->instance.opclass);
    if (!fact->instance.nonblocking)
        add_blocking(causes, shape, fact->index);
    else if (shape == TRC_SHAPE_ALL || shape == TRC_SHAPE_TO_ROOT)
        store_begun(causes, fact);
    causes->replay->coming = 0;
}

void ana_replay_ends(struct ana_causes *causes)
{
    int64_t last_ns = INT64_MIN, first_end_ns = INT64_MAX;
    size_t n = 0;
    for (; n < causes->ranks; n++) {
        const struct ana_cause_step *step = ana_step_at(causes, n, causes->rank[n].so_far);
        const struct ana_cause_place *place = step ? ana_cause_place_at(causes, step->place) : NULL;
        if (!place || !place->ends)
            break;
        ana_replay_arrivals(causes, &(struct ana_run_arrival){(uint32_t)n, causes->rank[n].so_far, 0}, 1);
        last_ns = step->begin_ns > last_ns ? step->begin_ns : last_ns;
        first_end_ns = step->end_ns < first_end_ns ? step->end_ns : first_end_ns;
    }
    if (n == causes->ranks && n > 1 && last_ns <= first_end_ns)
        add_blocking(causes, TRC_SHAPE_ALL, UINT32_MAX);
    causes->replay->coming = 0;
}
