/* The way of facts to the search for causes: by the hundred, on the same thread or to one of its own.
 *
 * Either way the same facts come in the same order, so what is found is the same.  Whoever reads or changes what was found
 * drains the feed first, and tells nothing meanwhile. */
#ifndef ANA_FEED_H
#define ANA_FEED_H

#include "trace/cause/causes.h"

#define ANA_FEED_MOST   2048u /* in one block */
#define ANA_FEED_BLOCKS 8u    /* under way to the other thread */

struct ana_feed {
    struct ana_told *next, *stop; /* room in the block that is being filled */
    struct ana_causes *causes;
    struct ana_feed_thread *thread; /* NULL: there is none */
    struct ana_told *block;         /* that is being filled */
};

/* A feed for a job of `ranks` ranks; `beside`: on a thread of its own, if there can be one.  NULL: out of memory.  Free with
 * ana_feed_free. */
struct ana_feed *ana_feed_new(size_t ranks, bool beside);
/* Frees it with its causes; what is under way is lost.  NULL is none. */
void ana_feed_free(struct ana_feed *feed);

/* Waits until all that was told is taken.  Then feed->causes can be read and changed, until more is told. */
void ana_feed_drain(struct ana_feed *feed);
/* The slow path of ana_feed_room: passes the block on, and takes another. */
void ana_feed_pass(struct ana_feed *feed);

/* Room for one fact, which the caller fills in at once. */
static inline struct ana_told *ana_feed_room(struct ana_feed *feed)
{
    if (__builtin_expect(feed->next == feed->stop, 0))
        ana_feed_pass(feed);
    return feed->next++;
}

#endif
