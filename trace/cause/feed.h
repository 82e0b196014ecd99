/* Queue of facts to the search for causes, and to others: by the hundred, on the same thread or to threads beside it
 * (trace/util/beside.h).  A reader or writer of the results drains the feed first, and tells nothing meanwhile. */
#ifndef ANA_FEED_H
#define ANA_FEED_H

#include "trace/cause/causes.h"
#include "trace/util/beside.h"

struct ana_feed {
    struct ana_queue queue;
    struct ana_causes *causes;
};

/* A feed for a job of `ranks` ranks; `beside`: threads that take the facts, NULL: the caller does.  NULL: out of
 * memory.  Free with ana_feed_free. */
struct ana_feed *ana_feed_new(size_t ranks, struct ana_beside *beside);
/* Frees it with its causes; facts still queued are lost.  NULL is none. */
void ana_feed_free(struct ana_feed *feed);

/* Waits until all facts told are taken.  Then feed->causes can be read and changed, until more are told. */
static inline void ana_feed_drain(struct ana_feed *feed)
{
    ana_queue_drain(&feed->queue);
}

/* Has all facts taken by another, too: before any is told. */
static inline void ana_feed_also(struct ana_feed *feed, ana_queue_take *take, void *user)
{
    ana_queue_also(&feed->queue, take, user);
}

/* Room for one fact, which the caller fills in at once. */
static inline struct ana_told *ana_feed_room(struct ana_feed *feed)
{
    return ana_queue_room(&feed->queue, sizeof(struct ana_told));
}

#endif
