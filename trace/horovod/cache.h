/* Horovod's response cache, replayed: which tensor is behind which bit.  All ranks change it in the same order, as the
 * rounds tell: a response is put in, a hit is touched, an invalid entry is dropped.  After a cycle with drops the bits
 * are numbered anew, the least recently used first.  Source: Horovod 0.28.1, response_cache.cc. */
#ifndef ANA_HOROVOD_CACHE_H
#define ANA_HOROVOD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_HVD_CAPACITY 1024u /* the default of HOROVOD_CACHE_CAPACITY */
#define ANA_HVD_BITS     4096u /* more than words can carry */
#define ANA_HVD_NO_BIT   UINT32_MAX

struct ana_hvd_cache {
    uint32_t capacity; /* set by the caller; 0: nothing is ever put in */
    uint32_t bits, used;
    bool dropped;                                      /* bits must be numbered anew at the end of this cycle */
    int32_t tensor[ANA_HVD_BITS];                      /* behind a bit; -1 none */
    uint32_t newer[ANA_HVD_BITS], older[ANA_HVD_BITS]; /* bits in order of use; ANA_HVD_NO_BIT at the ends */
    uint32_t newest, oldest;
};

/* Empties a cache and sets how many tensors it holds, ANA_HVD_BITS at most; 0: the cache is off. */
void ana_hvd_cache_init(struct ana_hvd_cache *cache, uint32_t capacity);
/* The bit of a tensor; ANA_HVD_NO_BIT: it is not in the cache. */
uint32_t ana_hvd_cache_bit(const struct ana_hvd_cache *cache, int32_t tensor);
/* Puts a tensor in, as the most recently used; in a full cache it replaces the least recently used one. */
void ana_hvd_cache_put(struct ana_hvd_cache *cache, int32_t tensor);
/* Makes the tensor behind a bit the most recently used; ignored where there is none. */
void ana_hvd_cache_touch(struct ana_hvd_cache *cache, uint32_t bit);
/* Drops the tensor behind a bit; bits are numbered anew at the end of the cycle. */
void ana_hvd_cache_drop(struct ana_hvd_cache *cache, uint32_t bit);
/* Ends a cycle: numbers the bits anew if any was dropped. */
void ana_hvd_cache_end_cycle(struct ana_hvd_cache *cache);
/* Puts a tensor behind a bit that it must have, though its response was not seen. */
void ana_hvd_cache_assume(struct ana_hvd_cache *cache, uint32_t bit, int32_t tensor);

#endif
