/* Table of device operations, a part of the file (format.h): the state of each NCCL operation of the process, from
 * when the process was last alive.  One chunk of kind TRC_CHUNK_GPU, made with the first communicator:
 *
 *   trc_chunk | trc_gpu_head | trc_gpu_op x TRC_GPU_OPS | unused
 *
 * A slot is taken when an operation is called and written in place from then on, by plain stores, the state last.
 * Operations that are over give their slots to new ones, oldest first; one that is not over never does, so a hung
 * one is here however long ago it began.  `number` is 0 while a slot changes hands. */
#pragma once

#include <stdint.h>

#define TRC_GPU_OPS 1024u

/* States in their order; an operation never goes back. */
enum trc_gpu_state {
    TRC_GPU_FREE = 0,
    TRC_GPU_CALLED = 1,    /* the call has begun, or has returned within a group that has not ended */
    TRC_GPU_ENQUEUED = 2,  /* work is on the stream */
    TRC_GPU_STARTED = 3,   /* the stream has come to it */
    TRC_GPU_COMPLETED = 4, /* state of success; this and all after it: over */
    TRC_GPU_ABORTED = 5,   /* ncclCommAbort, ncclCommRevoke or cudaDeviceReset before it was seen to be complete */
    TRC_GPU_FAILED = 6,    /* the call, or what launched it, returned an error: `result`.  Nothing is on the stream */
    TRC_GPU_CAPTURED = 7   /* it went into a graph: what becomes of it there is not known here */
};

enum trc_gpu_flag {
    TRC_GPU_BLIND = 1u << 0,       /* no further than ENQUEUED is anything known of it: it counts as over */
    TRC_GPU_BY_EVENTS = 1u << 1,   /* started and completed are from events: when they were seen, some ms late */
    TRC_GPU_BY_PLUGIN = 1u << 2,   /* started and completed are from NCCL itself */
    TRC_GPU_APPROXIMATE = 1u << 3, /* the launch went on after the call had returned (non-blocking communicators), or
                                    * another thread said a state later, when it was free to: times are rough */
    TRC_GPU_GROUPED = 1u << 4,     /* launched together with others of its group: their times are shared */
    TRC_GPU_MESSAGE = 1u << 5, /* Send or Recv: `root` is the peer, `sequence` counts those with it in this direction */
    TRC_GPU_ASYNC_ERROR = 1u << 6, /* not an operation: ncclCommGetAsyncError said `result`, once for a communicator */
};

#define TRC_GPU_OP_NONE 255u /* no reduction */
#define TRC_GPU_OP_OWN  254u /* one that the program made (PreMulSum) */

/* Times are ticks, 0: not yet. */
#define TRC_GPU_FIELDS(FIELD)                                                                                          \
    FIELD(uint64_t, number)   /* number of the operation in this process, from 1; 0: the slot says nothing */          \
    FIELD(uint64_t, sequence) /* number of a collective on its communicator, equal on all ranks, as in its event */    \
    FIELD(uint64_t, count)    /* caller's count */                                                                     \
    FIELD(uint64_t, bytes)    /* count x size; TRC_BYTES_UNKNOWN */                                                    \
    FIELD(uint64_t, stream)   /* the handle */                                                                         \
    FIELD(uint64_t, group)    /* launch group: equal for what one outermost ncclGroupEnd launched */                   \
    FIELD(uint64_t, site)     /* return address in the caller */                                                       \
    FIELD(uint64_t, called)                                                                                            \
    FIELD(uint64_t, enqueued)                                                                                          \
    FIELD(uint64_t, started)                                                                                           \
    FIELD(uint64_t, ended)          /* completed, aborted, failed or captured */                                       \
    FIELD(uint32_t, comm)           /* TRC_DEF_COMM id */                                                              \
    FIELD(uint32_t, call)           /* TRC_DEF_CALL id */                                                              \
    FIELD(int32_t, root)            /* root or peer, a rank of the communicator; -1 none */                            \
    FIELD(int32_t, result)          /* FAILED, ASYNC_ERROR: ncclResult_t */                                            \
    FIELD(uint16_t, thread)         /* index of its live page */                                                       \
    FIELD(uint8_t, type)            /* ncclDataType_t; 255 none */                                                     \
    FIELD(uint8_t, op)              /* ncclRedOp_t or one of the above */                                              \
    FIELD(uint8_t, state)           /* enum trc_gpu_state */                                                           \
    FIELD(uint8_t, flags)           /* enum trc_gpu_flag */                                                            \
    FIELD(uint16_t, channels_begun) /* plugin's count: parts of its kernel that have begun and ended */                \
    FIELD(uint16_t, channels_ended)                                                                                    \
    FIELD(uint16_t, reserved)                                                                                          \
    FIELD(uint32_t, correlation) /* number of its kernel, from CUPTI */                                                \
    FIELD(uint64_t, order)       /* earlier operations of any kind of this process on the communicator */

struct trc_gpu_op {
#define FIELD(type, name) type name;
    TRC_GPU_FIELDS(FIELD)
#undef FIELD
};

enum trc_gpu_watch {
    TRC_GPU_WATCH_NONE = 0,    /* no driver: nothing is known beyond ENQUEUED */
    TRC_GPU_WATCH_EVENTS = 1,  /* events of the driver */
    TRC_GPU_WATCH_STOPPED = 2, /* driver was there, but refused: `error` */
};

struct trc_gpu_head {
    uint64_t begun;        /* operations that were given a number */
    uint64_t lost;         /* operations without a slot: all were taken by operations that are not over */
    uint64_t rounds;       /* rounds of the watching thread, which asks the driver */
    uint64_t round_ticks;  /* time of its last return from asking */
    uint64_t inside_since; /* it is inside a call of the driver since then; 0: it is not */
    uint32_t watch;        /* enum trc_gpu_watch */
    int32_t error;         /* CUresult */
    uint32_t slot_size;    /* bytes; readers step by it */
    uint32_t slots;
    uint64_t reserved;
};

_Static_assert(sizeof(struct trc_gpu_op) == 128, "operation");
_Static_assert(sizeof(struct trc_gpu_head) == 64, "head of the operations");
