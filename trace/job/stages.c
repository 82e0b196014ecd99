#include "trace/job/stages.h"
#include "trace/job/pass.h"
#include "trace/util/grow.h"
#include "trace/why/tell.h"
#include <stdlib.h>
#include <string.h>

#define MANY 8u /* workers, with whom all stages have threads of their own */

_Static_assert(ANA_PART_HELD >= 3 * ANA_QUEUE_MOST + 2 * ANA_SLICE,
               "signatures of all events that are not done with are there");

/* ---- reports of the match ---------------------------------------------------------------------------------------- */

/* Hands on a found item of one kind.  False: no stage takes it from here. */
static inline bool hands_on(struct ana_job *job, enum ana_matched_kind kind, const void *found, size_t size)
{
    if (!job->stages.matched.size)
        return false;
    memcpy(&ana_matched_room(&job->stages, kind)->message, found, size); /* all kinds begin there */
    return true;
}

static void on_message(void *user, const struct ana_message *message)
{
    if (!hands_on(user, ANA_MATCHED_MESSAGE, message, sizeof *message))
        ana_take_message(user, message);
}

static void on_instance(void *user, const struct ana_instance *instance)
{
    struct ana_job *job = user;
    if (!job->stages.matched.size) {
        ana_take_instance(job, instance);
        return;
    }
    for (size_t i = 0; i < instance->arrivals;) {
        struct ana_matched *room = ana_matched_room(&job->stages, ANA_MATCHED_ARRIVALS);
        for (room->few = 0; room->few < ANA_MATCHED_FEW && i < instance->arrivals; i++)
            room->arrival[room->few++] = instance->arrival[i];
    }
    ana_matched_room(&job->stages, ANA_MATCHED_INSTANCE)->instance = *instance;
}

static void on_joined(void *user, const struct ana_joined *joined)
{
    if (!hands_on(user, ANA_MATCHED_JOINED, joined, sizeof *joined))
        ana_take_joined(user, joined);
}

static void on_need(void *user, const struct ana_need *need)
{
    if (!hands_on(user, ANA_MATCHED_NEED, need, sizeof *need))
        ana_take_need(user, need);
}

/* Notes of messages that are handed on are about to be forgotten. */
static void on_forget(void *user)
{
    struct ana_job *job = user;
    if (job->stages.matched.size)
        ana_queue_drain(&job->stages.matched);
}

struct ana_match_sink ana_stages_sink(struct ana_job *job)
{
    return (struct ana_match_sink){.user = job,
                                   .on_message = on_message,
                                   .on_instance = on_instance,
                                   .on_joined = on_joined,
                                   .on_need = on_need,
                                   .on_forget = on_forget};
}

/* ---- takers of queued items -------------------------------------------------------------------------------------- */

static void follow_merged(void *user, const void *items, size_t n)
{
    struct ana_event *e[ANA_SLICE], *item = (struct ana_event *)items; /* the steps of ours are filled in */
    while (n) {
        size_t some = n < ANA_SLICE ? n : ANA_SLICE;
        for (size_t i = 0; i < some; i++)
            e[i] = item++;
        ana_follow_events(user, e, some);
        n -= some;
    }
}

static void relate_onward(void *user, const void *items, size_t n)
{
    struct ana_job *job = user;
    struct ana_stages *stages = &job->stages;
    const struct ana_onward *item = items;
    if (stages->matched.next != stages->matched.block) /* none of its events waits for longer than a block here */
        ana_queue_pass(&stages->matched);
    for (const struct ana_onward *stop = item + n; item < stop; item++) {
        if (item->kind != ANA_ONWARD_TOLD) {
            ana_relate_event(job, item->kind, &item->event);
        } else if (stages->matched.size) {
            ana_matched_room(stages, ANA_MATCHED_TOLD)->told = item->told;
        } else {
            ana_why_pass_on(&job->pass.why, &item->told);
        }
    }
}

/* Adds some arrivals of the collective that is being matched. */
static void take_arrivals(struct ana_job *job, const struct ana_matched *item)
{
    struct ana_stages *stages = &job->stages;
    for (uint32_t i = 0; i < item->few; i++) {
        if (!ana_grow(&stages->arrival, stages->arrivals, &stages->room, sizeof *stages->arrival)) {
            job->pass.tally.out_of_memory = true;
            return;
        }
        stages->arrival[stages->arrivals++] = item->arrival[i];
    }
}

/* Takes a collective, after its arrivals; it is left out if there was no memory for all arrivals. */
static void take_instance(struct ana_job *job, const struct ana_matched *item)
{
    struct ana_stages *stages = &job->stages;
    struct ana_instance instance = item->instance;
    instance.arrival = stages->arrival;
    if (stages->arrivals == instance.arrivals)
        ana_take_instance(job, &instance);
    stages->arrivals = 0;
}

static void take_matched(void *user, const void *items, size_t n)
{
    struct ana_job *job = user;
    const struct ana_matched *item = items;
    for (const struct ana_matched *stop = item + n; item < stop; item++)
        switch (item->kind) {
        case ANA_MATCHED_TOLD:
            ana_why_pass_on(&job->pass.why, &item->told);
            break;
        case ANA_MATCHED_MESSAGE:
            ana_take_message(job, &item->message);
            break;
        case ANA_MATCHED_ARRIVALS:
            take_arrivals(job, item);
            break;
        case ANA_MATCHED_INSTANCE:
            take_instance(job, item);
            break;
        case ANA_MATCHED_EVENT:
        case ANA_MATCHED_OTHER:
            ana_relate_apart(job, item->kind == ANA_MATCHED_EVENT, &item->event);
            break;
        case ANA_MATCHED_JOINED:
            ana_take_joined(job, &item->joined);
            break;
        case ANA_MATCHED_NEED:
            ana_take_need(job, &item->need);
            break;
        }
}

/* ---- all stages -------------------------------------------------------------------------------------------------- */

bool ana_stages_open(struct ana_job *job)
{
    struct ana_stages *stages = &job->stages;
    struct ana_why *why = &job->pass.why;
    if (why->onward || !job->beside || !ana_merge_in_parts(job->pass.merge))
        return true;
    if (!ana_queue_open(&stages->onward, job->beside, sizeof(struct ana_onward), relate_onward, job))
        return false;
    why->onward = &stages->onward;
    if (job->workers < MANY)
        return true;
    if (!ana_queue_open(&stages->merged, job->beside, sizeof(struct ana_event), follow_merged, job) ||
        !ana_queue_open(&stages->matched, job->beside, sizeof(struct ana_matched), take_matched, job))
        return false;
    why->matched = &stages->matched;
    return true;
}

void ana_stages_close(struct ana_job *job)
{
    struct ana_stages *stages = &job->stages;
    ana_queue_close(&stages->merged); /* the taker of this queue fills the next */
    ana_queue_close(&stages->onward);
    ana_queue_close(&stages->matched);
    free(stages->arrival);
    *stages = (struct ana_stages){0};
    job->pass.why.onward = job->pass.why.matched = NULL;
}

void ana_stages_sync(struct ana_job *job)
{
    if (job->stages.merged.size)
        ana_queue_drain(&job->stages.merged);
    ana_why_sync(&job->pass.why);
}
