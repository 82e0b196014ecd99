#include "trace/why/emit.h"
#include "trace/cause/scenario.h"
#include "trace/format/opclass.h"
#include <stdlib.h>

#define CHOICES    32         /* part of the time so far after which what costs most is chosen anew */
#define MOST_STEPS (1u << 20) /* most steps before the next choice; at least a sixteenth of all */

struct ana_run_fact *ana_why_emit_found(struct ana_why *why, enum ana_run_fact_kind kind, size_t index)
{
    struct ana_run_fact *fact = ana_causes_room(why->causes);
    fact->kind = (uint8_t)kind;
    fact->index = (uint32_t)index;
    return fact;
}

struct ana_run_fact *ana_why_emit(struct ana_why *why, enum ana_run_fact_kind kind, size_t index)
{
    struct ana_run_fact *fact = ana_why_room(why, why->pipeline);
    fact->kind = (uint8_t)kind;
    fact->index = (uint32_t)index;
    return fact;
}

void ana_why_pass_on(struct ana_why *why, const struct ana_run_fact *fact)
{
    *ana_causes_room(why->causes) = *fact;
    ana_why_calls_add(&why->calls, fact);
}

void ana_why_emit_rare(struct ana_why *why, const struct ana_event *e, const struct ana_why_thread *thread, bool large)
{
    if (thread->spins_ns != INT64_MIN) {
        struct ana_run_fact *fact = ana_why_emit(why, ANA_RUN_POLLS, e->index);
        const double whole_ns = (double)e->begin_ns - (double)thread->spins_ns, busy_ns = (double)thread->spun_ns;
        fact->spins.begin_ns = thread->spins_ns;
        fact->spins.until_ns = e->begin_ns;
        fact->spins.call = e->use->call;
        fact->spins.share = (float)(whole_ns > busy_ns ? busy_ns / whole_ns : 1);
        if (!why->pipeline)
            ana_why_calls_add(&why->calls, fact);
    }
    if (large)
        ana_why_emit_bytes(why, e, why->pipeline);
}

void ana_why_emit_place(struct ana_why *why, uint32_t number, enum trc_opclass opclass)
{
    enum trc_category category = trc_opclass_category(opclass);
    if (!why->causes)
        return;
    struct ana_run_fact *fact = ana_why_emit(why, ANA_RUN_PLACE, number);
    fact->place.ends = opclass == TRC_OP_FINALIZE;
    fact->place.edge = trc_opclass_is(opclass, TRC_FACT_EDGE);
    fact->place.communicates = category == TRC_CAT_P2P || category == TRC_CAT_WAIT || category == TRC_CAT_COLLECTIVE ||
                               category == TRC_CAT_RMA;
}

void ana_why_emit_segment(struct ana_why *why, uint32_t number, const struct ana_segment *segment)
{
    if (!why->causes || !segment->segment_kind)
        return;
    struct ana_run_fact *fact = ana_why_emit(why, ANA_RUN_SEGMENT, number);
    const bool inside = segment->region == ANA_INSIDE;
    fact->segment.from = inside ? 0 : segment->from;
    fact->segment.segment_kind = segment->segment_kind;
    fact->segment.rank = segment->index;
    fact->segment.inside = inside ? segment->to : 0;
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

static struct ana_run_fact *emit_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t ns, bool counts,
                                      struct ana_wait_places places)
{
    struct ana_run_fact *fact = ana_why_emit_found(why, ANA_RUN_WAIT, 0);
    fact->wait.begin_ns = span->begin_ns;
    fact->wait.places = places;
    fact->wait.late = (struct ana_late_wait){
        .waiter = (uint32_t)span->waiter,
        .culprit = (uint32_t)span->culprit,
        .waiter_step = span->waiter_step,
        .culprit_step = span->came_step,
        .ns = ns,
        .end_ns = span->end_ns,
        .counts = counts,
    };
    return fact;
}

void ana_why_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t left_ns, bool counts,
                  struct ana_wait_places places, const struct ana_why_call *in)
{
    struct ana_late_wait *late = &emit_wait(why, span, left_ns, counts, places)->wait.late;
    late->site = in ? in->site : 0;
    late->aside = in && in->place && !in->site;
}

void ana_why_device_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t counted_ns,
                         struct ana_wait_places places)
{
    emit_wait(why, span, counted_ns, true, places)->wait.late.device = true;
}

/* ---- needs ------------------------------------------------------------------------------------------------------- */

static struct ana_run_fact *emit_any(struct ana_why *why, enum ana_run_fact_kind kind, size_t index, uint32_t step,
                                     size_t of_index, uint32_t of_step)
{
    struct ana_run_fact *fact = ana_why_emit_found(why, kind, index);
    fact->need.step = step;
    fact->need.of_index = (uint32_t)of_index;
    fact->need.of_step = of_step;
    return fact;
}

static void emit_need(struct ana_why *why, size_t index, uint32_t step, size_t of_index, uint32_t of_step)
{
    if (step && of_step)
        emit_any(why, ANA_RUN_NEED, index, step, of_index, of_step);
}

void ana_why_message(struct ana_why *why, const struct ana_message *m, const struct ana_run_transfer *moved)
{
    struct ana_wait_span held;
    emit_any(why, ANA_RUN_MESSAGE, m->destination, m->recv_wait_step, m->source, m->send_step)->need.moved = *moved;
    if (m->synchronous || ana_late_receiver(m, &held))
        emit_need(why, m->source, m->send_wait_step, m->destination, m->recv_step);
}

void ana_why_need(struct ana_why *why, const struct ana_need *need)
{
    emit_need(why, need->waiter.index, need->waiter.step, need->needed.index, need->needed.step);
}

void ana_why_instance(struct ana_why *why, const struct ana_instance *instance)
{
    if (instance->mismatched || instance->arrivals < 2)
        return;
    if (instance->nonblocking && trc_opclass_category(instance->call->opclass) != TRC_CAT_COLLECTIVE)
        return; /* operation on a stream */
    for (size_t i = 0; i < instance->arrivals;) {
        struct ana_run_fact *fact = ana_why_emit_found(why, ANA_RUN_ARRIVALS, 0);
        for (; fact->index < ANA_RUN_ARRIVALS_MOST && i < instance->arrivals; fact->index++, i++) {
            const struct ana_arrival *one = &instance->arrival[i];
            fact->arrival[fact->index] = (struct ana_run_arrival){(uint32_t)one->index, one->step, one->comm_rank};
        }
    }
    struct ana_run_fact *fact =
        ana_why_emit_found(why, ANA_RUN_INSTANCE, instance->root < 0 ? UINT32_MAX : (size_t)instance->root);
    fact->instance.comm_identity = instance->comm_identity;
    fact->instance.sequence = instance->sequence;
    fact->instance.opclass = instance->call->opclass;
    fact->instance.nonblocking = instance->nonblocking;
}

void ana_why_joined(struct ana_why *why, const struct ana_joined *joined)
{
    struct ana_run_fact *fact = ana_why_emit_found(why, ANA_RUN_JOINED, joined->index);
    fact->joined.comm_identity = joined->comm_identity;
    fact->joined.sequence = joined->sequence;
    fact->joined.step = joined->step;
    fact->joined.of_index = (uint32_t)joined->needed.index;
    fact->joined.of_step = joined->needed.step;
    fact->joined.needs_all = joined->needs_all;
}

/* ---- how far ----------------------------------------------------------------------------------------------------- */

void ana_why_sync(struct ana_why *why)
{
    if (!why->causes)
        return;
    if (why->pipeline)
        ana_queue_drain(why->pipeline);
    ana_queue_drain(&why->causes->queue);
    why->out_of_memory |= why->calls.out_of_memory;
}

static double median_of(const void *of, uint32_t segment)
{
    return ana_segment_median(ana_segment_at(of, segment));
}

/* Chooses anew what costs most by `now_ns`.  That needs what both sides know. */
static void choose(struct ana_why *why, int64_t now_ns)
{
    ana_why_sync(why);
    ana_scenarios_choose(why->causes, now_ns, median_of, why);
    uint64_t more = why->steps / 16;
    why->choose_at = why->steps + why->segments.count + (more < MOST_STEPS ? more : MOST_STEPS);
}

/* Returns whether a notable part of the run has passed since *since_ns, and sets *since_ns to now. */
static bool has_passed(int64_t *since_ns, int64_t now_ns)
{
    if (now_ns - *since_ns <= now_ns / CHOICES)
        return false;
    *since_ns = now_ns;
    return true;
}

/* Stores the steps of all ranks.  As soon as one rank has made three eighths of its ring more, a choice is due: the
 * waits until now can be followed then, and the replay has not passed them. */
static void note_steps(struct ana_why *why)
{
    for (size_t i = 0; i < why->ranks; i++)
        why->rank[i].noted = why->rank[i].steps;
    why->noted = true;
}

void ana_why_turn(struct ana_why *why, const struct ana_why_rank *rank, int64_t now_ns)
{
    const uint32_t eighth = why->calls.room / 8;
    why->steps += ANA_STEPS_TURN;
    if (!why->noted && has_passed(&why->noted_ns, now_ns))
        note_steps(why);
    const bool before = why->choose_at && why->noted && rank->steps - rank->noted > eighth * 3;
    const bool first = !why->choose_at && rank->steps >= eighth * 5; /* the first replay is near */
    if (before || first || (why->choose_at && why->steps >= why->choose_at))
        choose(why, INT64_MIN);
    why->noted = why->noted && !before;
}

static void emit_progress(struct ana_why *why, int64_t now_ns, bool replays, bool idle)
{
    struct ana_run_fact *fact = ana_why_emit(why, ANA_RUN_PROGRESS, 0);
    fact->settle.now_ns = now_ns;
    fact->settle.replays = replays;
    fact->settle.idle = idle;
}

void ana_why_settle(struct ana_why *why, int64_t now_ns, bool idle)
{
    if (!why->causes)
        return;
    const bool last = now_ns == INT64_MAX, replays = why->steps >= why->replay_at;
    uint64_t due = why->choose_at || idle ? why->choose_at : ANA_STEPS_SETTLE * why->ranks;
    if (!last && (why->steps >= due || (replays && why->choose_at && has_passed(&why->chosen_ns, now_ns))))
        choose(why, now_ns);
    if (replays)
        why->replay_at = why->steps + ANA_STEPS_SETTLE * why->ranks;
    emit_progress(why, now_ns, replays && !last, false);
    if (!idle)
        return;
    if (last)
        choose(why, now_ns);
    emit_progress(why, now_ns, true, true);
}

/* Leaves waits that are no time of their ranks out of a cost. */
static struct ana_cost own_cost(const struct ana_why *why, struct ana_cost cost)
{
    const double all_ns = (double)cost.direct_ns + (double)cost.passed_ns;
    const double served_ns = why->served * (double)cost.aside_ns;
    if (!(served_ns > 0))
        return cost;
    const double part = served_ns < all_ns ? 1 - served_ns / all_ns : 0;
    cost.direct_ns = ana_rounded((double)cost.direct_ns * part);
    cost.passed_ns = ana_rounded((double)cost.passed_ns * part);
    cost.longest_ns = ana_rounded((double)cost.longest_ns * part);
    cost.squares *= part;
    return cost;
}

struct ana_cost ana_why_cost(const struct ana_why *why, uint32_t number)
{
    return why->causes ? own_cost(why, ana_causes_cost(why->causes, number)) : (struct ana_cost){0};
}

struct ana_rank_cost ana_why_rank_cost(const struct ana_why *why, size_t index)
{
    const struct ana_rank_cost *rank_cost = &why->causes->rank_cost[index];
    return (struct ana_rank_cost){.inside = own_cost(why, rank_cost->inside),
                                  .unknown = own_cost(why, rank_cost->unknown)};
}
