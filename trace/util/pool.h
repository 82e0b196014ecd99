/* Nodes that come and go by the million: a pool that gives them memory, and a table that finds them by a key of three
 * integers.  Unlike ana_map (map.h) nodes never move and can be taken out. */
#ifndef ANA_NODES_H
#define ANA_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_pool {
    size_t size;  /* of one item; at least a pointer */
    size_t taken; /* items in use */
    void *free;   /* list through the items' first pointers */
    void *blocks; /* list through the blocks' first pointers */
};

static inline void ana_pool_init(struct ana_pool *pool, size_t size)
{
    *pool = (struct ana_pool){.size = size};
}
void ana_pool_free(struct ana_pool *pool); /* all items at once */
bool ana_pool_grow(struct ana_pool *pool);

/* An item, not cleared; NULL: out of memory. */
static inline void *ana_pool_take(struct ana_pool *pool)
{
    if (!pool->free && !ana_pool_grow(pool))
        return NULL;
    void **item = pool->free;
    pool->free = *item;
    pool->taken++;
    return item;
}
static inline void ana_pool_give(struct ana_pool *pool, void *item)
{
    *(void **)item = pool->free;
    pool->free = item;
    pool->taken--;
}

/* First member of whatever is kept in a table. */
struct ana_node {
    struct ana_node *next;
    uint64_t a, b, c;
};

/* Zeros are an empty table. */
struct ana_table {
    struct ana_node **bucket;
    size_t buckets; /* 0 or a power of two */
    size_t count;
};

void ana_table_free(struct ana_table *table); /* not the nodes */
/* Puts in a node whose key is set.  False: out of memory. */
bool ana_table_add(struct ana_table *table, struct ana_node *node);
void ana_table_remove(struct ana_table *table, struct ana_node *node);
/* Takes out the node put in last with this key; NULL: there is none. */
struct ana_node *ana_table_take(struct ana_table *table, uint64_t a, uint64_t b, uint64_t c);
/* The node put in last with this key, or NULL. */
struct ana_node *ana_table_find(const struct ana_table *table, uint64_t a, uint64_t b, uint64_t c);

/* All nodes in no particular order: ana_table_next(table, NULL) is the first.  To remove while walking, ask for the
 * next one before. */
struct ana_node *ana_table_next(const struct ana_table *table, const struct ana_node *node);

#endif
