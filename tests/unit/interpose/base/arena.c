/* The recorder's memory: blocks are zeroed, aligned and nobody else's, for sizes of all classes, and where several
 * threads take them and give back each other's. */
#include "interpose/base/arena.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HELD = 300, STEPS = 60000, THREADS = 4, MAILBOXES = 64 };

struct block {
    uint64_t *words;
    size_t bytes;
    uint64_t mark; /* value of all its words */
};

/* Mostly small ones, some larger than a piece of the arena. */
static size_t draw_size(uint64_t *state)
{
    static const uint32_t most[] = {8, 64, 200, 1000, 5000, 70000, 300000};
    uint64_t kind = draw(state, 100);
    return 8 * (2 + draw(state, most[kind < 97 ? kind % 5 : kind < 99 ? 5 : 6] / 8));
}

static struct block take(uint64_t *state, uint64_t mark)
{
    struct block block = {.bytes = draw_size(state), .mark = mark};
    block.words = ipo_arena_get(block.bytes);
    CHECK(block.words && (uintptr_t)block.words % 64 == 0, "%zu bytes at %p", block.bytes, (void *)block.words);
    uint64_t seen = 0;
    for (size_t i = 0; i < block.bytes / 8; i++) {
        seen |= block.words[i];
        block.words[i] = mark;
    }
    CHECK(!seen, "%zu bytes are not zero", block.bytes);
    return block;
}

static void give(const struct block *block)
{
    uint64_t differ = 0;
    for (size_t i = 0; i < block->bytes / 8; i++)
        differ |= block->words[i] ^ block->mark;
    CHECK(!differ, "a block of %zu bytes was another's, too", block->bytes);
    ipo_arena_release(block->words, block->bytes);
}

static void check_random(void)
{
    static struct block held[HELD];
    uint64_t state = 5;
    for (uint64_t step = 1; step <= STEPS; step++) {
        struct block *block = &held[draw(&state, HELD)];
        if (block->words)
            give(block);
        *block = block->words ? (struct block){0} : take(&state, step);
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i].words)
            give(&held[i]);
}

/* Freed blocks are used again: a program that makes and frees for hours needs no more than it had at once. */
static void check_reuse(void)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < 100000; i++) {
        void *block = ipo_arena_get(4000);
        low = (uintptr_t)block < low ? (uintptr_t)block : low;
        high = (uintptr_t)block > high ? (uintptr_t)block : high;
        ipo_arena_release(block, 4000);
    }
    CHECK(high - low < 65536, "100000 blocks, one at a time, lie within %zu bytes", (size_t)(high - low));
    CHECK(!ipo_arena_get(SIZE_MAX / 2 + 2), "more than there can be");
    ipo_arena_release(NULL, 64);
}

/* A block that a thread has taken and left for any other to give back.  Its first words describe its content. */
static _Atomic(uint64_t *) mailbox[MAILBOXES];

static void *trade(void *argument)
{
    uint64_t state = 1 + (uintptr_t)argument;
    for (uint64_t step = 0; step < STEPS / 4; step++) {
        struct block block = take(&state, (uint64_t)(uintptr_t)argument << 32 | step);
        block.words[0] = block.bytes;
        uint64_t *others = atomic_exchange(&mailbox[draw(&state, MAILBOXES)], block.words);
        if (!others)
            continue;
        block = (struct block){.words = others, .bytes = others[0], .mark = others[1]};
        others[0] = block.mark;
        give(&block);
    }
    return NULL;
}

/* All want blocks of one size, two at a time, and give them back in the other order: the stack of spare ones comes to
 * the same top again and again, above another second. */
static void *contend(void *argument)
{
    for (uint64_t step = 0; step < 8 * STEPS; step++) {
        uint64_t *pair[2];
        for (unsigned i = 0; i < 2; i++) {
            pair[i] = ipo_arena_get(64);
            pair[i][1] += (uintptr_t)argument + 1;
        }
        bool own = pair[0] != pair[1];
        for (unsigned i = 0; i < 2; i++)
            own &= pair[i][1] == (uintptr_t)argument + 1;
        CHECK(own, "a block was given to two at once");
        if (!own)
            break;
        ipo_arena_release(pair[0], 64);
        ipo_arena_release(pair[1], 64);
    }
    return NULL;
}

static void run_threads(void *(*what)(void *))
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, what, (void *)i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    check_random();
    check_reuse();
    run_threads(trade);
    run_threads(contend);
    return check_result();
}
