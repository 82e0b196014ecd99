/* Memory for equal-sized items that come and go by the million.  An item never moves.  One thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_pool {
    size_t size;  /* bytes of one item; at least a pointer */
    size_t taken; /* items in use */
    void *free;   /* list through the items' first pointers */
    void *blocks; /* list through the blocks' first pointers */
};

/* An empty pool of items of `size` bytes; allocates nothing. */
static inline void ana_pool_init(struct ana_pool *pool, size_t size)
{
    *pool = (struct ana_pool){.size = (size + 7) / 8 * 8}; /* each begins where a pointer may */
}
/* Frees all items at once, taken ones too.  Leaves an empty pool, which can be used again. */
void ana_pool_free(struct ana_pool *pool);
/* Makes room for at least one more item.  False: out of memory. */
bool ana_pool_grow(struct ana_pool *pool);

/* An item, not cleared, until it is given back; NULL: out of memory. */
static inline void *ana_pool_alloc(struct ana_pool *pool)
{
    if (!pool->free && !ana_pool_grow(pool))
        return NULL;
    void **item = pool->free;
    pool->free = *item;
    pool->taken++;
    return item;
}
/* Frees back an item of this pool. */
static inline void ana_pool_free_item(struct ana_pool *pool, void *item)
{
    *(void **)item = pool->free;
    pool->free = item;
    pool->taken--;
}
