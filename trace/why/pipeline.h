/* Events that one thread has cut into segments, for another that finds messages, collectives and waits in them: items
 * of a queue (trace/util/thread_pool.h).  Facts of the first for trace/cause pass here, too, so that all stay in order.
 */
#pragma once

#include "trace/cause/run_facts.h"
#include "trace/relations/relations.h"
#include "trace/util/thread_pool.h"

enum ana_pipeline_kind {
    ANA_PIPELINE_EVENT, /* event of the program's own time, with its step */
    ANA_PIPELINE_OTHER, /* any other */
    ANA_PIPELINE_FACT,  /* fact to be emitted */
    ANA_PIPELINE_SLICE  /* nothing: a slice of job time is over */
};

struct ana_pipeline_item {
    enum ana_pipeline_kind kind;
    union {
        struct ana_run_fact fact;
        struct ana_event event;
    };
};

/* Room for an item, which the caller fills in at once. */
static inline struct ana_pipeline_item *ana_pipeline_room(struct ana_queue *pipeline, enum ana_pipeline_kind kind)
{
    struct ana_pipeline_item *item = ana_queue_room(pipeline, sizeof *item);
    item->kind = kind;
    return item;
}
