/* What each call needs: see replay.h. */
#include "trace/format/opclass.h"
#include "trace/why/replay.h"
#include "trace/why/why.h"
#include <stdlib.h>

#define MOST_BEGUN 4096u

/* Has the begin of a step kept, from when the step before is replayed on.  False: that is over. */
static bool need_begin(const struct ana_why *why, size_t index, uint32_t number)
{
    struct ana_replay_rank *rank = &why->delays->replay->rank[index];
    struct ana_why_step *step = ana_step_at(why->delays, index, number);
    if (!step || (!step->needed && number <= rank->done && why->rank[index].threads < 2))
        return false;
    if (!step->needed && number == rank->done + 1)
        rank->ahead[rank->done & (why->delays->room - 1)] = rank->now;
    step->needed = 1;
    return true;
}

static void add_edge(struct ana_why *why, size_t index, uint32_t number, struct ana_edge edge)
{
    struct ana_replay *replay = why->delays->replay;
    struct ana_replay_rank *rank = &replay->rank[index];
    struct ana_why_step *step = ana_step_at(why->delays, index, number);
    if (!step || number <= rank->done) {
        replay->missed += step != NULL;
        return;
    }
    edge.next = step->edges;
    step->edges = ++rank->edges;
    rank->edge[rank->edges & (why->delays->room * ANA_EDGES_OF_STEP - 1)] = edge;
}

void ana_replay_edge(struct ana_why *why, size_t index, uint32_t number, size_t needs_index, uint32_t needs_step)
{
    if (number && needs_step && need_begin(why, needs_index, needs_step))
        add_edge(why, index, number, (struct ana_edge){0, (uint32_t)needs_index, needs_step});
}

/* Makes a meeting of all calls of a collective; returns its number, 0: it has no room. */
static uint32_t add_meeting(const struct ana_why *why, const struct ana_instance *instance)
{
    struct ana_replay *replay = why->delays->replay;
    if (instance->arrivals > replay->member_room)
        return 0;
    uint32_t number = ++replay->meetings;
    struct ana_meeting *meeting = &replay->meeting[number & (replay->meeting_room - 1)];
    meeting->first = replay->members;
    meeting->count = meeting->ready = 0;
    meeting->last.ns = INT64_MIN;
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *arrival = &instance->arrival[i];
        if (need_begin(why, arrival->index, arrival->step))
            *ana_member_at(replay, meeting, meeting->count++) =
                (struct ana_member){(uint32_t)arrival->index, arrival->step};
    }
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

/* Remembers the meeting of a nonblocking collective for those who complete it. */
static void keep_begun(struct ana_why *why, const struct ana_instance *instance)
{
    struct ana_map *begun = &why->delays->replay->begun;
    if (begun->count >= MOST_BEGUN)
        ana_map_free(begun);
    struct ana_begun *kept = ana_map_add(begun, instance->comm_identity, instance->sequence, 0);
    if (kept)
        *kept = (struct ana_begun){add_meeting(why, instance), (uint32_t)instance->arrivals};
}

void ana_replay_joined(struct ana_why *why, const struct ana_joined *joined)
{
    struct ana_map *begun = &why->delays->replay->begun;
    struct ana_begun *kept = ana_map_find(begun, joined->comm_identity, joined->sequence, 0);
    if (joined->needs_all && kept && kept->meeting)
        add_edge(why, joined->index, joined->step, (struct ana_edge){0, ANA_MEETING, kept->meeting});
    else if (joined->needed.index != joined->index)
        ana_replay_edge(why, joined->index, joined->step, joined->needed.index, joined->needed.step);
    if (kept && --kept->left == 0)
        ana_map_remove(begun, kept);
}

void ana_replay_instance(struct ana_why *why, const struct ana_instance *instance)
{
    enum trc_shape shape = trc_opclass_shape(instance->call->opclass);
    if (instance->mismatched || instance->arrivals < 2)
        return;
    if (instance->nonblocking) {
        if (trc_opclass_category(instance->call->opclass) != TRC_CAT_COLLECTIVE)
            return; /* on a stream */
        if (shape == TRC_SHAPE_ALL || shape == TRC_SHAPE_TO_ROOT)
            keep_begun(why, instance);
        return;
    }
    if (shape == TRC_SHAPE_PREFIX)
        add_prefix(why, instance);
    uint32_t meeting = shape == TRC_SHAPE_ALL || shape == TRC_SHAPE_TO_ROOT ? add_meeting(why, instance) : 0;
    const struct ana_arrival *root = NULL;
    for (size_t i = 0; i < instance->arrivals; i++)
        if ((int64_t)instance->arrival[i].index == instance->root)
            root = &instance->arrival[i];
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *own = &instance->arrival[i];
        if (own->comm_rank < 0)
            continue;
        if (meeting && (shape == TRC_SHAPE_ALL || own == root))
            add_edge(why, own->index, own->step, (struct ana_edge){0, ANA_MEETING, meeting});
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
