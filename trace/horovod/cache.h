/* Horovod's response cache, replayed: which tensor is behind which bit.  All ranks change it in the same order, by what
 * the rounds say: an answer is put in, a hit is touched, an invalid entry dropped; after a cycle with drops the bits
 * are numbered anew, the least recently used first.  Source: Horovod 0.28.1, response_cache.cc. */
#ifndef ANA_HOROVOD_CACHE_H
#define ANA_HOROVOD_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANA_HVD_CAPACITY 1024u /* unless HOROVOD_CACHE_CAPACITY says otherwise */
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

void ana_hvd_cache_init(struct ana_hvd_cache *cache, uint32_t capacity);
/* The bit of a tensor; ANA_HVD_NO_BIT if it is not there. */
uint32_t ana_hvd_cache_bit(const struct ana_hvd_cache *cache, int32_t tensor);
void ana_hvd_cache_put(struct ana_hvd_cache *cache, int32_t tensor);
void ana_hvd_cache_touch(struct ana_hvd_cache *cache, uint32_t bit);
void ana_hvd_cache_drop(struct ana_hvd_cache *cache, uint32_t bit);
void ana_hvd_cache_end_cycle(struct ana_hvd_cache *cache);
/* A tensor that must be behind a bit though its answer was not seen. */
void ana_hvd_cache_assume(struct ana_hvd_cache *cache, uint32_t bit, int32_t tensor);

#endif
