/* Stages of the way through the events of a job, which threads may share: each stage hands on to the next by a queue
 * (trace/util/beside.h), or does the next one's work at once.
 *
 *   merge   ->  follow (follow.c)  ->  relate (relate.c)  ->  take (take.c)
 *      `merged`             `onward`               `matched`
 *
 * All go in the order of the events, so the result is the same.  For advance.c, pass.c, follow.c and relate.c. */
#ifndef ANA_STAGES_H
#define ANA_STAGES_H

#include "trace/cause/told.h"
#include "trace/relations/match.h"
#include "trace/util/beside.h"

struct ana_job;

enum ana_matched_kind {
    ANA_MATCHED_TOLD,  /* item for trace/cause */
    ANA_MATCHED_EVENT, /* an event that says more than its messages and sums */
    ANA_MATCHED_OTHER, /* one that is not of the program's own time */
    ANA_MATCHED_MESSAGE,
    ANA_MATCHED_JOINED,
    ANA_MATCHED_NEED,
    ANA_MATCHED_ARRIVALS, /* some participants of a collective, in their order */
    ANA_MATCHED_INSTANCE  /* the collective, after all of its arrivals */
};
#define ANA_MATCHED_FEW 4u /* arrivals in one item */

/* An item of `matched`. */
struct ana_matched {
    enum ana_matched_kind kind;
    uint32_t few; /* ARRIVALS: how many */
    union {
        struct ana_told told;
        struct ana_event event;
        struct ana_message message;
        struct ana_joined joined;
        struct ana_need need;
        struct ana_arrival arrival[ANA_MATCHED_FEW];
        struct ana_instance instance; /* arrivals came before it */
    };
};

/* The queues between stages; of size 0: there is none, and what would be done behind it is done at once. */
struct ana_stages {
    struct ana_queue merged;     /* queue of struct ana_event */
    struct ana_queue onward;     /* queue of struct ana_onward */
    struct ana_queue matched;    /* queue of struct ana_matched */
    struct ana_arrival *arrival; /* arrivals of the collective that is being found */
    size_t arrivals, room;
};

/* Leaves stages to threads beside, if there are enough and if what events point to lives long enough: where they are
 * read in parts.  False: out of memory. */
bool ana_stages_open(struct ana_job *job);
/* Ends the stages; queued items may be lost. */
void ana_stages_close(struct ana_job *job);
/* Returns once all that was merged so far went through all stages. */
void ana_stages_sync(struct ana_job *job);

/* Returns the sink for a match of all events (match.h): it takes relations, or hands them on. */
struct ana_match_sink ana_stages_sink(struct ana_job *job);

/* Room in `matched`. */
static inline struct ana_matched *ana_matched_room(struct ana_stages *stages, enum ana_matched_kind kind)
{
    struct ana_matched *item = ana_queue_room(&stages->matched, sizeof *item);
    item->kind = kind;
    return item;
}

#endif
