/* Counts and stores the relations that the match finds: messages, collectives, and the waits in them. */
#include "trace/job/job_impl.h"
#include "trace/why/emit.h"
#include "trace/util/grow.h"
#include <stdlib.h>

_Static_assert(sizeof(struct ana_tally_note) <= sizeof(struct ana_message_note), "a note holds what we look up");

/* Whether something that lasted from begin_ns to end_ns lies in the window, at least in part. */
static inline bool in_window(const struct ana_job *job, int64_t begin_ns, int64_t end_ns)
{
    return end_ns >= job->analysis.window.begin_ns && begin_ns < job->analysis.window.end_ns;
}

/* A call of a rank by the number of its step; NULL: not known. */
static inline const struct ana_why_call *call_at(const struct ana_job *job, size_t index, uint32_t number)
{
    return ana_why_call_at(&job->analysis.pass.why.calls, index, number);
}

/* Returns the place of a call: number of trace/why, + 1; 0: unknown. */
static inline uint32_t place_of(const struct ana_why_call *call)
{
    return call ? call->place : 0;
}

/* The two calls of a wait: the waiter's, and the one that was waited for; NULL: not known. */
struct calls {
    const struct ana_why_call *in, *came;
};
static inline struct calls calls_of(const struct ana_job *job, const struct ana_wait_span *span)
{
    return (struct calls){call_at(job, span->waiter, span->waiter_step), call_at(job, span->culprit, span->came_step)};
}

/* Stores a wait; returns the places of its sums. */
static inline __attribute__((always_inline)) struct ana_wait_places
store_wait(struct ana_job *job, const struct ana_wait_span *span, struct calls calls, struct ana_tally_note_wait *note,
           uint32_t comm)
{
    if (note->call != span->call) {
        note->call = span->call;
        note->number = ana_call_number(&job->members, span->call);
        note->waits = 0;
    }
    struct ana_stored_wait more = {.call = note->number, .comm = comm, .place = place_of(calls.in)};
    more.site = calls.in ? calls.in->site : 0;
    more.segment = calls.came ? calls.came->segment : 0; /* activity of the culprit before */
    more.segment_ns = more.segment ? calls.came->segment_ns : 0;
    const struct ana_stored_wait *kept = ana_store_wait(&job->analysis.store, span, &more);
    if (!note->waits) {
        const struct ana_wait_places places = ana_tally_wait_places(&job->analysis.pass.tally, kept);
        note->waits = places.other ? 0 : places.sum;
        return places;
    }
    return (struct ana_wait_places){note->waits, 0};
}

/* Counts a wait; returns the length of its span without the time that was counted before.  `share`: the part of it that
 * lies inside calls, which is counted as the end of the span. */
static int64_t count_wait(struct ana_job *job, struct ana_wait_span *span, float share, struct calls calls,
                          struct ana_tally_note_wait *note, uint32_t comm)
{
    bool left = ana_wait_clip(job->clip, span);
    if (__builtin_expect(share < 1, 0))
        span->begin_ns = span->end_ns - ana_rounded((double)share * (double)(span->end_ns - span->begin_ns));
    bool counts = left && in_window(job, span->begin_ns, span->end_ns);
    int64_t left_ns =
        left ? ana_span_overlap((struct ana_span){span->begin_ns, span->end_ns}, job->analysis.window) : 0;
    const struct ana_wait_places places =
        counts ? store_wait(job, span, calls, note, comm) : (struct ana_wait_places){0};
    ana_why_wait(&job->analysis.pass.why, span, left_ns, counts, places, calls.in);
    return counts ? span->end_ns - span->begin_ns : 0;
}

/* Has a wait counted at the end of its slice: its call may have others. */
static void count_later(struct ana_job *job, const struct ana_wait_span *span, float share, struct calls calls,
                        uint32_t comm)
{
    struct ana_late_wait_item item = {
        .span = *span, .has_in = calls.in, .has_came = calls.came, .share = share, .comm = comm};
    if (calls.in)
        item.in = *calls.in;
    if (calls.came)
        item.came = *calls.came;
    job->analysis.pass.tally.out_of_memory |= !ana_late_waits_add(&job->late, &item);
}

static void count_item(void *user, struct ana_late_wait_item *item)
{
    const struct calls calls = {item->has_in ? &item->in : NULL, item->has_came ? &item->came : NULL};
    count_wait(user, &item->span, item->share, calls, &(struct ana_tally_note_wait){0}, item->comm);
}

void ana_count_late(struct ana_job *job)
{
    ana_late_waits_flush(&job->late, count_item, job);
}

/* Whether a call may wait for several ranks in turn. */
static bool may_wait_again(const struct trc_call *call)
{
    return !trc_opclass_is(call->opclass, TRC_FACT_LATE) || call->opclass == TRC_OP_WAIT ||
           call->opclass == TRC_OP_SENDRECV;
}

/* Counts a wait for a message. */
static void count_message_wait(struct ana_job *job, struct ana_wait_span *span, struct calls calls,
                               struct ana_tally_note_wait *note, uint32_t comm)
{
    if (may_wait_again(span->call))
        count_later(job, span, 1, calls, comm);
    else
        count_wait(job, span, 1, calls, note, comm);
}

/* Counts the time that a rank polled, up to a step, until the culprit of `span` came; nothing, if it did not. */
static void count_polls(struct ana_job *job, struct ana_wait_span *span, uint32_t comm)
{
    const struct ana_why_spin *spin = ana_why_spin_at(&job->analysis.pass.why.calls, span->waiter, span->waiter_step);
    if (!spin || span->came_ns <= spin->begin_ns || span->came_ns > spin->until_ns)
        return;
    enum trc_opclass opclass = spin->call->opclass;
    bool completes = trc_opclass_category(opclass) == TRC_CAT_WAIT;
    if (spin->step == span->waiter_step ? !completes : !trc_opclass_is_probe(opclass))
        return; /* it polled for something else */
    span->call = spin->call;
    span->begin_ns = spin->begin_ns;
    span->end_ns = span->came_ns;
    span->waiter_step = spin->step;
    count_later(job, span, spin->share, calls_of(job, span), comm);
}

/* Whether nothing of a message lies in the window, nor a wait for it. */
static bool is_outside(const struct ana_job *job, const struct ana_message *message)
{
    const struct ana_span window = job->analysis.window;
    bool after = message->send_begin_ns > window.end_ns && message->recv_begin_ns > window.end_ns &&
                 !job->analysis.pass.why.calls.rank[message->destination].spins;
    return message->recv_complete_ns < window.begin_ns || after;
}

static void on_message(void *user, const struct ana_message *message)
{
    struct ana_job *job = user;
    struct ana_tally_note *note = (struct ana_tally_note *)message->note;
    struct ana_wait_span span;
    if (job->clock_is_growing)
        ana_clock_add_message(job->members.clock, message);
    if (is_outside(job, message))
        return;
    if (!note->comm)
        note->comm = ana_store_comm(&job->analysis.store, message->comm_identity);
    struct calls calls = {call_at(job, message->destination, message->recv_wait_step),
                          call_at(job, message->source, message->send_step)};
    struct ana_stored_places at = {note->comm, place_of(calls.came), place_of(calls.in)};
    struct ana_run_transfer moved = {0};
    if (in_window(job, message->send_begin_ns, message->recv_complete_ns)) {
        if (!note->pair && message->recv_complete_ns >= message->send_begin_ns)
            note->pair = ana_tally_pair_place(&job->analysis.pass.tally, message->source, message->destination);
        moved = ana_tally_moved(ana_store_message(&job->analysis.store, message, at), note->pair);
    }
    if (ana_late_sender(message, &span))
        count_message_wait(job, &span, calls, &note->wait[0], note->comm);
    else if (__builtin_expect(job->analysis.pass.why.calls.rank[message->destination].spins != 0, 0))
        count_polls(job,
                    &(struct ana_wait_span){ANA_LATE_SENDER, message->destination, message->source, 0, 0,
                                            message->recv_wait_call, message->send_begin_ns, message->recv_wait_step,
                                            message->send_step},
                    note->comm);
    ana_why_message(&job->analysis.pass.why, message, &moved);
    if (ana_late_receiver(message, &span))
        count_message_wait(job, &span, calls_of(job, &span), &note->wait[1], note->comm);
}

static void on_joined(void *user, const struct ana_joined *joined)
{
    struct ana_job *job = user;
    struct ana_wait_span span;
    const uint32_t comm = ana_store_comm(&job->analysis.store, joined->comm_identity);
    if (ana_late_to_begin(joined, &span))
        count_later(job, &span, 1, calls_of(job, &span), comm);
    else if (joined->needed.index != joined->index)
        count_polls(job, &span, comm);
    ana_why_joined(&job->analysis.pass.why, joined);
}

static void on_need(void *user, const struct ana_need *need)
{
    struct ana_job *job = user;
    struct ana_wait_span span;
    if (ana_late_partner(need, &span))
        count_later(job, &span, 1, calls_of(job, &span), ana_store_comm(&job->analysis.store, need->comm_identity));
    ana_why_need(&job->analysis.pass.why, need);
}

void ana_add_device_wait(struct ana_job *job, const struct ana_wait_span *span, uint64_t comm_identity)
{
    if (!in_window(job, span->begin_ns, span->end_ns))
        return;
    const struct ana_wait_places places = store_wait(job, span, calls_of(job, span), &(struct ana_tally_note_wait){0},
                                                     ana_store_comm(&job->analysis.store, comm_identity));
    ana_why_device_wait(&job->analysis.pass.why, span,
                        ana_span_overlap((struct ana_span){span->begin_ns, span->end_ns}, job->analysis.window),
                        places);
}

/* Returns the place of a collective: the first known one in the order of ranks, since ranks may call it in several
 * places, and the order of arrival is chance. */
static uint32_t place_of_instance(const struct ana_job *job, const struct ana_instance *instance)
{
    size_t lowest = SIZE_MAX;
    uint32_t place = 0;
    for (size_t i = 0; i < instance->arrivals; i++) {
        const struct ana_arrival *one = &instance->arrival[i];
        uint32_t at = one->index < lowest ? place_of(call_at(job, one->index, one->step)) : 0;
        lowest = at ? one->index : lowest;
        place = at ? at : place;
    }
    return place;
}

/* Whether nothing of a collective lies in the window. */
static bool is_collective_outside(const struct ana_job *job, const struct ana_instance *instance)
{
    const struct ana_span window = job->analysis.window;
    bool before = window.begin_ns != INT64_MIN;
    for (size_t i = 0; before && i < instance->arrivals; i++)
        before = instance->arrival[i].end_ns < window.begin_ns;
    return before || instance->arrival[0].begin_ns > window.end_ns;
}

static void on_instance(void *user, const struct ana_instance *instance)
{
    struct ana_job *job = user;
    if (instance->arrivals == 0)
        return;
    if (job->clock_is_growing)
        ana_clock_add_instance(job->members.clock, instance);
    if (is_collective_outside(job, instance))
        return;
    job->spans = ana_lengthen(&job->span, job->spans, instance->arrivals, sizeof *job->span);
    if (instance->arrivals > job->spans) {
        job->analysis.pass.tally.out_of_memory = true;
        return;
    }
    int64_t lost = 0;
    uint32_t comm = ana_store_comm(&job->analysis.store, instance->comm_identity);
    uint32_t place = place_of_instance(job, instance);
    struct ana_tally_note_wait note = {0};
    size_t n = ana_waits_of_instance(instance, job->span);
    for (size_t i = 0; i < n; i++, note.waits = 0)
        lost += count_wait(job, &job->span[i], 1, calls_of(job, &job->span[i]), &note, comm);
    ana_why_instance(&job->analysis.pass.why, instance);
    if (!in_window(job, instance->arrival[0].begin_ns, instance->arrival[instance->arrivals - 1].end_ns))
        return;
    const struct ana_stored_instance *kept =
        ana_store_instance(&job->analysis.store, instance, ana_call_number(&job->members, instance->call), place, lost);
    if (instance->arrivals < 2 || instance->mismatched)
        return; /* nobody to be late for */
    ana_tally_instance(&job->analysis.pass.tally, kept);
    for (size_t i = 0; i < instance->arrivals; i++)
        ana_tally_part(&job->analysis.pass.tally, instance->arrival[i].index, i + 1 == instance->arrivals);
}

struct ana_match_sink ana_job_sink(struct ana_job *job)
{
    return (struct ana_match_sink){
        .user = job, .on_message = on_message, .on_instance = on_instance, .on_joined = on_joined, .on_need = on_need};
}
