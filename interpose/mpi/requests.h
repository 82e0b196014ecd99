/* Requests under way: from a handle back to the call that started it.  Lock-free, no allocation: a request may be
 * started in one thread and completed in another. */
#ifndef IPO_REQUESTS_H
#define IPO_REQUESTS_H

#include "interpose/mpi/calls.h"
#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>

struct ipo_comm;
struct ipo_thread;

enum ipo_request_flag {
    IPO_REQUEST_PERSISTENT = 1u << 0,
    IPO_REQUEST_ACTIVE = 1u << 1,
    IPO_REQUEST_CANCELLING = 1u << 2, /* MPI_Cancel was called: the status has to be asked */
    IPO_REQUEST_READ = 1u << 3,       /* a file read: its bytes are counted at completion */
    IPO_REQUEST_BY_STATUS = 1u << 4,  /* receives, but not as a plain receive does: `source` and `tag` do not count */
    IPO_REQUEST_RECEIVES = 1u << 5,   /* a plain receive */
    IPO_REQUEST_RESERVED = 1u << 6    /* no request: the place of a handle that means none (ipo_request_reserve) */
};

/* What a usual completion looks at is in the first of two cache lines. */
struct ipo_request {
    _Alignas(64) uint32_t flags;
    uint32_t thread;         /* index of the thread that started it */
    uint64_t number;         /* its start number there */
    uint32_t index, version; /* of the signature that started it, in its thread's table */
    int32_t source, tag;     /* that it was posted for, as the program gave them */
    uintptr_t variable;      /* of a shared handle: see below; 0: completed */
    struct ipo_comm *comm;
    uint32_t charge;    /* call that its received bytes are counted under */
    struct trc_sig sig; /* that signature, for when the table has forgotten it */
};
_Static_assert(sizeof(struct ipo_request) == 128, "two cache lines");

/* Buckets of eight keys, one cache line, in an array of their own: a look-up that misses costs one line.  A handle has
 * a favourite way in its bucket, looked at first.  One that finds its bucket full goes to a second bucket; only after
 * that has happened is the second one looked at. */
#define IPO_REQUEST_BUCKETS 8192u
#define IPO_REQUEST_WAYS    8u

struct ipo_request_table {
    _Atomic uint64_t *keys;    /* buckets x ways */
    struct ipo_request *slots; /* as many; only what is used becomes memory */
    atomic_bool spilled;       /* second buckets are in use */
};
extern IPO_OURS struct ipo_request_table ipo_requests;

/* Handles are addresses of objects in pools, or small numbers: their low bits differ least.  The first 13 bits are the
 * bucket, the other three the way in it. */
static inline uint32_t ipo_request_usual_slot(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 48);
}
_Static_assert(IPO_REQUEST_BUCKETS *IPO_REQUEST_WAYS == 1u << 16, "ipo_request_usual_slot gives 16 bits");

/* A place for the request or message with this handle, to be filled in and then published.  NULL: no room. */
struct ipo_request *ipo_request_place(uint64_t handle);
/* From now on it is found: a place of the table, or one of ipo_shared_add of this thread. */
void ipo_request_publish(struct ipo_thread *thread, struct ipo_request *request, uint64_t handle);

/* A handle that means no request of its own: it is in the table, so that no way through the table takes it for one. */
void ipo_request_reserve(uint64_t handle);

/* Both, with a copy of `request`.  False: no room. */
bool ipo_request_add(uint64_t handle, const struct ipo_request *request);

/* The entry of a handle, or NULL.  Only its owner (who may wait for it) looks it up. */
struct ipo_request *ipo_request_find_slow(uint64_t handle);
static inline struct ipo_request *ipo_request_find(uint64_t handle)
{
    uint32_t at = ipo_request_usual_slot(handle);
    if (__builtin_expect(atomic_load_explicit(&ipo_requests.keys[at], memory_order_acquire) == handle, 1))
        return &ipo_requests.slots[at];
    return ipo_request_find_slow(handle);
}
void ipo_request_remove(struct ipo_request *request);

/* Takes an entry out of sight during the call that may complete it: once that has, another thread may be given the same
 * handle, before the completion is written.  What did not complete is put back. */
struct ipo_request *ipo_request_claim(uint64_t handle);
void ipo_request_unclaim(uint64_t handle, struct ipo_request *request);

/* The shared handle of sends that had finished when they were started: Open MPI gives all of them one, so they are told
 * apart by `variable`, the address where the program keeps it, and in order where that fails.  Returns a place to fill
 * in; NULL: memory is short. */
struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable);
/* The start that a completion of the shared handle at `variable` belongs to, given up by this; valid until the thread's
 * next call.  It may be another thread's.  NULL: none known. */
const struct ipo_request *ipo_shared_take(struct ipo_thread *thread, uintptr_t variable);

/* Makes the table's memory; once. */
bool ipo_requests_start(void);

#endif
