/* Waits of calls that may have several, as MPI_Waitall: found in the order of their ranks, but shared out in the order
 * in which the culprits came.  They wait here until their slice of job time is over (trace/relations/merge.h).
 *
 * One thread at a time: the one that finds relations. */
#pragma once

#include "trace/relations/waits.h"
#include "trace/why/calls.h"

struct ana_late_wait_item {
    struct ana_wait_span span;
    struct ana_why_call in, came; /* the waiter's call and the culprit's, */
    bool has_in, has_came;        /* ... if they are known */
    float share;                  /* part of the span that lies inside calls */
    uint32_t comm;
    uint32_t before; /* the item before it of the same waiter, + 1 */
};

struct ana_late_waits {
    struct ana_late_wait_item *item; /* waits, in order of discovery */
    size_t count, room;
    uint32_t *last; /* last item by rank index, in the order of calls and culprits, + 1; 0: none */
    size_t ranks;
};

/* Frees them; zeros are allowed. */
void ana_late_waits_free(struct ana_late_waits *waits);
/* Adds a copy of a wait; `before` is set here.  False: out of memory. */
bool ana_late_waits_add(struct ana_late_waits *waits, const struct ana_late_wait_item *item);
/* Calls `found` for each item and removes all: waiter by waiter, in the order of its calls, within a call in the order
 * in which the culprits came. */
void ana_late_waits_flush(struct ana_late_waits *waits, void (*found)(void *user, struct ana_late_wait_item *item),
                          void *user);
