#include "interpose/base/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST 6u /* 64 bytes; sizes are powers of two */
#define CLASSES  32u
#define PIECE    ((size_t)256 << 10)

struct piece {
    _Alignas(64) _Atomic size_t used;
};
static _Atomic(struct piece *) current;

/* Blocks that were given back, one stack for each size: the address of the first above TAG_BITS, below it how often the
 * stack was changed.  A block's first word is the address of the next, both in units of 64 bytes. */
#define TAG_BITS 22u
static _Atomic uint64_t spare[CLASSES];

static unsigned class_of(size_t bytes)
{
    unsigned class = SMALLEST;
    while (class < SMALLEST + CLASSES - 1 && ((size_t)1 << class) < bytes)
        class ++;
    return class;
}

static uint64_t pack_head(uint64_t unit, uint64_t head)
{
    return unit << TAG_BITS | ((head + 1) & ((1u << TAG_BITS) - 1));
}

/* Another thread may have taken the block and write to it.  Then the stack has changed, and the value that is read here
 * is not used.  The sanitizer does not know that. */
__attribute__((no_sanitize("thread"))) static uint64_t read_next(const void *block)
{
    return atomic_load_explicit((const _Atomic uint64_t *)block, memory_order_relaxed);
}

static void *pop_block(_Atomic uint64_t *stack)
{
    uint64_t head = atomic_load(stack);
    while (head >> TAG_BITS) {
        void *block = (void *)(uintptr_t)(head >> TAG_BITS << SMALLEST);
        if (atomic_compare_exchange_weak(stack, &head, pack_head(read_next(block), head)))
            return block;
    }
    return NULL;
}

static void *map_memory(size_t bytes)
{
    int kept = errno;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = kept;
    return memory == MAP_FAILED ? NULL : memory;
}

static void *cut_piece(size_t bytes)
{
    for (;;) {
        struct piece *piece = atomic_load(&current);
        size_t at = piece ? atomic_fetch_add(&piece->used, bytes) : PIECE;
        if (at + bytes <= PIECE)
            return (char *)piece + at;
        struct piece *fresh = map_memory(PIECE);
        if (!fresh)
            return NULL;
        atomic_store(&fresh->used, sizeof *fresh);
        if (!atomic_compare_exchange_strong(&current, &piece, fresh))
            munmap(fresh, PIECE);
    }
}

void *ipo_arena_get(size_t bytes)
{
    unsigned class = class_of(bytes);
    size_t size = (size_t)1 << class;
    if (size < bytes)
        return NULL;
    void *block = pop_block(&spare[class - SMALLEST]);
    if (block)
        return memset(block, 0, size);
    return size <= PIECE / 4 ? cut_piece(size) : map_memory(size);
}

void ipo_arena_release(void *memory, size_t bytes)
{
    if (!memory)
        return;
    _Atomic uint64_t *stack = &spare[class_of(bytes) - SMALLEST];
    uint64_t head = atomic_load(stack);
    do
        atomic_store_explicit((_Atomic uint64_t *)memory, head >> TAG_BITS, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(stack, &head, pack_head((uintptr_t)memory >> SMALLEST, head)));
}
