/* Shadows of the run; see replay.h. */
#include "trace/why/replay.h"
#include "trace/format/opclass.h"
#include "trace/why/way.h"
#include "trace/why/why.h"
#include <stdlib.h>
#include <string.h>

#define MOST_MEETINGS 65536u

struct ana_replay *ana_replay_new(size_t ranks, uint32_t room)
{
    struct ana_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return NULL;
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
    }
    free(replay->rank);
    free(replay->stack);
    free(replay->meeting);
    free(replay->member);
    free(replay);
}

bool ana_replay_rank_begin(struct ana_replay *replay, size_t index, uint32_t room)
{
    struct ana_replay_rank *rank = &replay->rank[index];
    rank->edge = malloc(room * ANA_EDGES_OF_STEP * sizeof *rank->edge);
    rank->ahead = aligned_alloc(sizeof *rank->ahead, room * sizeof *rank->ahead);
    return rank->edge && rank->ahead;
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

void ana_replay_edge(struct ana_why *why, size_t index, uint32_t number, size_t needs_index, uint32_t needs_step)
{
    struct ana_delays *delays = why->delays;
    struct ana_replay *replay = delays->replay;
    struct ana_replay_rank *rank = &replay->rank[index];
    struct ana_why_step *step = ana_step_at(delays, index, number);
    if (!step || !needs_step)
        return;
    if (number <= rank->done) {
        replay->missed++;
        return;
    }
    uint32_t edge = ++rank->edges & (delays->room * ANA_EDGES_OF_STEP - 1);
    rank->edge[edge] = (struct ana_edge){step->edges, (uint32_t)needs_index, needs_step};
    step->edges = rank->edges;
}

/* The next edge of a step, `number` being that; NULL: there is no more, or it has been overwritten. */
static const struct ana_edge *edge_at(const struct ana_delays *delays, const struct ana_replay_rank *rank,
                                      uint32_t number)
{
    uint32_t room = delays->room * ANA_EDGES_OF_STEP;
    return number && rank->edges - number < room ? &rank->edge[number & (room - 1)] : NULL;
}

static struct ana_meeting *meeting_at(const struct ana_replay *replay, uint32_t number)
{
    struct ana_meeting *meeting = &replay->meeting[number & (replay->meeting_room - 1)];
    bool kept =
        replay->meetings - number < replay->meeting_room && replay->members - meeting->first <= replay->member_room;
    return kept ? meeting : NULL;
}

static struct ana_member *member_at(const struct ana_replay *replay, const struct ana_meeting *meeting, uint32_t i)
{
    return &replay->member[(meeting->first + i) & (replay->member_room - 1)];
}

/* Makes a meeting of all calls of a collective; returns its number, 0: it has no room. */
static uint32_t add_meeting(struct ana_replay *replay, const struct ana_instance *instance)
{
    if (instance->arrivals > replay->member_room)
        return 0;
    uint32_t number = ++replay->meetings;
    struct ana_meeting *meeting = &replay->meeting[number & (replay->meeting_room - 1)];
    meeting->first = replay->members;
    meeting->count = (uint32_t)instance->arrivals;
    meeting->ready = 0;
    meeting->last_ns = INT64_MIN;
    for (uint32_t i = 0; i < meeting->count; i++)
        *member_at(replay, meeting, i) =
            (struct ana_member){(uint32_t)instance->arrival[i].index, instance->arrival[i].step};
    replay->members += meeting->count;
    return number;
}

/* Each rank's call needs those of all below it; of many, the latest. */
static void add_prefix(struct ana_why *why, const struct ana_instance *instance)
{
    enum { FEW = 16 };
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *own = &instance->arrival[i], *last = NULL;
        for (size_t j = 0; j < instance->arrivals; j++) {
            const struct ana_arrival *other = &instance->arrival[j];
            if (other->comm_rank >= own->comm_rank || other->comm_rank < 0)
                continue;
            last = other; /* they are in order of their begins */
            if (instance->arrivals <= FEW)
                ana_replay_edge(why, own->index, own->step, other->index, other->step);
        }
        if (last && instance->arrivals > FEW)
            ana_replay_edge(why, own->index, own->step, last->index, last->step);
    }
}

void ana_replay_instance(struct ana_why *why, const struct ana_instance *instance)
{
    enum trc_shape shape = trc_opclass_shape(instance->call->opclass);
    if (instance->nonblocking || instance->mismatched || instance->arrivals < 2)
        return;
    if (shape == TRC_SHAPE_PREFIX)
        add_prefix(why, instance);
    uint32_t meeting =
        shape == TRC_SHAPE_ALL || shape == TRC_SHAPE_TO_ROOT ? add_meeting(why->delays->replay, instance) : 0;
    const struct ana_arrival *root = NULL;
    for (size_t i = 0; i < instance->arrivals; i++)
        if ((int64_t)instance->arrival[i].index == instance->root)
            root = &instance->arrival[i];
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *own = &instance->arrival[i];
        if (own->comm_rank < 0)
            continue;
        if (shape == TRC_SHAPE_ALL || (shape == TRC_SHAPE_TO_ROOT && own == root))
            ana_replay_edge(why, own->index, own->step, ANA_MEETING, meeting);
        if (shape == TRC_SHAPE_FROM_ROOT && root && own != root)
            ana_replay_edge(why, own->index, own->step, root->index, root->step);
    }
}

void ana_replay_ends(struct ana_why *why)
{
    static const struct trc_call finalize = {.name = "MPI_Finalize", .opclass = TRC_OP_BARRIER};
    const struct ana_delays *delays = why->delays;
    struct ana_arrival *arrival = malloc((delays->ranks + 1) * sizeof *arrival);
    size_t n = 0;
    int64_t last_ns = INT64_MIN, first_end_ns = INT64_MAX;
    for (size_t i = 0; arrival && i < delays->ranks; i++) {
        const struct ana_why_step *step = ana_step_at(delays, i, delays->rank[i].so_far);
        const struct ana_why_place *place = step && step->place ? ana_map_value(&why->places, step->place - 1) : NULL;
        if (!place || !place->ends)
            break;
        arrival[n++] = (struct ana_arrival){i, step->begin_ns, step->end_ns, 0, delays->rank[i].so_far};
        last_ns = step->begin_ns > last_ns ? step->begin_ns : last_ns;
        first_end_ns = ana_earlier(first_end_ns, step->end_ns);
    }
    if (n == delays->ranks && last_ns <= first_end_ns)
        ana_replay_instance(why,
                            &(struct ana_instance){.call = &finalize, .root = -1, .arrivals = n, .arrival = arrival});
    free(arrival);
}

/* ---- what a step needs first ------------------------------------------------------------------------------------ */

/* The step whose end the begin of this one goes on from; 0: it is the rank's first. */
static uint32_t base_of(const struct ana_why_step *step, uint32_t number)
{
    return step->back ? step->back : number - 1;
}

/* Whether a step had been polled for until another's call came. */
static bool was_polled_for(const struct ana_why_step *step)
{
    return step->spins_ns != INT64_MIN && step->releaser && step->release_ns <= step->begin_ns;
}

struct need {
    uint32_t index, step; /* to be replayed first */
};

/* Whether the begin of a step can be told; else what must be replayed first. */
static bool can_tell(const struct ana_delays *delays, uint32_t index, uint32_t number, struct need *need)
{
    const struct ana_replay_rank *rank = delays->replay->rank;
    const struct ana_why_step *step = ana_step_at(delays, index, number);
    if (!step)
        return true;
    *need = (struct need){index, base_of(step, number)};
    if (need->step > rank[index].done)
        return false;
    if (!was_polled_for(step))
        return true;
    const struct ana_why_step *other = ana_step_at(delays, step->releaser - 1, step->releaser_step);
    if (!other)
        return true;
    *need = (struct need){step->releaser - 1, base_of(other, step->releaser_step)};
    return need->step <= rank[need->index].done;
}

/* Whether all members' begins can be told; remembers how far that is so. */
static bool is_ready(const struct ana_delays *delays, struct ana_meeting *meeting, struct need *need)
{
    for (; meeting->ready < meeting->count; meeting->ready++) {
        const struct ana_member *member = member_at(delays->replay, meeting, meeting->ready);
        if (!can_tell(delays, member->index, member->step, need) && !delays->replay->rank[need->index].busy)
            return false;
    }
    return true;
}

/* Whether all is there that a step needs; else what must be replayed first.  Circles, which only wrong clocks make, are
 * not waited for. */
static bool has_all(const struct ana_delays *delays, uint32_t index, uint32_t number, struct need *need)
{
    struct ana_replay *replay = delays->replay;
    const struct ana_replay_rank *rank = &replay->rank[index];
    const struct ana_edge *edge;
    if (!can_tell(delays, index, number, need) && !replay->rank[need->index].busy)
        return false;
    for (uint32_t e = ana_step_at(delays, index, number)->edges; (edge = edge_at(delays, rank, e)); e = edge->next) {
        struct ana_meeting *meeting = edge->index == ANA_MEETING ? meeting_at(replay, edge->step) : NULL;
        if (edge->index == ANA_MEETING) {
            if (meeting && !is_ready(delays, meeting, need))
                return false;
        } else if (!can_tell(delays, edge->index, edge->step, need) && !replay->rank[need->index].busy) {
            return false;
        }
    }
    return true;
}

/* ---- a step ----------------------------------------------------------------------------------------------------- */

/* Something that a call needs: when it came, and how much earlier it would have come. */
struct coming {
    int64_t ns;
    int64_t ahead[ANA_SHADOWS];
};

/* What is later of the two, in each shadow. */
static void take_later(struct coming *last, const int64_t *ahead, int64_t ns)
{
    int64_t more = ns > last->ns ? ns - last->ns : 0, slack = last->ns > ns ? last->ns - ns : 0;
    for (uint32_t s = 0; s < ANA_SHADOWS; s++) {
        int64_t own = last->ahead[s] + more, other = ahead[s] + slack;
        last->ahead[s] = own < other ? own : other;
    }
    last->ns += more;
}

/* The begin of a step, without what it had been polled for. */
static void begin_alone(const struct ana_why *why, uint32_t index, uint32_t number, const struct ana_why_step *step,
                        struct coming *out)
{
    const struct ana_delays *delays = why->delays;
    const struct ana_replay_rank *rank = &delays->replay->rank[index];
    uint32_t base = base_of(step, number);
    base = base < rank->done ? base : rank->done;
    bool kept = base && delays->rank[index].so_far - base < delays->room;
    if (kept)
        memcpy(out->ahead, rank->ahead[base & (delays->room - 1)], sizeof out->ahead);
    else
        memset(out->ahead, 0, sizeof out->ahead);
    out->ns = step->begin_ns;
    const struct ana_segment *segment = step->segment ? ana_segment_at(why, step->segment) : NULL;
    if (!segment || !segment->shadow)
        return;
    const struct ana_why_step *before = ana_step_at(delays, index, step->back);
    int64_t until_ns = step->spins_ns != INT64_MIN ? step->spins_ns : step->begin_ns - step->polled_ns;
    int64_t more = before ? until_ns - before->end_ns - delays->replay->shadow[segment->shadow].usual_ns : 0;
    out->ahead[segment->shadow] += more > 0 ? more : 0;
}

static void begin_of(const struct ana_why *why, uint32_t index, uint32_t number, struct coming *out)
{
    const struct ana_why_step *step = ana_step_at(why->delays, index, number);
    begin_alone(why, index, number, step, out);
    if (!was_polled_for(step))
        return;
    uint32_t from = step->releaser - 1;
    const struct ana_why_step *other = ana_step_at(why->delays, from, step->releaser_step);
    struct coming its;
    if (!other)
        return;
    begin_alone(why, from, step->releaser_step, other, &its);
    out->ns = step->spins_ns;
    take_later(out, its.ahead, step->release_ns);
    out->ns = step->begin_ns;
}

static void meet(const struct ana_why *why, struct ana_meeting *meeting)
{
    const struct ana_delays *delays = why->delays;
    struct coming last = {.ns = INT64_MIN}, one;
    for (uint32_t i = 0; i < meeting->count; i++) {
        const struct ana_member *member = member_at(delays->replay, meeting, i);
        if (!ana_step_at(delays, member->index, member->step))
            continue;
        begin_of(why, member->index, member->step, &one);
        if (last.ns == INT64_MIN)
            last = one;
        else
            take_later(&last, one.ahead, one.ns);
    }
    meeting->last_ns = last.ns;
    memcpy(meeting->ahead, last.ahead, sizeof last.ahead);
}

/* Takes what an edge leads to, unless by wrong clocks it came after the call had ended. */
static void take_edge(const struct ana_why *why, const struct ana_edge *edge, int64_t end_ns, struct coming *last)
{
    struct ana_replay *replay = why->delays->replay;
    if (edge->index == ANA_MEETING) {
        struct ana_meeting *meeting = meeting_at(replay, edge->step);
        if (meeting && meeting->last_ns == INT64_MIN)
            meet(why, meeting);
        if (meeting && meeting->last_ns != INT64_MIN && meeting->last_ns <= end_ns)
            take_later(last, meeting->ahead, meeting->last_ns);
        return;
    }
    const struct ana_why_step *needs = ana_step_at(why->delays, edge->index, edge->step);
    struct coming other;
    if (!needs || needs->begin_ns > end_ns)
        return;
    begin_of(why, edge->index, edge->step, &other);
    take_later(last, other.ahead, other.ns);
}

/* Replays a step; what it needs is there. */
static void replay_step(struct ana_why *why, uint32_t index, uint32_t number)
{
    struct ana_delays *delays = why->delays;
    struct ana_replay_rank *rank = &delays->replay->rank[index];
    const struct ana_why_step *step = ana_step_at(delays, index, number);
    const struct ana_edge *edge;
    struct coming last;
    begin_of(why, index, number, &last);
    for (uint32_t e = step->edges; (edge = edge_at(delays, rank, e)); e = edge->next)
        take_edge(why, edge, step->end_ns, &last);
    const struct ana_why_place *place = step->place ? ana_map_value(&why->places, step->place - 1) : NULL;
    int64_t own_ns = step->end_ns - last.ns;
    if (place && place->communicates)
        last.ahead[ANA_SHADOW_IDEAL] += own_ns;
    if (place && place->shadow)
        last.ahead[place->shadow] += own_ns;
    memcpy(rank->ahead[number & (delays->room - 1)], last.ahead, sizeof last.ahead);
    rank->done = number;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

void ana_replay_to(struct ana_why *why, size_t of, uint32_t until)
{
    struct ana_delays *delays = why->delays;
    struct ana_replay *replay = delays->replay;
    size_t depth = 1;
    replay->stack[0] = (uint32_t)of;
    replay->stack[1] = until;
    replay->rank[of].busy = true;
    while (depth > 0) {
        uint32_t index = replay->stack[2 * depth - 2], to = replay->stack[2 * depth - 1];
        struct ana_replay_rank *rank = &replay->rank[index];
        struct need need;
        if (rank->done >= to) {
            rank->busy = false;
            depth--;
        } else if (!ana_step_at(delays, index, rank->done + 1)) {
            rank->done++; /* it had to be left out */
        } else if (has_all(delays, index, rank->done + 1, &need)) {
            replay_step(why, index, rank->done + 1);
        } else {
            replay->stack[2 * depth] = need.index;
            replay->stack[2 * depth + 1] = need.step;
            replay->rank[need.index].busy = true;
            depth++;
        }
    }
}

void ana_replay_until(struct ana_why *why, int64_t now_ns)
{
    struct ana_delays *delays = why->delays;
    for (size_t i = 0; i < delays->ranks; i++)
        ana_replay_to(why, i, ana_step_ended(delays, i, now_ns));
}

int64_t ana_replay_saves(const struct ana_why *why, uint32_t shadow, const bool *over)
{
    const struct ana_delays *delays = why->delays;
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < delays->ranks; i++) {
        const struct ana_replay_rank *rank = &delays->replay->rank[i];
        const struct ana_why_step *step = ana_step_at(delays, i, rank->done);
        if (step && over[i])
            last_ns = step->end_ns > last_ns ? step->end_ns : last_ns;
    }
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < delays->ranks; i++) {
        const struct ana_replay_rank *rank = &delays->replay->rank[i];
        const struct ana_why_step *step = ana_step_at(delays, i, rank->done);
        if (!step)
            continue;
        int64_t ahead = rank->ahead[rank->done & (delays->room - 1)][shadow];
        if (over[i] && last_ns - (step->end_ns - ahead) < least)
            least = last_ns - (step->end_ns - ahead);
        else if (!over[i] && ahead < least)
            least = ahead;
    }
    return least == INT64_MAX ? 0 : least;
}
