/* Data kept of kernels and copies, and of NCCL's operations: for the files of this folder. */
#pragma once

#include "trace/gpu/device_impl.h"
#include "trace/sums/timeline.h"
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

/* Matches of calls with kernels. */
struct ana_gpu_match {
    struct ana_map queues; /* rank index, stream number */
    struct ana_map groups; /* rank index, thread: struct list of struct pending */
    struct ana_nccl_rows *rows;
    uint64_t unmatched;
    size_t waiting; /* most entries in one queue */
};

/* ---- NCCL's operations ------------------------------------------------------------------------------------------- */

#define ANA_NCCL_NEWEST 1048576 /* parts that are kept for time ranges */

struct sums {
    uint64_t calls, bytes, timed, timed_bytes;
    bool unknown_bytes;
    int64_t kernel_ns, transfer_ns;
};
struct row {
    uint32_t call;
    uint32_t rank, comm; /* first caller, and its number for the communicator; 0: nobody did, or none is known */
    uint16_t size_class;
    int32_t size;
    struct sums sum;
    struct ana_times_small transfer, skew;
};

struct instance { /* identity 0: free */
    uint64_t identity, sequence, bytes;
    uint32_t call, arrivals;
    uint16_t size_class;
    int32_t size;
    int64_t shortest_ns, longest_ns;
    int64_t first_end_ns;             /* earliest end among the kernels that have come */
    struct ana_nccl_arrival *arrival; /* `size` arrivals; NULL: waiting is not measured */
};

/* Parts of a row's sums, in the order in which they became known. */
enum part_kind { PART_CALL, PART_KERNEL, PART_MESSAGE, PART_INSTANCE };
struct part {
    int64_t at_ns; /* begin of a call, end of a kernel */
    int64_t ns, skew_ns;
    uint64_t bytes;
    uint32_t row, index;
    enum part_kind kind;
    uint32_t unused; /* 0: no byte of it is left to chance */
};

struct ana_nccl_rows {
    struct ana_map rows;    /* communicator, call, size class */
    struct ana_map by_rank; /* row, rank index: struct sums */
    struct ana_map pairs;   /* rank indices: struct ana_nccl_pair */
    struct ana_nccl_hows hows;
    struct instance *instance;
    size_t arrivals; /* kept of instances */
    struct part *part;
    size_t parts, room, next; /* next: when it is full, the oldest */
    int64_t forgotten_ns;     /* latest end among the parts dropped */
};
