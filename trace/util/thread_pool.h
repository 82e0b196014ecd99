/* Thread pool: queues of items that are processed in order, and parallel loops.
 *
 * The thread that fills a queue writes items of one size into blocks; a full block is taken by one call of each
 * consumer, by another thread or, where there is none, by the caller itself.  Either way the same items come in the
 * same order, so the findings are the same.  A queue is filled by one thread at a time, and each of its consumers
 * called by one.  Several consumers share nothing that one of them changes.  A caller that reads or changes the
 * findings drains the queue first, and leaves nothing in it meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ANA_THREAD_POOL_QUEUES 6u    /* queues of one ana_thread_pool, at most */
#define ANA_QUEUE_MOST         8192u /* items that are in a queue, at most */
#define ANA_QUEUE_CONSUMERS    3u    /* consumers of a queue, at most */

struct ana_thread_pool;
struct ana_queue_ring;

/* Processes `n` items. */
typedef void ana_queue_consume(void *user, const void *items, size_t n);

struct ana_queue {
    char *next, *stop; /* room in the block that is being filled */
    char *block;
    size_t size; /* bytes of an item */
    struct ana_queue_consumer {
        ana_queue_consume *consume;
        void *user;
    } consumer[ANA_QUEUE_CONSUMERS];
    unsigned consumers;
    struct ana_queue_ring *ring; /* NULL: there is no thread */
};

/* Starts `threads` threads, or as many as there can be, which leave all signals to the others; NULL: none.  Free with
 * ana_thread_pool_free, after its queues. */
struct ana_thread_pool *ana_thread_pool_new(unsigned threads);
/* Ends them; NULL is none. */
void ana_thread_pool_free(struct ana_thread_pool *thread_pool);

/* Does a part of a piece of work. */
typedef void ana_part_do(void *user, size_t part);
/* Runs parts 0 .. n - 1, each once, in any order and side by side: by the caller's thread, and by idle threads of the
 * pool; `thread_pool` NULL: by the caller, in order.  Returns when all are done.  Any thread may call it, also one that
 * takes a queue. */
void ana_thread_pool_run(struct ana_thread_pool *thread_pool, size_t n, ana_part_do *part, void *user);

/* Makes an empty queue of items of `size` bytes, which `consume` processes with `user`; `thread_pool` NULL: on the
 * caller's thread.  False: out of memory, and nothing is left to free. */
bool ana_queue_open(struct ana_queue *queue, struct ana_thread_pool *thread_pool, size_t size,
                    ana_queue_consume *consume, void *user);
/* Adds a consumer of all items; call it before the first item. */
void ana_queue_add_consumer(struct ana_queue *queue, ana_queue_consume *consume, void *user);
/* Frees the queue; items under way may be taken or lost.  Zeros are allowed. */
void ana_queue_close(struct ana_queue *queue);
/* Returns once all items are taken. */
void ana_queue_drain(struct ana_queue *queue);
/* The slow path of ana_queue_room: passes the block on, and takes another. */
void ana_queue_pass(struct ana_queue *queue);

/* Room for one item, which the caller fills in at once. */
static inline void *ana_queue_room(struct ana_queue *queue, size_t size)
{
    if (__builtin_expect(queue->next == queue->stop, 0))
        ana_queue_pass(queue);
    void *room = queue->next;
    queue->next += size;
    return room;
}
