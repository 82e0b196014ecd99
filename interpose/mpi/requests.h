/* Requests under way: from a handle back to the call that started it.  A request may be started by one thread and
 * completed by another.  All functions: record path, any thread; no lock, no allocation. */
#pragma once

#include "interpose/mpi/calls.h"
#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>

struct ipo_comm;
struct ipo_thread;
struct trc_sig_state;

enum ipo_request_flag {
    IPO_REQUEST_PERSISTENT = 1u << 0,
    IPO_REQUEST_ACTIVE = 1u << 1,
    IPO_REQUEST_CANCELLING = 1u << 2, /* MPI_Cancel was called: the status says whether it was cancelled */
    IPO_REQUEST_READ = 1u << 3,       /* a file read: its bytes are counted at completion */
    IPO_REQUEST_BY_STATUS =
        1u << 4, /* not a plain send or receive: completed by its status, without `source` and `tag` */
    IPO_REQUEST_RESERVED = 1u << 5, /* the handle means no request (ipo_request_reserve) */
    IPO_REQUEST_RECEIVES = 1u << 9  /* a plain receive: TRC_SIG_P2P_IN */
};

/* A request.  The fast path of a completion reads only the first of its two cache lines. */
struct ipo_request {
    _Alignas(64) uint32_t flags;
    uint32_t thread; /* index of the thread that started it */
    uint64_t number; /* start number in that thread */
    uint32_t version;
    int32_t source, tag; /* arguments of a plain receive, as the program gave them */
    uintptr_t variable;  /* start behind the shared handle: address of the program's variable; 0: completed */
    struct ipo_comm *comm;
    struct trc_sig_state *state; /* signature that started it in its thread's table, while its version is `version` */
    struct trc_sig sig;          /* copy of the signature, for when the table has dropped it */
};
_Static_assert(sizeof(struct ipo_request) == 128, "two cache lines");

/* A bucket is eight keys in one cache line; keys have an array of their own, so that a search that fails reads one
 * line.  Each handle has a usual slot in its bucket, which is read first.  A handle whose bucket is full goes to a
 * second bucket; second buckets are searched only after that has happened once. */
#define IPO_REQUEST_BUCKETS 8192u
#define IPO_REQUEST_WAYS    8u
#define IPO_SHARED_BUCKETS  16384u

struct ipo_request_table {
    _Atomic uint64_t *keys;    /* IPO_REQUEST_BUCKETS x IPO_REQUEST_WAYS */
    struct ipo_request *slots; /* slots of the table; only used ones become memory */
    atomic_bool spilled;       /* second buckets are in use */
    atomic_bool persistent;    /* set at the first persistent request */
    /* Starts behind the shared handle, by the address of the program's variable (shared.c). */
    _Atomic(struct ipo_request *) (*shared)[IPO_REQUEST_WAYS]; /* IPO_SHARED_BUCKETS entries */
};
extern IPO_OURS struct ipo_request_table ipo_requests;

/* The usual slot of a handle: 13 bits of a hash are its bucket, three more the place in it. */
static inline uint32_t ipo_request_usual_slot(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 48);
}
_Static_assert(IPO_REQUEST_BUCKETS *IPO_REQUEST_WAYS == 1u << 16, "ipo_request_usual_slot gives 16 bits");

/* Does the work of ipo_request_place if another request has the usual slot. */
struct ipo_request *ipo_request_place_slow(uint64_t handle);
/* Makes a place of ipo_request_place visible to searches. */
static inline void ipo_request_publish(const struct ipo_request *request, uint64_t handle)
{
    atomic_store_explicit(&ipo_requests.keys[request - ipo_requests.slots], handle, memory_order_release);
}

/* Enters a handle that means no request, so that no search takes it for one. */
void ipo_request_reserve(uint64_t handle);

/* Enters a copy of `request` under a handle.  False: no room. */
bool ipo_request_add(uint64_t handle, const struct ipo_request *request);

/* Does the work of ipo_request_find for a handle that is not in its usual slot. */
struct ipo_request *ipo_request_find_slow(uint64_t handle);
/* The request of a handle; NULL: not known.  Valid until it is removed.  By the thread that completes the request. */
static inline struct ipo_request *ipo_request_find(uint64_t handle)
{
    uint32_t at = ipo_request_usual_slot(handle);
    if (__builtin_expect(atomic_load_explicit(&ipo_requests.keys[at], memory_order_acquire) == handle, 1))
        return &ipo_requests.slots[at];
    return ipo_request_find_slow(handle);
}
/* A place for the request or message with this handle.  The caller fills it in and then publishes it.  `alone`: no
 * other thread calls MPI at the same time.  NULL: no room. */
static inline struct ipo_request *ipo_request_place(uint64_t handle, bool alone)
{
    uint32_t at = ipo_request_usual_slot(handle);
    uint64_t key = atomic_load_explicit(&ipo_requests.keys[at], memory_order_relaxed);
    if (__builtin_expect(alone && (!key || key == handle), 1))
        return &ipo_requests.slots[at];
    return ipo_request_place_slow(handle);
}
/* Removes a request from the table; its place is free at once. */
void ipo_request_remove(struct ipo_request *request);

/* Finds a request and hides it from searches during the call that may complete it: MPI may give the handle to another
 * thread before the completion is written.  NULL: not known. */
struct ipo_request *ipo_request_claim(uint64_t handle);
/* Makes a claimed request visible again: it did not complete. */
void ipo_request_unclaim(uint64_t handle, struct ipo_request *request);

/* A place for a start whose handle is shared: MPI gives it to all sends that had finished when they were started.  Such
 * starts are distinguished by `variable`, the address of the program's request, and by their order where that fails.
 * The caller fills the place in and publishes it (thread.h).  NULL: memory is short. */
struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable);
/* Removes the start that a completion of the shared handle at `variable` belongs to, perhaps another thread's.  Valid
 * until the calling thread's next call.  NULL: not known. */
const struct ipo_request *ipo_shared_remove(struct ipo_thread *thread, uintptr_t variable);

/* Calls `tell` with each request in the table; not with starts behind the shared handle.  While no other thread calls
 * MPI. */
void ipo_requests_walk(void (*tell)(const struct ipo_request *request));

/* Maps the table's memory.  Once, before the first record; false: no memory. */
bool ipo_requests_start(void);
