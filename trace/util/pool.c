#include "trace/util/pool.h"
#include <stdlib.h>

#define BLOCK_BYTES 65536
#define LINE        64u /* line of a cache: items of whole lines begin with one */

bool ana_pool_grow(struct ana_pool *pool)
{
    size_t head = LINE, n = (BLOCK_BYTES - head) / pool->size;
    char *block = aligned_alloc(LINE, BLOCK_BYTES);
    if (!block)
        return false;
    *(void **)block = pool->blocks;
    pool->blocks = block;
    for (size_t i = n; i-- > 0;) { /* makes consumers get them in order of address */
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
