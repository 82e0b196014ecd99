/* Data kept of NCCL's operations: device_rows.c fills it, device_keep.c keeps it; nobody else. */
#ifndef ANA_DEVICE_ROWS_DATA_H
#define ANA_DEVICE_ROWS_DATA_H

#include "trace/gpu/device_impl.h"

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
    struct ana_nccl_hows *hows;
    struct instance *instance;
    size_t arrivals; /* kept of instances */
    struct part *part;
    size_t parts, room, next; /* next: when it is full, the oldest */
    int64_t forgotten_ns;     /* latest end among the parts dropped */
};

#endif
