/* Horovod's lists of requests and responses, as they lie on the wire: FlatBuffers.  Hostile, torn and cut-off bytes
 * give fewer entries, never a bad access.
 * Source of the layout: FlatBuffers' binary format; of the fields: Horovod 0.28.1, wire/message_generated.h. */
#ifndef ANA_HOROVOD_WIRE_H
#define ANA_HOROVOD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
typedef void ana_hvd_take(void *user, const struct ana_hvd_entry *entry);

/* Calls `take` for each request, in order.  False: the bytes are no such list.  *shutdown: the list asks to leave. */
bool ana_hvd_requests(const uint8_t *bytes, size_t size, ana_hvd_take *take, void *user, bool *shutdown);
/* Calls `take` for each tensor of each response, in order.  False: the bytes are no such list.  *shutdown: the list
 * asks all to leave. */
bool ana_hvd_responses(const uint8_t *bytes, size_t size, ana_hvd_take *take, void *user, bool *shutdown);

#endif
