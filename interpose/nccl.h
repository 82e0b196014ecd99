/* NCCL: the call table (nccl_calls.def), its real functions, and the record path of its calls.  Handles, streams and
 * configurations travel as machine words; no header of NCCL or CUDA is needed. */
#ifndef IPO_NCCL_H
#define IPO_NCCL_H

#include "interpose/comms.h"
#include "interpose/record.h"

enum ipo_nccl_id {
#define NCCL(arity, name, how, opclass, moves, roles)    IPO_NCCL_##name,
#define NCCL_ID(arity, name, how, opclass, moves, roles) IPO_NCCL_##name,
#include "interpose/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
    IPO_NCCL_CALLS
};

/* Number of a call in the schema and in signatures: behind MPI's. */
#define IPO_NCCL_NUMBER(id) ((uint32_t)IPO_CALLS + (uint32_t)(id))

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

struct ipo_nccl_call {
    const char *name;  /* "ncclAllReduce" */
    const char *roles; /* see nccl_calls.def */
    uint8_t opclass;   /* enum trc_opclass, TRC_OP_PASS or TRC_OP_LOOK */
    uint8_t moves;     /* enum ipo_nccl_moves */
    uint8_t arity;
    bool exported;
};
extern IPO_OURS const struct ipo_nccl_call ipo_nccl_calls[IPO_NCCL_CALLS];
extern IPO_OURS const ipo_function ipo_nccl_wrapper[IPO_NCCL_CALLS]; /* NULL for PASS rows */
extern IPO_OURS ipo_function ipo_nccl_real[IPO_NCCL_CALLS]; /* NULL until found, and where this NCCL lacks it */

/* ncclResult_t, as far as it matters here. */
enum { IPO_NCCL_SUCCESS = 0, IPO_NCCL_SYSTEM_ERROR = 2, IPO_NCCL_IN_PROGRESS = 7 };

/* ---- nccl_resolve.c */

/* Finds NCCL, in whatever loaded object defines it, and leads the slots of its callers here.  `caller`: an address in
 * the code that called, whose scope is asked; NULL: only the global scope.  False: it is not there (asked again the
 * next time), or there are several copies of which none is the global one: then nothing of NCCL is recorded. */
bool ipo_nccl_resolve(const void *caller);

/* What passes a call on that is not recorded; never NULL: where no NCCL has it, a function that returns an error. */
ipo_function ipo_nccl_pass(enum ipo_nccl_id id, const void *caller);

/* File name of the object that defines NCCL; "" before it was found. */
const char *ipo_nccl_object(void);

/* The wrapper of a name that is patched, once NCCL was found and has it; NULL for all others. */
ipo_function ipo_nccl_wrapper_of(const char *name);

/* ---- nccl.c: as ipo_enter and ipo_leave */

bool ipo_nccl_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, int result);

/* The argument with a role; 0 if the call has none. */
uintptr_t ipo_nccl_arg(const struct ipo_nccl_call *call, const uintptr_t *args, char role);

/* ---- nccl_comms.c */

/* Hash of the 128 bytes of an ncclUniqueId, the one that NCCL of this version prints as commId: another one from 2.26
 * (22600) on.  Source: getHash in NCCL's src/misc/utils.cc (to 2.25) and src/include/bitops.h. */
uint64_t ipo_nccl_hash(const void *id, int version);

/* The communicator that an Init call is about to make, defined in the trace; NULL if there is no room. */
struct ipo_comm *ipo_nccl_comm_coming(enum ipo_nccl_id id, const uintptr_t *args);
/* Those that it has made, after it succeeded; `coming` may be NULL. */
void ipo_nccl_comm_made(enum ipo_nccl_id id, const uintptr_t *args, struct ipo_comm *coming);
/* Those whose handles could not be told before the group's end. */
void ipo_nccl_comms_of_group(void);
/* The communicator behind a handle; one that was never seen gets an identity of its own.  NULL: no room. */
struct ipo_comm *ipo_nccl_comm(uintptr_t handle);
void ipo_nccl_comm_freed(uintptr_t handle);

#endif
