/* NCCL: the call table (nccl_calls.def), its real functions, and the record path of its calls.  Handles, streams and
 * configurations travel as machine words; no header of NCCL or CUDA is needed. */
#ifndef IPO_NCCL_H
#define IPO_NCCL_H

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

/* Number of a call in the schema and in signatures: behind those of devices. */
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

/* Roles that say what a data call is, and where they stand among its arguments; one that is not there stands behind the
 * last argument, where there is a 0. */
enum { IPO_AT_COUNT, IPO_AT_TYPE, IPO_AT_OP, IPO_AT_ROOT, IPO_AT_PEER, IPO_AT_COMM, IPO_AT_STREAM, IPO_ATS };

struct ipo_nccl_call {
    const char *name;  /* "ncclAllReduce" */
    const char *roles; /* an enum ipo_nccl_role for each argument */
    uint8_t opclass;   /* enum trc_opclass, TRC_OP_PASS or TRC_OP_LOOK */
    uint8_t moves;     /* enum ipo_nccl_moves */
    uint8_t arity;
    uint8_t at[IPO_ATS];
    bool exported;
};
extern IPO_OURS const struct ipo_nccl_call ipo_nccl_calls[IPO_NCCL_CALLS];
/* It puts work on a stream. */
static inline bool ipo_nccl_is_data(enum ipo_nccl_id id)
{
    return trc_opclass_is((enum trc_opclass)ipo_nccl_calls[id].opclass, TRC_FACT_ENQUEUES);
}

/* A process may have several NCCLs (a framework's, a module's): a communicator of one must never reach another.  So
 * each has wrappers of its own. */
#define IPO_NCCL_COPIES 3u
struct ipo_nccl_copy {
    ipo_function real[IPO_NCCL_CALLS]; /* NULL where this NCCL lacks it */
    const void *base, *end;            /* of the object that defines it */
    char object[1024];                 /* its file name */
    int version;                       /* 22809; 0: it does not say */
};
extern IPO_OURS struct ipo_nccl_copy ipo_nccl_copies[IPO_NCCL_COPIES];
extern IPO_OURS const ipo_function ipo_nccl_wrapper[IPO_NCCL_COPIES][IPO_NCCL_CALLS]; /* NULL for PASS rows */

/* ncclResult_t, as far as it matters here. */
enum { IPO_NCCL_SUCCESS = 0, IPO_NCCL_SYSTEM_ERROR = 2, IPO_NCCL_IN_PROGRESS = 7 };

/* ---- calls.c */

/* The first argument of `call` with this role; 0 where the call has no such argument. */
uintptr_t ipo_nccl_arg(const struct ipo_nccl_call *call, const uintptr_t *args, enum ipo_nccl_role role);
/* count x size of an ncclDataType_t; TRC_BYTES_UNKNOWN for a type of a later version. */
uint64_t ipo_nccl_bytes(uint32_t type, uint64_t count);
/* The row of a name; -1: it has none. */
int ipo_nccl_row(const char *name);

/* How many copies are known: the first of ipo_nccl_copies. */
unsigned ipo_nccl_copies_n(void);
/* The next one is filled in.  One thread at a time. */
void ipo_nccl_copies_add(void);
/* The copy that an object is; NULL: it is none. */
struct ipo_nccl_copy *ipo_nccl_copy_at(const void *base);

/* ---- resolve.c */

/* Finds NCCL, in whatever loaded objects define it, once more where objects were loaded since the last time.  `caller`:
 * an address in the code that called, whose scope is asked; NULL: only the global scope.  The copy that this code calls
 * by the public names; NULL: none. */
struct ipo_nccl_copy *ipo_nccl_resolve(const void *caller);

/* What passes a call on that is not recorded; never NULL: where no NCCL has it, a function that returns an error. */
ipo_function ipo_nccl_pass(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const void *caller);

/* The wrapper that a slot of an object is to lead to, where it has that name; NULL: none.  `base`: the object's;
 * `bound`: what the slot leads to now. */
ipo_function ipo_nccl_wrapper_of(const char *name, const void *base, const void *bound);

/* dlsym of a name of NCCL on a real handle: our wrapper, where the object has the function and it is one that is
 * recorded; else what is there. */
void *ipo_nccl_looked_up(void *handle, const char *name);

/* ---- nccl.c: as ipo_enter and ipo_leave */

/* frame->copy is set, or NULL for the exported names. */
bool ipo_nccl_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, int result);

/* The same for a call that NCCL itself tells of (profiler.h): `args` by the row's roles, `comm` may be NULL. */
bool ipo_nccl_event_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, struct ipo_comm *comm,
                          const void *site);
void ipo_nccl_event_leave(struct ipo_frame *frame, enum ipo_nccl_id id);

/* ---- comms.c */

/* What is read of an ncclConfig_t (`config` may be NULL); size, magic and version in front say whether it is one and
 * what it has.  Source: nccl.h of 2.14 (blocking) and 2.27 (commName). */
bool ipo_nccl_config_blocks(const char *config);      /* true where it does not say */
const char *ipo_nccl_config_name(const char *config); /* NULL: none */

/* Hash of the 128 bytes of an ncclUniqueId, the one that NCCL of this version prints as commId: another one from 2.26
 * (22600) on.  Source: getHash in NCCL's src/misc/utils.cc (to 2.25) and src/include/bitops.h. */
uint64_t ipo_nccl_hash(const void *id, int version);

/* The communicator that an Init call is about to make, defined in the trace; NULL if there is no room. */
struct ipo_comm *ipo_nccl_comm_coming(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args);
/* Those that it has made, after it succeeded; `coming` may be NULL. */
void ipo_nccl_comm_made(const struct ipo_nccl_copy *copy, enum ipo_nccl_id id, const uintptr_t *args,
                        struct ipo_comm *coming);
/* Those whose handles could not be told before the group's end. */
void ipo_nccl_comms_of_group(bool failed);
/* The communicator behind a handle; one that was never seen gets an identity of its own.  NULL: no room. */
struct ipo_comm *ipo_nccl_comm(const struct ipo_nccl_copy *copy, uintptr_t handle);
/* The same, only if it is known. */
struct ipo_comm *ipo_nccl_comm_find(uintptr_t handle);
void ipo_nccl_comm_freed(uintptr_t handle);

#endif
