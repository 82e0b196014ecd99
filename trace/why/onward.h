/* Events that one thread has cut into segments, for another that finds messages, collectives and waits in them: items
 * of a queue (trace/util/beside.h).  What the first has to tell trace/cause comes this way, too, so that all is told in
 * its order. */
#pragma once

#include "trace/cause/told.h"
#include "trace/relations/relations.h"
#include "trace/util/beside.h"

enum ana_onward_kind {
    ANA_ONWARD_EVENT, /* event of the program's own time, with its step */
    ANA_ONWARD_OTHER, /* any other */
    ANA_ONWARD_TOLD   /* fact to be told */
};

struct ana_onward {
    enum ana_onward_kind kind;
    union {
        struct ana_told told;
        struct ana_event event;
    };
};

/* Room for an item, which the caller fills in at once. */
static inline struct ana_onward *ana_onward_room(struct ana_queue *onward, enum ana_onward_kind kind)
{
    struct ana_onward *item = ana_queue_room(onward, sizeof *item);
    item->kind = kind;
    return item;
}
