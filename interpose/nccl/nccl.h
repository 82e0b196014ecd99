/* NCCL: the call table (nccl_calls.def), its real functions, and the record path of its calls.  Handles, streams and
 * configurations travel as machine words; no header of NCCL or CUDA is needed. */
#pragma once

#include "interpose/cuda/device.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/record.h"
#include "interpose/nccl/roles.h"

enum ipo_nccl_id {
#define NCCL(arity, name, how, opclass, moves, roles)    IPO_NCCL_##name,
#define NCCL_ID(arity, name, how, opclass, moves, roles) IPO_NCCL_##name,
#define NCCL_ASYNC                                       NCCL_ID
#include "interpose/nccl/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
#undef NCCL_ASYNC
    IPO_NCCL_CALLS
};

/* Number of a call in the file: behind the device calls. */
#define IPO_NCCL_NUMBER(id) (IPO_DEVICE_NUMBER(IPO_DEVICE_CALLS) + (uint32_t)(id))

/* Class of the rows that are wrapped and never recorded. */
#define TRC_OP_LOOK (TRC_OP_PASS + 1)

enum ipo_nccl_moves {
    IPO_MOVES_NONE,
    IPO_MOVES_ALLREDUCE,
    IPO_MOVES_BROADCAST,
    IPO_MOVES_REDUCE,
    IPO_MOVES_ALLGATHER,
    IPO_MOVES_REDUCE_SCATTER,
    IPO_MOVES_ALLTOALL,
    IPO_MOVES_GATHER,
    IPO_MOVES_SCATTER,
    IPO_MOVES_SEND,
    IPO_MOVES_RECV
};

/* The roles of a data call, for ipo_nccl_call.at.  A role that the call does not have is behind its last argument,
 * where the array of arguments has a 0. */
enum { IPO_AT_COUNT, IPO_AT_TYPE, IPO_AT_OP, IPO_AT_ROOT, IPO_AT_PEER, IPO_AT_COMM, IPO_AT_STREAM, IPO_ATS };

/* One row of the call table. */
struct ipo_nccl_call {
    const char *name;  /* "ncclAllReduce" */
    const char *roles; /* an enum ipo_nccl_role for each argument */
    uint8_t opclass;   /* enum trc_opclass, TRC_OP_PASS or TRC_OP_LOOK */
    uint8_t moves;     /* enum ipo_nccl_moves */
    uint8_t arity;
    uint8_t at[IPO_ATS]; /* positions of the roles */
    bool exported;
};
extern IPO_OURS const struct ipo_nccl_call ipo_nccl_calls[IPO_NCCL_CALLS];
/* Whether the call puts work on a stream. */
static inline bool ipo_nccl_is_data(enum ipo_nccl_id id)
{
    return trc_opclass_is((enum trc_opclass)ipo_nccl_calls[id].opclass, TRC_FACT_ENQUEUES);
}

/* A process may have several NCCLs (a framework's, a module's): a communicator of one must never reach another.  So
 * each has wrappers of its own. */
#define IPO_NCCL_COPIES 3u
struct ipo_nccl_copy {
    ipo_function real[IPO_NCCL_CALLS]; /* NULL where this NCCL lacks it */
    const void *base, *end;            /* bounds of the object that defines it */
    char object[1024];                 /* file name of the object */
    int version;                       /* value of NCCL_VERSION_CODE, 22809; 0: not known */
};
extern IPO_OURS struct ipo_nccl_copy ipo_nccl_copies[IPO_NCCL_COPIES];
extern IPO_OURS const ipo_function ipo_nccl_wrapper[IPO_NCCL_COPIES][IPO_NCCL_CALLS]; /* NULL for PASS rows */

/* What gives rank and size where neither MPI nor the environment does. */
#define IPO_NCCL_ALONE "from the first NCCL communicator"

/* ncclResult_t, as far as it matters here. */
enum { IPO_NCCL_SUCCESS = 0, IPO_NCCL_SYSTEM_ERROR = 2, IPO_NCCL_IN_PROGRESS = 7 };

/* ---- calls.c */

/* The first argument of `call` with this role; 0 where the call has no such argument. */
uintptr_t ipo_nccl_arg(const struct ipo_nccl_call *call, const uintptr_t *args, enum ipo_nccl_role role);
/* Bytes of `count` elements of an ncclDataType_t; TRC_BYTES_UNKNOWN for a type that is not known here. */
uint64_t ipo_nccl_bytes(uint32_t type, uint64_t count);
/* Number of the row with this name ("ncclAllReduce"); -1: there is none. */
int ipo_nccl_row(const char *text);

/* Returns how many entries of ipo_nccl_copies are used.  Any thread. */
unsigned ipo_nccl_copies_n(void);
/* Makes the next entry visible, which the caller has filled in.  One thread at a time. */
void ipo_nccl_copies_add(void);
/* The copy in the object with this base address; NULL: none.  Any thread. */
struct ipo_nccl_copy *ipo_nccl_copy_at(const void *base);

/* ---- resolve.c */

/* The copy that code at `caller` calls by the public names; NULL: none.  `caller` NULL: the copy of the global scope.
 * Searches loaded objects again where some were loaded since the last time.  Asks the loader. */
struct ipo_nccl_copy *ipo_nccl_resolve(const void *caller);

/* The function that a call which is not recorded must be passed on to.  Never NULL: where no NCCL has it, a function
 * that returns an error.  `copy` NULL: the copy that `caller` reaches. */
ipo_function ipo_nccl_pass(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const void *caller);

/* The wrapper for a slot with the name of this row; NULL: none.  `base`: base address of the slot's object; `bound`:
 * where the slot leads now.  Under the loader's lock. */
ipo_function ipo_nccl_wrapper_of(int row, const void *base, const void *bound);

/* Returns the result of the program's dlsym for a name of NCCL on a real handle: the wrapper, if the object has the
 * function and it is recorded; else the object's own symbol. */
void *ipo_nccl_looked_up(void *handle, const char *name, const void *caller);

/* ---- nccl.c: record path */

/* Before the real call.  frame->copy is set; NULL for the exported names, where it is found.  False: pass the call
 * through without ipo_nccl_leave. */
bool ipo_nccl_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
/* After the real call, with its result.  Keeps errno. */
void ipo_nccl_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, int result);

/* Begins the record of a call that the plugin or NVTX reports (profiler.h).  `args` as the row's roles; `comm` NULL:
 * not known.  False: it is not recorded, and ipo_nccl_event_leave must not be called. */
bool ipo_nccl_event_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, struct ipo_comm *comm,
                          const void *site);
/* Ends that record and writes it. */
void ipo_nccl_event_leave(struct ipo_frame *frame, enum ipo_nccl_id id);

/* ---- comms.c */

/* Returns whether calls on a communicator with this ncclConfig_t block; true if the config does not say, or is NULL.
 * Size, magic and version in front tell its fields.  Source: nccl.h of 2.14 (blocking) and 2.27 (commName). */
bool ipo_nccl_config_blocks(const char *config);
/* The name in an ncclConfig_t, which owns it; NULL: none. */
const char *ipo_nccl_config_name(const char *config);

/* Hash of the 128 bytes of an ncclUniqueId, as NCCL of this version prints it for commId; 2.26 (22600) changed it. 
 * Source: getHash in NCCL's src/misc/utils.cc (to 2.25) and src/include/bitops.h. */
uint64_t ipo_nccl_hash(const void *id, int version);

/* Defines the communicator that an Init call is about to make.  NULL: it cannot be known before the call, or no
 * room. */
struct ipo_comm *ipo_nccl_comm_coming(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args);
/* Learns the communicators that an Init call has made.  `coming`: what ipo_nccl_comm_coming returned. */
void ipo_nccl_comm_made(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args,
                        struct ipo_comm *coming);
/* Learns the communicators of Init calls in a group, at its end: their handles exist only now.  `failed`: the group
 * failed. */
void ipo_nccl_comms_of_group(bool failed);
/* The communicator of a handle; one that was never seen is defined with an identity of its own.  NULL: no room. */
struct ipo_comm *ipo_nccl_comm(const struct ipo_nccl_copy *copy, uintptr_t handle);
/* The communicator of a handle; NULL: it is not known. */
struct ipo_comm *ipo_nccl_comm_find(uintptr_t handle);
/* Forgets the communicator of a handle that was destroyed. */
void ipo_nccl_comm_freed(uintptr_t handle);
