#include "trace/cause/feed.h"
#include <stdlib.h>

static void take_facts(void *user, const void *facts, size_t n)
{
    ana_causes_take(user, facts, n);
}

struct ana_feed *ana_feed_new(size_t ranks, struct ana_beside *beside)
{
    struct ana_feed *feed = calloc(1, sizeof *feed);
    if (feed && (feed->causes = ana_causes_new(ranks, beside)) &&
        ana_queue_open(&feed->queue, beside, sizeof(struct ana_told), take_facts, feed->causes))
        return feed;
    ana_feed_free(feed);
    return NULL;
}

void ana_feed_free(struct ana_feed *feed)
{
    if (!feed)
        return;
    ana_queue_close(&feed->queue);
    ana_causes_free(feed->causes);
    free(feed);
}
