/* Data kept of kernels and copies: device.c fills it, device_look.c and device_streams.c read it, device_keep.c keeps
 * it; nobody else. */
#ifndef ANA_DEVICE_DATA_H
#define ANA_DEVICE_DATA_H

#include "trace/gpu/device.h"
#include "trace/job/timeline.h"
#include "trace/util/hash_map.h"
#include "trace/util/spans.h"
#include "trace/util/times.h"

#define ANA_STREAM_WIDTH_NS 65536 /* finest bucket over time; as of ranks */

/* `most`, or as much less as gives each of `shares` its part of `all`. */
static inline size_t ana_bounded_share(size_t most, size_t all, size_t shares)
{
    while (most > 256 && most * shares > all)
        most /= 2;
    return most;
}
/* Returns the number of spans kept of each GPU of a job of `ranks` ranks. */
static inline size_t ana_device_spans(size_t ranks)
{
    return ana_bounded_share(65536, 1048576, ranks);
}
/* Buckets over time of each stream. */
static inline size_t ana_stream_buckets(size_t ranks)
{
    return ana_bounded_share(8192, 1048576, ranks * 4);
}

/* Over all ranks, by its name. */
struct kernel {
    char *name;
    bool nccl;
    size_t ranks, last_index;
    struct ana_times_small times;
};
/* Calls and times of a kernel on one rank. */
struct share {
    uint64_t calls;
    int64_t total_ns, min_ns, max_ns;
    struct ana_times_small *times; /* NULL: beyond DISTRIBUTIONS, or of a time range */
};
struct device {
    struct ana_mix mix;
    uint64_t kernels, copies, to_device, from_device, other;
};
struct stream {
    struct ana_stream of;
    uint32_t thread, number;
    bool known;
    struct ana_lane lane; /* none of a range's */
};

struct ana_devices {
    size_t ranks;
    struct ana_map kernels;    /* hash of the name */
    struct ana_map kernel_ids; /* rank index, id in its file -> uint32_t into kernels, + 1 */
    struct ana_map ran;        /* kernel, rank index: struct share */
    struct ana_map devices;    /* rank index, device */
    struct ana_map streams;    /* rank index, thread */
    uint64_t *order;           /* keys of streams: rank index, thread */
    size_t ordered;
    struct ana_gpu_match *match; /* NULL: of a time range */
    int64_t begin_ns, end_ns;    /* bounds of the range */
};

#endif
