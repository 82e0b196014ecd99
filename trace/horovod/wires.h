/* Lists and the response cache of Horovod, as its processes exchange them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Horovod's lists of requests and responses, as they lie on the wire: FlatBuffers.  Hostile, torn and cut-off bytes
 * give fewer entries, never a bad access.
 * Source of the layout: FlatBuffers' binary format; of the fields: Horovod 0.28.1, wire/message_generated.h. */

#define ANA_HVD_ERROR 8 /* a response that says why a tensor cannot be reduced */

/* A request, or one tensor of a response. */
struct ana_hvd_entry {
    int op; /* enum ana_hvd_op; of a response also ANA_HVD_ERROR */
    int dtype;
    const char *name; /* not terminated; inside the bytes */
    size_t name_size;
    uint64_t elements;    /* 0 unknown */
    int32_t root;         /* requests for a broadcast */
    int reduction;        /* requests; 0: the default */
    const uint8_t *shape; /* requests: `dimensions` values, 8 bytes each, not aligned */
    size_t dimensions;
    size_t devices; /* responses: number of ranks addressed */
    const char *error;
    size_t error_size;
};
typedef void ana_hvd_add(void *user, const struct ana_hvd_entry *entry);

/* Calls `take` for each request, in order.  False: the bytes are no such list.  *shutdown: the list asks to leave. */
bool ana_hvd_requests(const uint8_t *bytes, size_t size, ana_hvd_add *take, void *user, bool *shutdown);
/* Calls `take` for each tensor of each response, in order.  False: the bytes are no such list.  *shutdown: the list
 * asks all to leave. */
bool ana_hvd_responses(const uint8_t *bytes, size_t size, ana_hvd_add *take, void *user, bool *shutdown);

/* Horovod's response cache, replayed: which tensor is behind which bit.  All ranks change it in the same order, as the
 * rounds tell: a response is put in, a hit is touched, an invalid entry is dropped.  After a cycle with drops the bits
 * are numbered anew, the least recently used first.  Source: Horovod 0.28.1, response_cache.cc. */

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
