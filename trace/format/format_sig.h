/* Signatures of calls, a part of the file (format.h). */
#pragma once

#include <stdint.h>

/* Signature: what makes a call the same call.  Peers are ranks of MPI_COMM_WORLD; the enum below is the rest. */
enum trc_peer_value {
    TRC_PEER_NONE = -1,    /* the call has no partner of this kind */
    TRC_PEER_ANY = -2,     /* MPI_ANY_SOURCE, not resolved */
    TRC_PEER_NULL = -3,    /* MPI_PROC_NULL */
    TRC_PEER_ROOT = -4,    /* MPI_ROOT: this rank is the root of an intercommunicator's collective */
    TRC_PEER_UNKNOWN = -5, /* it could not be found out */
    TRC_PEER_REMOTE = -16  /* values from here down: -16 - r is rank r of comm (of an intercommunicator: of its remote
                              group), which is not in this world, but spawned or connected */
};
#define TRC_TAG_NONE      INT32_MIN
#define TRC_TAG_ANY       (INT32_MIN + 1)
#define TRC_BYTES_UNKNOWN UINT64_MAX

enum trc_sig_flag {
    TRC_SIG_SUB = 1u << 0,      /* no times of its own: belongs to the event before it */
    TRC_SIG_START = 1u << 1,    /* starts a request (or claims a message: Mprobe) */
    TRC_SIG_COMPLETE = 1u << 2, /* completes one; call = the call that started it */
    TRC_SIG_COLL = 1u << 3,     /* collective on comm: carries a sequence number */
    TRC_SIG_NESTED = 1u << 4,   /* made inside another MPI call: not in the counters */
    TRC_SIG_POLL = 1u << 5,     /* unsuccessful Test or probe */
    TRC_SIG_CANCELLED = 1u << 6,
    TRC_SIG_FAILED = 1u << 7,   /* the call did not return MPI_SUCCESS */
    TRC_SIG_P2P_OUT = 1u << 8,  /* peer/tag/sent are a point-to-point message that starts here */
    TRC_SIG_P2P_IN = 1u << 9,   /* source/rtag/received are one that is received here (with START: posted here) */
    TRC_SIG_RMA = 1u << 10,     /* peer is the target, comm the window's communicator */
    TRC_SIG_IO = 1u << 11,      /* sent/received are written/read bytes */
    TRC_SIG_SYNC = 1u << 12,    /* a synchronous send: cannot complete before it is received */
    TRC_SIG_CONTROL = 1u << 13, /* control round (with COLL) of a background loop, see ROUND; not one of the program's
                                  own collectives, and folded */
    TRC_SIG_ENQUEUE = 1u << 14, /* NCCL: put on a stream, or begun; that the call returned says nothing of the others */
    TRC_SIG_GROUPED = 1u << 15, /* NCCL: within a group: launched with the others by the outermost GroupEnd that follows
                                   on this thread */
    TRC_SIG_SHARED = 1u << 16,  /* MPI_Win_lock: the lock is a shared one */
    TRC_SIG_ANY_SOURCE = 1u << 17, /* a blocking receive asked for any source; `source` is the sender */
    TRC_SIG_ANY_TAG = 1u << 18     /* a blocking receive asked for any tag */
};

/* The flags under which a request of a signature with these flags completes. */
static inline uint32_t trc_done_flags(uint32_t flags)
{
    const uint32_t kept = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN | TRC_SIG_SYNC | TRC_SIG_RMA | TRC_SIG_IO;
    return (flags & kept) | TRC_SIG_SUB | TRC_SIG_COMPLETE;
}

/* The fields in the order of a SIG item; u = unsigned varint, s = zigzag varint.  FIELD(type, name, kind) */
#define TRC_SIG_FIELDS(FIELD)                                                                                          \
    FIELD(uint32_t, call, u)   /* TRC_DEF_CALL id */                                                                   \
    FIELD(uint32_t, flags, u)  /* enum trc_sig_flag */                                                                 \
    FIELD(uint32_t, comm, u)   /* TRC_DEF_COMM id; 0 = none */                                                         \
    FIELD(uint32_t, object, u) /* TRC_DEF_WIN, TRC_DEF_FILE id; messages and collectives: TRC_DEF_DATA id; kernels: \
                                  TRC_DEF_KERNEL id; NCCL: number of the stream (trc_device_stream) that it is put on; \
                                  Comm_create_group: TRC_DEF_RANKS id of the group; 0 = none */  \
    FIELD(int32_t, peer, s)    /* destination, root, target; of a leader in Intercomm_create: the other leader */      \
    FIELD(int32_t, tag, s)     /* Win_post, _start, _complete, _wait: TRC_DEF_RANKS id of their group */               \
    FIELD(int32_t, source, s)  /* origin of the message */                                                             \
    FIELD(int32_t, rtag, s)                                                                                            \
    FIELD(uint64_t, sent, u)     /* bytes handed to MPI for others (DESIGN 5) */                                       \
    FIELD(uint64_t, received, u) /* bytes that arrive; for a posted receive: room for them */                          \
    FIELD(uint64_t, site, u)     /* return address in the caller, or a number of a line of Python */                   \
    FIELD(uint64_t, path, u)     /* TRC_DEF_PATH id: the callers; 0 = only `site` is known; 64 bits: no padding */

struct trc_sig {
#define FIELD(type, name, kind) type name;
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
};
enum trc_sig_field {
#define FIELD(type, name, kind) TRC_SIG_FIELD_##name,
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
};
_Static_assert(sizeof(struct trc_sig) == 64, "signature, without padding: compared byte by byte");
