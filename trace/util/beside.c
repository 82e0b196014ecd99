#include "trace/util/beside.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 8u /* blocks of a queue */
#define ITEMS  (ANA_QUEUE_MOST / BLOCKS)
#define MOST   8u  /* threads */
#define LINE   64u /* line of the cache */

/* Ring of a queue's blocks; each taker still has the blocks between its `done` and `passed` to take. */
struct ana_queue_ring {
    struct ana_beside *beside;
    pthread_cond_t taken;
    uint64_t passed;  /* blocks so far */
    uint64_t awaited; /* the filler waits until no more blocks than this are under way */
    bool waits;       /* the filler waits, and would take a block if nobody is at it */
    struct taker {
        struct ana_queue *queue;
        uint64_t done; /* blocks so far */
        bool busy;     /* a thread takes a block: the next member */
        pthread_t thread;
    } taker[ANA_QUEUE_TAKERS];
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

struct ana_beside {
    pthread_t thread[MOST];
    unsigned threads;
    pthread_mutex_t lock;
    pthread_cond_t filled; /* signal that something is to do */
    struct work *work;     /* work with parts that are not begun */
    struct ana_queue *queue[ANA_BESIDE_QUEUES];
    bool stops;
};

/* Blocks that a taker has not taken. */
static uint64_t left_to(const struct taker *taker)
{
    return taker->queue->ring->passed - taker->done;
}

/* Blocks that not all takers have taken. */
static uint64_t under_way(const struct ana_queue *queue)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < queue->takers; i++) {
        uint64_t left = left_to(&queue->ring->taker[i]);
        most = left > most ? left : most;
    }
    return most;
}

/* The taker that has most to take and that nobody is at, of all queues or, if it is not NULL, of this one; NULL: there
 * is none. */
static struct taker *fullest(const struct ana_beside *beside, const struct ana_queue *only)
{
    struct taker *most = NULL;
    for (unsigned i = 0; i < ANA_BESIDE_QUEUES; i++) {
        const struct ana_queue *queue = beside->queue[i];
        for (unsigned t = 0; queue && (!only || queue == only) && t < queue->takers; t++) {
            struct taker *taker = &queue->ring->taker[t];
            if (!taker->busy && left_to(taker) > (most ? left_to(most) : 0))
                most = taker;
        }
    }
    return most;
}

static char *block_at(const struct ana_queue *queue, uint64_t number)
{
    return queue->ring->block + number % BLOCKS * ITEMS * queue->size;
}

/* Does the next part of a piece of work; the lock is held, and let go meanwhile. */
static void do_part(struct ana_beside *beside, struct work *work)
{
    size_t part = work->next++;
    struct work **at = &beside->work;
    while (work->next == work->n && *at != work)
        at = &(*at)->other;
    if (work->next == work->n)
        *at = work->other;
    pthread_mutex_unlock(&beside->lock);
    work->part(work->user, part);
    pthread_mutex_lock(&beside->lock);
    if (++work->done == work->n)
        pthread_cond_signal(&work->over);
}

/* Has a taker take its next block, with the lock, which it gives up meanwhile. */
static void take_block(struct ana_beside *beside, struct taker *taker)
{
    const struct ana_queue *queue = taker->queue;
    struct ana_queue_ring *ring = queue->ring;
    const struct ana_queue_taker *calls = &queue->taker[taker - ring->taker];
    uint64_t at = taker->done;
    taker->busy = true;
    taker->thread = pthread_self();
    pthread_mutex_unlock(&beside->lock);
    calls->take(calls->user, block_at(queue, at), ring->count[at % BLOCKS]);
    pthread_mutex_lock(&beside->lock);
    taker->busy = false;
    taker->done++;
    if (under_way(queue) <= ring->awaited)
        pthread_cond_signal(&ring->taken);
}

/* Goes from the taker that it was at to another, or to none: who waits for the first may now be that itself. */
static void turn_to(struct taker **at, struct taker *other)
{
    if (*at && *at != other && (*at)->queue->ring->waits)
        pthread_cond_signal(&(*at)->queue->ring->taken);
    *at = other;
}

/* Does a part or a block, with the lock; takes blocks of `only` alone if it is not NULL.  *at is the taker of the last
 * call.  False: nothing is to do. */
static bool do_something(struct ana_beside *beside, const struct ana_queue *only, struct taker **at)
{
    struct taker *taker = beside->work ? NULL : fullest(beside, only);
    turn_to(at, taker);
    if (beside->work) /* the thread that waits for the work holds up others */
        do_part(beside, beside->work);
    else if (taker)
        take_block(beside, taker);
    else
        return false;
    return true;
}

/* Whether the caller's thread takes a queue, and so fills others. */
static bool takes_one(const struct ana_beside *beside)
{
    for (unsigned i = 0; i < ANA_BESIDE_QUEUES; i++)
        for (unsigned t = 0; beside->queue[i] && t < beside->queue[i]->takers; t++) {
            const struct taker *taker = &beside->queue[i]->ring->taker[t];
            if (taker->busy && pthread_equal(taker->thread, pthread_self()))
                return true;
        }
    return false;
}

static void *work_beside(void *arg)
{
    struct ana_beside *beside = arg;
    struct taker *at = NULL;
    pthread_mutex_lock(&beside->lock);
    while (!beside->stops)
        if (!do_something(beside, NULL, &at))
            pthread_cond_wait(&beside->filled, &beside->lock);
    pthread_mutex_unlock(&beside->lock);
    return NULL;
}

void ana_beside_parts(struct ana_beside *beside, size_t n, ana_part_do *part, void *user)
{
    for (size_t i = 0; (!beside || n == 1) && i < n; i++)
        part(user, i);
    if (!beside || n < 2)
        return;
    struct work work = {.part = part, .user = user, .n = n, .over = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&beside->lock);
    work.other = beside->work;
    beside->work = &work;
    pthread_cond_broadcast(&beside->filled);
    for (unsigned i = 0; i < ANA_BESIDE_QUEUES; i++) /* a thread that waits for room in a queue may help, too */
        if (beside->queue[i])
            pthread_cond_signal(&beside->queue[i]->ring->taken);
    while (work.next < n)
        do_part(beside, &work);
    while (work.done < n)
        pthread_cond_wait(&work.over, &beside->lock);
    pthread_mutex_unlock(&beside->lock);
    pthread_cond_destroy(&work.over);
}

struct ana_beside *ana_beside_new(unsigned threads)
{
    struct ana_beside *beside = threads ? calloc(1, sizeof *beside) : NULL;
    sigset_t all, before;
    if (!beside)
        return NULL;
    pthread_mutex_init(&beside->lock, NULL);
    pthread_cond_init(&beside->filled, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (beside->threads < threads && beside->threads < MOST &&
           pthread_create(&beside->thread[beside->threads], NULL, work_beside, beside) == 0)
        beside->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (beside->threads)
        return beside;
    ana_beside_free(beside);
    return NULL;
}

void ana_beside_free(struct ana_beside *beside)
{
    if (!beside)
        return;
    pthread_mutex_lock(&beside->lock);
    beside->stops = true;
    pthread_cond_broadcast(&beside->filled);
    pthread_mutex_unlock(&beside->lock);
    for (unsigned i = 0; i < beside->threads; i++)
        pthread_join(beside->thread[i], NULL);
    pthread_cond_destroy(&beside->filled);
    pthread_mutex_destroy(&beside->lock);
    free(beside);
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

static void begin_block(struct ana_queue *queue, char *block)
{
    queue->block = queue->next = block;
    queue->stop = block + ITEMS * queue->size;
}

/* Makes the ring of a queue, and tells the threads of it.  False: they have too many, or there is no memory. */
static bool make_ring(struct ana_queue *queue, struct ana_beside *beside)
{
    struct ana_queue_ring *ring = calloc(1, sizeof *ring);
    unsigned at = 0;
    if (!ring || !(ring->block = aligned_alloc(LINE, BLOCKS * ITEMS * queue->size))) {
        free(ring);
        return false;
    }
    ring->beside = beside;
    pthread_mutex_lock(&beside->lock);
    while (at < ANA_BESIDE_QUEUES && beside->queue[at])
        at++;
    if (at < ANA_BESIDE_QUEUES) {
        pthread_cond_init(&ring->taken, NULL);
        queue->ring = ring;
        beside->queue[at] = queue;
    }
    pthread_mutex_unlock(&beside->lock);
    if (queue->ring)
        return true;
    free(ring->block);
    free(ring);
    return false;
}

bool ana_queue_open(struct ana_queue *queue, struct ana_beside *beside, size_t size, ana_queue_take *take, void *user)
{
    *queue = (struct ana_queue){.size = size};
    char *block = beside && make_ring(queue, beside) ? queue->ring->block : aligned_alloc(LINE, ITEMS * size);
    if (!block)
        return false;
    begin_block(queue, block);
    ana_queue_also(queue, take, user);
    return true;
}

void ana_queue_also(struct ana_queue *queue, ana_queue_take *take, void *user)
{
    struct ana_beside *beside = queue->ring ? queue->ring->beside : NULL;
    if (beside)
        pthread_mutex_lock(&beside->lock);
    queue->taker[queue->takers] = (struct ana_queue_taker){take, user};
    if (beside)
        queue->ring->taker[queue->takers].queue = queue;
    queue->takers++;
    if (beside)
        pthread_mutex_unlock(&beside->lock);
}

void ana_queue_close(struct ana_queue *queue)
{
    struct ana_queue_ring *ring = queue->ring;
    if (!ring) {
        free(queue->block);
        *queue = (struct ana_queue){0};
        return;
    }
    struct ana_beside *beside = ring->beside;
    pthread_mutex_lock(&beside->lock);
    ring->awaited = UINT64_MAX; /* each block that is taken wakes us */
    for (unsigned i = 0; i < ANA_BESIDE_QUEUES; i++)
        beside->queue[i] = beside->queue[i] == queue ? NULL : beside->queue[i];
    for (unsigned i = 0; i < queue->takers; i++)
        while (ring->taker[i].busy)
            pthread_cond_wait(&ring->taken, &beside->lock);
    pthread_mutex_unlock(&beside->lock);
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
    struct ana_beside *beside = ring->beside;
    pthread_mutex_lock(&beside->lock);
    if (n) {
        ring->count[ring->passed++ % BLOCKS] = n;
        pthread_cond_signal(&beside->filled);
    }
    ring->awaited = all ? 0 : under_way(queue) == BLOCKS ? BLOCKS / 2 : BLOCKS;
    const struct ana_queue *only = takes_one(beside) ? queue : NULL;
    struct taker *at = NULL;
    ring->waits = true;
    while (under_way(queue) > ring->awaited)
        if (!do_something(beside, only, &at))
            pthread_cond_wait(&ring->taken, &beside->lock);
    turn_to(&at, NULL);
    ring->waits = false;
    ring->awaited = 0;
    begin_block(queue, block_at(queue, ring->passed));
    pthread_mutex_unlock(&beside->lock);
}

/* Has the queue's items taken; returns once there is room for more, or, with `all`, once all are taken. */
static void pass(struct ana_queue *queue, bool all)
{
    size_t n = (size_t)(queue->next - queue->block) / queue->size;
    if (queue->ring) {
        pass_on(queue, n, all);
        return;
    }
    for (unsigned i = 0; i < queue->takers; i++)
        queue->taker[i].take(queue->taker[i].user, queue->block, n);
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
