#include "trace/cause/feed.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* A ring of blocks, and the thread that takes them. */
struct ana_feed_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, taken;
    uint64_t passed, done; /* blocks so far; the ring holds those between */
    uint64_t awaited;      /* who tells waits until no more blocks than this are under way */
    bool stops;
    struct ana_causes *causes;
    size_t count[ANA_FEED_BLOCKS]; /* in each */
    struct ana_told ring[ANA_FEED_BLOCKS][ANA_FEED_MOST];
};

static void *take_blocks(void *arg)
{
    struct ana_feed_thread *t = arg;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->passed == t->done && !t->stops)
            pthread_cond_wait(&t->filled, &t->lock);
        if (t->stops)
            break;
        size_t at = t->done % ANA_FEED_BLOCKS;
        pthread_mutex_unlock(&t->lock);
        ana_causes_take(t->causes, t->ring[at], t->count[at]);
        pthread_mutex_lock(&t->lock);
        t->done++;
        if (t->passed - t->done <= t->awaited)
            pthread_cond_signal(&t->taken);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Starts the thread, which leaves all signals to the others.  NULL: there can be none. */
static struct ana_feed_thread *start_thread(struct ana_causes *causes)
{
    struct ana_feed_thread *t = calloc(1, sizeof *t);
    sigset_t all, before;
    if (!t)
        return NULL;
    t->causes = causes;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->filled, NULL);
    pthread_cond_init(&t->taken, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->thread, NULL, take_blocks, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return t;
    free(t);
    return NULL;
}

static void stop_thread(struct ana_feed_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->stops = true;
    pthread_cond_signal(&t->filled);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->filled);
    pthread_cond_destroy(&t->taken);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

struct ana_feed *ana_feed_new(size_t ranks, bool beside)
{
    struct ana_feed *feed = calloc(1, sizeof *feed);
    if (!feed || !(feed->causes = ana_causes_new(ranks)))
        goto failed;
    feed->thread = beside ? start_thread(feed->causes) : NULL;
    feed->block = feed->thread ? feed->thread->ring[0] : malloc(ANA_FEED_MOST * sizeof *feed->block);
    if (!feed->block)
        goto failed;
    feed->next = feed->block;
    feed->stop = feed->block + ANA_FEED_MOST;
    return feed;
failed:
    ana_feed_free(feed);
    return NULL;
}

void ana_feed_free(struct ana_feed *feed)
{
    if (!feed)
        return;
    if (feed->thread)
        stop_thread(feed->thread);
    else
        free(feed->block);
    ana_causes_free(feed->causes);
    free(feed);
}

/* Passes the block on to the thread, and waits for the next one to be free; `all`: for all of them.  When the ring is full,
 * it waits for half of it: so both threads seldom wake each other. */
static void pass_on(struct ana_feed *feed, size_t n, bool all)
{
    struct ana_feed_thread *t = feed->thread;
    pthread_mutex_lock(&t->lock);
    if (n) {
        t->count[t->passed++ % ANA_FEED_BLOCKS] = n;
        pthread_cond_signal(&t->filled);
    }
    bool full = t->passed - t->done == ANA_FEED_BLOCKS;
    t->awaited = all ? 0 : full ? ANA_FEED_BLOCKS / 2 : ANA_FEED_BLOCKS;
    while (t->passed - t->done > t->awaited)
        pthread_cond_wait(&t->taken, &t->lock);
    t->awaited = 0;
    feed->block = t->ring[t->passed % ANA_FEED_BLOCKS];
    pthread_mutex_unlock(&t->lock);
}

/* Has what was told taken; returns once there is room for more, or `all` is taken. */
static void pass(struct ana_feed *feed, bool all)
{
    size_t n = (size_t)(feed->next - feed->block);
    if (feed->thread)
        pass_on(feed, n, all);
    else
        ana_causes_take(feed->causes, feed->block, n);
    feed->next = feed->block;
    feed->stop = feed->block + ANA_FEED_MOST;
}

void ana_feed_pass(struct ana_feed *feed)
{
    pass(feed, false);
}

void ana_feed_drain(struct ana_feed *feed)
{
    pass(feed, true);
}
