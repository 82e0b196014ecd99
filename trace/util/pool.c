#include "trace/util/pool.h"
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536

bool ana_pool_grow(struct ana_pool *pool)
{
    size_t head = sizeof(max_align_t), n = (BLOCK_BYTES - head) / pool->size;
    char *block = malloc(head + n * pool->size);
    if (!block)
        return false;
    *(void **)block = pool->blocks;
    pool->blocks = block;
    for (size_t i = n; i-- > 0;) { /* so that they are taken in order of address */
        void **item = (void **)(block + head + i * pool->size);
        *item = pool->free;
        pool->free = item;
    }
    return true;
}

void ana_pool_free(struct ana_pool *pool)
{
    while (pool->blocks) {
        void *next = *(void **)pool->blocks;
        free(pool->blocks);
        pool->blocks = next;
    }
    ana_pool_init(pool, pool->size);
}

static size_t hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32) ^ c) * 0xd6e8feb86659fd93u;
    return (size_t)(h ^ (h >> 32));
}

static struct ana_node **bucket_of(const struct ana_table *table, uint64_t a, uint64_t b, uint64_t c)
{
    return &table->bucket[hash(a, b, c) & (table->buckets - 1)];
}

static bool grow(struct ana_table *table)
{
    struct ana_table bigger = {.buckets = table->buckets ? table->buckets * 4 : 64};
    bigger.bucket = calloc(bigger.buckets, sizeof *bigger.bucket);
    if (!bigger.bucket)
        return table->buckets > 0; /* longer chains do too */
    for (size_t i = 0; i < table->buckets; i++) {
        for (struct ana_node *node = table->bucket[i], *next; node; node = next) {
            next = node->next;
            struct ana_node **end = bucket_of(&bigger, node->a, node->b, node->c);
            while (*end) /* the order of equal keys stays */
                end = &(*end)->next;
            node->next = NULL;
            *end = node;
        }
    }
    free(table->bucket);
    table->bucket = bigger.bucket;
    table->buckets = bigger.buckets;
    return true;
}

void ana_table_free(struct ana_table *table)
{
    free(table->bucket);
    *table = (struct ana_table){0};
}

bool ana_table_add(struct ana_table *table, struct ana_node *node)
{
    if (table->count >= table->buckets && !grow(table))
        return false;
    struct ana_node **bucket = bucket_of(table, node->a, node->b, node->c);
    node->next = *bucket;
    *bucket = node;
    table->count++;
    return true;
}

void ana_table_remove(struct ana_table *table, struct ana_node *node)
{
    struct ana_node **at = bucket_of(table, node->a, node->b, node->c);
    while (*at && *at != node)
        at = &(*at)->next;
    if (*at) {
        *at = node->next;
        table->count--;
    }
}

struct ana_node *ana_table_take(struct ana_table *table, uint64_t a, uint64_t b, uint64_t c)
{
    if (table->count == 0)
        return NULL;
    struct ana_node **at = bucket_of(table, a, b, c), *node = *at;
    for (; node && (node->a != a || node->b != b || node->c != c); node = *at)
        at = &node->next;
    if (node) {
        *at = node->next;
        table->count--;
    }
    return node;
}

struct ana_node *ana_table_find(const struct ana_table *table, uint64_t a, uint64_t b, uint64_t c)
{
    if (table->count == 0)
        return NULL;
    struct ana_node *node = *bucket_of(table, a, b, c);
    while (node && (node->a != a || node->b != b || node->c != c))
        node = node->next;
    return node;
}

struct ana_node *ana_table_next(const struct ana_table *table, const struct ana_node *node)
{
    if (node && node->next)
        return node->next;
    size_t i = node ? (size_t)(bucket_of(table, node->a, node->b, node->c) - table->bucket) + 1 : 0;
    for (; i < table->buckets; i++)
        if (table->bucket[i])
            return table->bucket[i];
    return NULL;
}
