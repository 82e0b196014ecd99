#include "trace/horovod/wires.h"

void ana_hvd_cache_init(struct ana_hvd_cache *cache, uint32_t capacity)
{
    cache->capacity = capacity < ANA_HVD_BITS ? capacity : ANA_HVD_BITS;
    cache->bits = cache->used = 0;
    cache->dropped = false;
    cache->newest = cache->oldest = ANA_HVD_NO_BIT;
}

uint32_t ana_hvd_cache_bit(const struct ana_hvd_cache *cache, int32_t tensor)
{
    for (uint32_t b = 0; b < cache->bits; b++)
        if (cache->tensor[b] == tensor)
            return b;
    return ANA_HVD_NO_BIT;
}

static void remove_entry(struct ana_hvd_cache *cache, uint32_t b)
{
    uint32_t newer = cache->newer[b], older = cache->older[b];
    *(newer == ANA_HVD_NO_BIT ? &cache->newest : &cache->older[newer]) = older;
    *(older == ANA_HVD_NO_BIT ? &cache->oldest : &cache->newer[older]) = newer;
}

static void put_first(struct ana_hvd_cache *cache, uint32_t b)
{
    cache->newer[b] = ANA_HVD_NO_BIT;
    cache->older[b] = cache->newest;
    *(cache->newest == ANA_HVD_NO_BIT ? &cache->oldest : &cache->newer[cache->newest]) = b;
    cache->newest = b;
}

void ana_hvd_cache_touch(struct ana_hvd_cache *cache, uint32_t bit)
{
    if (bit >= cache->bits || cache->tensor[bit] < 0)
        return;
    remove_entry(cache, bit);
    put_first(cache, bit);
}

void ana_hvd_cache_put(struct ana_hvd_cache *cache, int32_t tensor)
{
    uint32_t bit = ana_hvd_cache_bit(cache, tensor);
    if (bit != ANA_HVD_NO_BIT) {
        ana_hvd_cache_touch(cache, bit);
        return;
    }
    if (cache->capacity == 0)
        return;
    if (cache->used >= cache->capacity) { /* the least recently used one is replaced */
        bit = cache->oldest;
        remove_entry(cache, bit);
    } else if (cache->bits < ANA_HVD_BITS) {
        bit = cache->bits++;
        cache->used++;
    } else {
        return;
    }
    cache->tensor[bit] = tensor;
    put_first(cache, bit);
}

void ana_hvd_cache_drop(struct ana_hvd_cache *cache, uint32_t bit)
{
    if (bit >= cache->bits || cache->tensor[bit] < 0)
        return;
    remove_entry(cache, bit);
    cache->tensor[bit] = -1;
    cache->used--;
    cache->dropped = true;
}

void ana_hvd_cache_end_cycle(struct ana_hvd_cache *cache)
{
    if (!cache->dropped)
        return;
    int32_t kept[ANA_HVD_BITS];
    uint32_t n = 0;
    for (uint32_t b = cache->oldest; b != ANA_HVD_NO_BIT; b = cache->newer[b])
        kept[n++] = cache->tensor[b];
    ana_hvd_cache_init(cache, cache->capacity);
    for (uint32_t b = 0; b < n; b++) {
        cache->tensor[b] = kept[b];
        put_first(cache, b);
    }
    cache->bits = cache->used = n;
}

void ana_hvd_cache_assume(struct ana_hvd_cache *cache, uint32_t bit, int32_t tensor)
{
    if (bit >= ANA_HVD_BITS)
        return;
    for (; cache->bits <= bit; cache->bits++)
        cache->tensor[cache->bits] = -1;
    if (cache->tensor[bit] >= 0)
        return;
    cache->tensor[bit] = tensor;
    cache->used++;
    put_first(cache, bit);
}
