/* What is kept of NCCL's operations: device_rows.c fills it, device_keep.c keeps it; nobody else. */
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
    uint32_t rank, comm; /* who called first, and its number for the communicator; 0: nobody did, or none is known */
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
    int64_t first_end_ns;             /* of the kernels that have come */
    struct ana_nccl_arrival *arrival; /* `size` of them; NULL: who waited is not looked for */
};

/* What a row is made of, in the order in which it became known. */
enum part_kind { PART_CALL, PART_KERNEL, PART_MESSAGE, PART_INSTANCE };
struct part {
    int64_t at_ns; /* a call's begin, the end of what is a kernel's */
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
    int64_t forgotten_ns;     /* end of what is no longer among them */
};

#endif
