/* Queues that threads take: each taker all items, once and in order, whoever takes them and whoever fills them; a
 * drained queue has nothing under way, a closed one may lose its items.  Parts of a piece of work: each is done
 * once, by whomever, whoever asks for it. */
#include "trace/util/thread_pool.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include <stdint.h>
#include <string.h>

struct item {
    uint64_t number;
    char more[24];
};

struct taken {
    uint64_t items, wrong, blocks;
};

static void take(void *user, const void *items, size_t n)
{
    struct taken *taken = user;
    const struct item *item = items;
    taken->blocks++;
    for (size_t i = 0; i < n; i++)
        taken->wrong += item[i].number != taken->items++;
}

static void take_numbers(void *user, const void *items, size_t n)
{
    struct taken *taken = user;
    const uint32_t *number = items;
    taken->blocks++;
    for (size_t i = 0; i < n; i++)
        taken->wrong += number[i] != (uint32_t)taken->items++;
}

/* Two queues of other sizes, filled in turn by chance, and now and then drained. */
static void fill(unsigned threads, uint64_t seed, uint64_t most)
{
    struct ana_thread_pool *thread_pool = ana_thread_pool_new(threads);
    struct ana_queue large, small;
    struct taken larges = {0}, smalls = {0}, others = {0};
    uint64_t n = 0, m = 0;
    CHECK((thread_pool != NULL) == (threads > 0), "%u threads", threads);
    CHECK(ana_queue_open(&large, thread_pool, sizeof(struct item), take, &larges));
    CHECK(ana_queue_open(&small, thread_pool, sizeof(uint32_t), take_numbers, &smalls));
    ana_queue_add_consumer(&large, take, &others);
    while (n < most) {
        for (uint64_t some = draw(&seed, 5000); some--;)
            ((struct item *)ana_queue_room(&large, sizeof(struct item)))->number = n++;
        for (uint64_t some = draw(&seed, 9000); some--;)
            *(uint32_t *)ana_queue_room(&small, sizeof(uint32_t)) = (uint32_t)m++;
        if (draw(&seed, 7) == 0) {
            ana_queue_drain(&large);
            CHECK(larges.items == n && others.items == n, "%llu and %llu of %llu", (unsigned long long)larges.items,
                  (unsigned long long)others.items, (unsigned long long)n);
        }
    }
    ana_queue_drain(&small);
    ana_queue_drain(&large);
    ana_queue_drain(&large); /* drains an empty one */
    CHECK(larges.items == n && others.items == n && smalls.items == m, "%u threads, seed %llu: all are taken", threads,
          (unsigned long long)seed);
    CHECK(!larges.wrong && !others.wrong && !smalls.wrong, "%u threads, seed %llu", threads, (unsigned long long)seed);
    ana_queue_close(&large);
    ana_queue_close(&small);
    ana_thread_pool_free(thread_pool);
}

/* Closed with blocks under way; others are not kept from going on. */
static void close_early(void)
{
    struct ana_thread_pool *thread_pool = ana_thread_pool_new(1);
    struct ana_queue queue[ANA_THREAD_POOL_QUEUES + 1];
    struct taken taken[ANA_THREAD_POOL_QUEUES + 1] = {0};
    for (unsigned i = 0; i <= ANA_THREAD_POOL_QUEUES; i++)
        CHECK(ana_queue_open(&queue[i], thread_pool, sizeof(struct item), take, &taken[i]),
              "one more than there is room for");
    for (uint64_t n = 0; n < 20000; n++)
        for (unsigned i = 0; i <= ANA_THREAD_POOL_QUEUES; i++)
            ((struct item *)ana_queue_room(&queue[i], sizeof(struct item)))->number = n;
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++)
        ana_queue_close(&queue[i]);
    ana_queue_drain(&queue[ANA_THREAD_POOL_QUEUES]);
    CHECK(taken[ANA_THREAD_POOL_QUEUES].items == 20000 && !taken[ANA_THREAD_POOL_QUEUES].wrong);
    ana_queue_close(&queue[ANA_THREAD_POOL_QUEUES]);
    ana_thread_pool_free(thread_pool);
    struct ana_queue none = {0};
    ana_queue_close(&none);
    ana_thread_pool_free(NULL);
}

/* ---- queues that fill queues ------------------------------------------------------------------------------------- */

/* A link of a chain: passes each item on twice. */
struct link {
    struct ana_queue queue, *next; /* NULL: it is the last */
    uint64_t items, wrong;
};

static void hand_on(void *user, const void *items, size_t n)
{
    struct link *link = user;
    const uint64_t *item = items;
    for (size_t i = 0; i < n; i++, link->items++) {
        link->wrong += item[i] != link->items;
        for (uint64_t k = 0; link->next && k < 2; k++)
            *(uint64_t *)ana_queue_room(link->next, sizeof(uint64_t)) = 2 * item[i] + k;
    }
}

/* The largest number of queues, each filled by the reader of the one before: also by one thread, whoever waits. */
static void chain(unsigned threads, uint64_t most)
{
    struct ana_thread_pool *thread_pool = ana_thread_pool_new(threads);
    struct link link[ANA_THREAD_POOL_QUEUES] = {0};
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++) {
        link[i].next = i + 1 < ANA_THREAD_POOL_QUEUES ? &link[i + 1].queue : NULL;
        CHECK(ana_queue_open(&link[i].queue, thread_pool, sizeof(uint64_t), hand_on, &link[i]));
    }
    for (uint64_t n = 0; n < most; n++) {
        *(uint64_t *)ana_queue_room(&link[0].queue, sizeof n) = n;
        if (n % (most / 3) == 1)
            for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++)
                ana_queue_drain(&link[i].queue);
    }
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++) {
        ana_queue_drain(&link[i].queue);
        CHECK(link[i].items == most << i && !link[i].wrong, "%u threads, queue %u: %llu items, %llu wrong", threads, i,
              (unsigned long long)link[i].items, (unsigned long long)link[i].wrong);
    }
    for (unsigned i = 0; i < ANA_THREAD_POOL_QUEUES; i++)
        ana_queue_close(&link[i].queue);
    ana_thread_pool_free(thread_pool);
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

#define PARTS 40u

/* Each part writes where no other does. */
struct work {
    uint32_t times[PARTS];
};

static void count_part(void *user, size_t part)
{
    struct work *work = user;
    work->times[part]++;
}

/* Has some parts done, and looks whether each was, once.  Returns how many were not. */
static uint64_t have_done(struct ana_thread_pool *thread_pool, size_t n)
{
    struct work work = {0};
    uint64_t wrong = 0;
    ana_thread_pool_run(thread_pool, n, count_part, &work);
    for (size_t i = 0; i < PARTS; i++)
        wrong += work.times[i] != (i < n);
    return wrong;
}

/* Takes items, and has parts done for every hundredth. */
struct sharing {
    struct ana_thread_pool *thread_pool;
    uint64_t items, wrong;
};

static void take_and_share(void *user, const void *items, size_t n)
{
    struct sharing *sharing = user;
    const uint64_t *item = items;
    for (size_t i = 0; i < n; i++) {
        sharing->wrong += item[i] != sharing->items++;
        if (item[i] % 100 == 0)
            sharing->wrong += have_done(sharing->thread_pool, item[i] / 100 % PARTS);
    }
}

/* Parts of the caller's, while takers of two queues have parts done, too. */
static void share(unsigned threads, uint64_t seed)
{
    struct ana_thread_pool *thread_pool = ana_thread_pool_new(threads);
    struct sharing sharing[2] = {{.thread_pool = thread_pool}, {.thread_pool = thread_pool}};
    struct ana_queue queue[2];
    uint64_t so_far[2] = {0}, wrong = 0;
    for (int i = 0; i < 2; i++)
        CHECK(ana_queue_open(&queue[i], thread_pool, sizeof(uint64_t), take_and_share, &sharing[i]));
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 2; i++)
            for (uint64_t some = draw(&seed, 3000); some--;)
                *(uint64_t *)ana_queue_room(&queue[i], sizeof(uint64_t)) = so_far[i]++;
        wrong += have_done(thread_pool, draw(&seed, PARTS));
        if (draw(&seed, 5) == 0)
            ana_queue_drain(&queue[draw(&seed, 2)]);
    }
    for (int i = 0; i < 2; i++) {
        ana_queue_drain(&queue[i]);
        CHECK(sharing[i].items == so_far[i], "%u threads: all are taken", threads);
        wrong += sharing[i].wrong;
        ana_queue_close(&queue[i]);
    }
    CHECK(wrong == 0, "%u threads: %llu parts or items wrong", threads, (unsigned long long)wrong);
    ana_thread_pool_free(thread_pool);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (unsigned threads = 0; threads <= 3; threads++)
            fill(threads, seed, 200000);
    close_early();
    for (unsigned threads = 0; threads <= ANA_THREAD_POOL_QUEUES; threads++)
        chain(threads, 200000);
    for (unsigned threads = 0; threads <= 5; threads++)
        share(threads, threads + 1);
    return check_result();
}
