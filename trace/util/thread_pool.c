#include "trace/util/thread_pool.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 8u /* blocks of a queue */
#define ITEMS  (ANA_QUEUE_MOST / BLOCKS)
#define MOST   8u  /* threads */
#define LINE   64u /* line of the cache */

/* Ring of a queue's blocks; each consumer still has the blocks between its `done` and `passed` to take. */
struct ana_queue_ring {
    struct ana_thread_pool *thread_pool;
    pthread_cond_t taken;
    uint64_t passed;  /* blocks so far */
    uint64_t awaited; /* the filler waits until no more blocks than this are under way */
    bool waits;       /* the filler waits, and would take a block if nobody is at it */
    struct consumer {
        struct ana_queue *queue;
        uint64_t done; /* blocks so far */
        bool busy;     /* a thread takes a block: the next member */
        pthread_t thread;
    } consumer[ANA_QUEUE_CONSUMERS];
    size_t count[BLOCKS]; /* items in each block */
    char *block;          /* memory of all blocks */
};

/* Work in parts; `next` is the first part that nobody has begun.  It lies on the stack of its waiting thread. */
struct work {
    ana_part_do *part;
    void *user;
    size_t n, next, done;
    pthread_cond_t over;
    struct work *other; /* work that was there before */
};

struct ana_thread_pool {
    pthread_t thread[MOST];
    unsigned threads;
    pthread_mutex_t lock;
    pthread_cond_t filled; /* signal that something is to do */
    struct work *work;     /* work with parts that are not begun */
    struct ana_queue *queue[ANA_THREAD_POOL_QUEUES];
    bool stops;
};

/* Blocks that a consumer has not taken. */
static uint64_t left_to(const struct consumer *consumer)
{
    return consumer->queue->ring->passed - consumer->done;
}

/* Blocks that not all consumers have taken. */
static uint64_t under_way(const struct ana_queue *queue)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < queue->consumers; i++) {
        uint64_t left = left_to(&queue->ring->consumer[i]);
        most = left > most ? left : most;
    }
    return most;
}

/* The consumer that has most to take and that nobody is at, of all queues or, if it is not NULL, of this one; NULL:
 * there is none. */
static struct consumer *fullest(const struct ana_thread_pool *thread_pool, const struct ana_queue *only)
{
    struct consumer *most = NULL;
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++) {
        const struct ana_queue *queue = thread_pool->queue[i];
        for (unsigned t = 0; queue && (!only || queue == only) && t < queue->consumers; t++) {
            struct consumer *consumer = &queue->ring->consumer[t];
            if (!consumer->busy && left_to(consumer) > (most ? left_to(most) : 0))
                most = consumer;
        }
    }
    return most;
}

static char *block_at(const struct ana_queue *queue, uint64_t number)
{
    return queue->ring->block + number % BLOCKS * ITEMS * queue->size;
}

/* Does the next part of a piece of work; the lock is held, and let go meanwhile. */
static void do_part(struct ana_thread_pool *thread_pool, struct work *work)
{
    size_t part = work->next++;
    struct work **at = &thread_pool->work;
    while (work->next == work->n && *at != work)
        at = &(*at)->other;
    if (work->next == work->n)
        *at = work->other;
    pthread_mutex_unlock(&thread_pool->lock);
    work->part(work->user, part);
    pthread_mutex_lock(&thread_pool->lock);
    if (++work->done == work->n)
        pthread_cond_signal(&work->over);
}

/* Makes a consumer process its next block, with the lock, which is released meanwhile. */
static void consume_block(struct ana_thread_pool *thread_pool, struct consumer *consumer)
{
    const struct ana_queue *queue = consumer->queue;
    struct ana_queue_ring *ring = queue->ring;
    const struct ana_queue_consumer *calls = &queue->consumer[consumer - ring->consumer];
    uint64_t at = consumer->done;
    consumer->busy = true;
    consumer->thread = pthread_self();
    pthread_mutex_unlock(&thread_pool->lock);
    calls->consume(calls->user, block_at(queue, at), ring->count[at % BLOCKS]);
    pthread_mutex_lock(&thread_pool->lock);
    consumer->busy = false;
    consumer->done++;
    if (under_way(queue) <= ring->awaited)
        pthread_cond_signal(&ring->taken);
}

/* Changes to another consumer, or to none: who waits for the first may now be that itself. */
static void turn_to(struct consumer **at, struct consumer *other)
{
    if (*at && *at != other && (*at)->queue->ring->waits)
        pthread_cond_signal(&(*at)->queue->ring->taken);
    *at = other;
}

/* Does a part or a block, with the lock; takes blocks of `only` alone if it is not NULL.  *at is the consumer of the
 * last call.  False: nothing is to do. */
static bool do_something(struct ana_thread_pool *thread_pool, const struct ana_queue *only, struct consumer **at)
{
    struct consumer *consumer = thread_pool->work ? NULL : fullest(thread_pool, only);
    turn_to(at, consumer);
    if (thread_pool->work) /* the thread that waits for the work holds up others */
        do_part(thread_pool, thread_pool->work);
    else if (consumer)
        consume_block(thread_pool, consumer);
    else
        return false;
    return true;
}

/* Whether the caller's thread takes a queue, and so fills others. */
static bool is_consumer(const struct ana_thread_pool *thread_pool)
{
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++)
        for (unsigned t = 0; thread_pool->queue[i] && t < thread_pool->queue[i]->consumers; t++) {
            const struct consumer *consumer = &thread_pool->queue[i]->ring->consumer[t];
            if (consumer->busy && pthread_equal(consumer->thread, pthread_self()))
                return true;
        }
    return false;
}

static void *run_worker(void *arg)
{
    struct ana_thread_pool *thread_pool = arg;
    struct consumer *at = NULL;
    pthread_mutex_lock(&thread_pool->lock);
    while (!thread_pool->stops)
        if (!do_something(thread_pool, NULL, &at))
            pthread_cond_wait(&thread_pool->filled, &thread_pool->lock);
    pthread_mutex_unlock(&thread_pool->lock);
    return NULL;
}

void ana_thread_pool_run(struct ana_thread_pool *thread_pool, size_t n, ana_part_do *part, void *user)
{
    for (size_t i = 0; (!thread_pool || n == 1) && i < n; i++)
        part(user, i);
    if (!thread_pool || n < 2)
        return;
    struct work work = {.part = part, .user = user, .n = n, .over = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&thread_pool->lock);
    work.other = thread_pool->work;
    thread_pool->work = &work;
    pthread_cond_broadcast(&thread_pool->filled);
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++) /* a thread that waits for room in a queue may help, too */
        if (thread_pool->queue[i])
            pthread_cond_signal(&thread_pool->queue[i]->ring->taken);
    while (work.next < n)
        do_part(thread_pool, &work);
    while (work.done < n)
        pthread_cond_wait(&work.over, &thread_pool->lock);
    pthread_mutex_unlock(&thread_pool->lock);
    pthread_cond_destroy(&work.over);
}

struct ana_thread_pool *ana_thread_pool_new(unsigned threads)
{
    struct ana_thread_pool *thread_pool = threads ? calloc(1, sizeof *thread_pool) : NULL;
    sigset_t all, before;
    if (!thread_pool)
        return NULL;
    pthread_mutex_init(&thread_pool->lock, NULL);
    pthread_cond_init(&thread_pool->filled, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (thread_pool->threads < threads && thread_pool->threads < MOST &&
           pthread_create(&thread_pool->thread[thread_pool->threads], NULL, run_worker, thread_pool) == 0)
        thread_pool->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (thread_pool->threads)
        return thread_pool;
    ana_thread_pool_free(thread_pool);
    return NULL;
}

void ana_thread_pool_free(struct ana_thread_pool *thread_pool)
{
    if (!thread_pool)
        return;
    pthread_mutex_lock(&thread_pool->lock);
    thread_pool->stops = true;
    pthread_cond_broadcast(&thread_pool->filled);
    pthread_mutex_unlock(&thread_pool->lock);
    for (unsigned i = 0; i < thread_pool->threads; i++)
        pthread_join(thread_pool->thread[i], NULL);
    pthread_cond_destroy(&thread_pool->filled);
    pthread_mutex_destroy(&thread_pool->lock);
    free(thread_pool);
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

static void begin_block(struct ana_queue *queue, char *block)
{
    queue->block = queue->next = block;
    queue->stop = block + ITEMS * queue->size;
}

/* Makes the ring of a queue, and tells the threads of it.  False: they have too many, or there is no memory. */
static bool make_ring(struct ana_queue *queue, struct ana_thread_pool *thread_pool)
{
    struct ana_queue_ring *ring = calloc(1, sizeof *ring);
    unsigned at = 0;
    if (!ring || !(ring->block = aligned_alloc(LINE, BLOCKS * ITEMS * queue->size))) {
        free(ring);
        return false;
    }
    ring->thread_pool = thread_pool;
    pthread_mutex_lock(&thread_pool->lock);
    while (at < ANA_THREAD_POOL_QUEUES && thread_pool->queue[at])
        at++;
    if (at < ANA_THREAD_POOL_QUEUES) {
        pthread_cond_init(&ring->taken, NULL);
        queue->ring = ring;
        thread_pool->queue[at] = queue;
    }
    pthread_mutex_unlock(&thread_pool->lock);
    if (queue->ring)
        return true;
    free(ring->block);
    free(ring);
    return false;
}

bool ana_queue_open(struct ana_queue *queue, struct ana_thread_pool *thread_pool, size_t size,
                    ana_queue_consume *consume, void *user)
{
    *queue = (struct ana_queue){.size = size};
    char *block = thread_pool && make_ring(queue, thread_pool) ? queue->ring->block : aligned_alloc(LINE, ITEMS * size);
    if (!block)
        return false;
    begin_block(queue, block);
    ana_queue_add_consumer(queue, consume, user);
    return true;
}

void ana_queue_add_consumer(struct ana_queue *queue, ana_queue_consume *consume, void *user)
{
    struct ana_thread_pool *thread_pool = queue->ring ? queue->ring->thread_pool : NULL;
    if (thread_pool)
        pthread_mutex_lock(&thread_pool->lock);
    queue->consumer[queue->consumers] = (struct ana_queue_consumer){consume, user};
    if (thread_pool)
        queue->ring->consumer[queue->consumers].queue = queue;
    queue->consumers++;
    if (thread_pool)
        pthread_mutex_unlock(&thread_pool->lock);
}

void ana_queue_close(struct ana_queue *queue)
{
    struct ana_queue_ring *ring = queue->ring;
    if (!ring) {
        free(queue->block);
        *queue = (struct ana_queue){0};
        return;
    }
    struct ana_thread_pool *thread_pool = ring->thread_pool;
    pthread_mutex_lock(&thread_pool->lock);
    ring->awaited = UINT64_MAX; /* each block that is taken wakes us */
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++)
        thread_pool->queue[i] = thread_pool->queue[i] == queue ? NULL : thread_pool->queue[i];
    for (unsigned i = 0; i < queue->consumers; i++)
        while (ring->consumer[i].busy)
            pthread_cond_wait(&ring->taken, &thread_pool->lock);
    pthread_mutex_unlock(&thread_pool->lock);
    pthread_cond_destroy(&ring->taken);
    free(ring->block);
    free(ring);
    *queue = (struct ana_queue){0};
}

/* Passes the block on, and helps until the next one is free; `all`: until every block is taken.  A full ring waits
 * until half of it is free: so both threads seldom wake each other.  A thread that takes one queue and waits for room
 * in another takes only from the other: else it might come to fill the queue that it takes, and nobody would go on. */
static void pass_on(struct ana_queue *queue, size_t n, bool all)
{
    struct ana_queue_ring *ring = queue->ring;
    struct ana_thread_pool *thread_pool = ring->thread_pool;
    pthread_mutex_lock(&thread_pool->lock);
    if (n) {
        ring->count[ring->passed++ % BLOCKS] = n;
        pthread_cond_signal(&thread_pool->filled);
    }
    ring->awaited = all ? 0 : under_way(queue) == BLOCKS ? BLOCKS / 2 : BLOCKS;
    const struct ana_queue *only = is_consumer(thread_pool) ? queue : NULL;
    struct consumer *at = NULL;
    ring->waits = true;
    while (under_way(queue) > ring->awaited)
        if (!do_something(thread_pool, only, &at))
            pthread_cond_wait(&ring->taken, &thread_pool->lock);
    turn_to(&at, NULL);
    ring->waits = false;
    ring->awaited = 0;
    begin_block(queue, block_at(queue, ring->passed));
    pthread_mutex_unlock(&thread_pool->lock);
}

/* Waits until items are processed; returns once there is room for more, or, with `all`, once all are taken. */
static void pass(struct ana_queue *queue, bool all)
{
    size_t n = (size_t)(queue->next - queue->block) / queue->size;
    if (queue->ring) {
        pass_on(queue, n, all);
        return;
    }
    for (unsigned i = 0; i < queue->consumers; i++)
        queue->consumer[i].consume(queue->consumer[i].user, queue->block, n);
    queue->next = queue->block;
}

void ana_queue_pass(struct ana_queue *queue)
{
    pass(queue, false);
}

void ana_queue_drain(struct ana_queue *queue)
{
    pass(queue, true);
}
