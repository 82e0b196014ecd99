/* Requests under way: from a handle back to the call that started it.  Lock-free, no allocation: a request may be
 * started in one thread and completed in another. */
#ifndef IPO_REQUESTS_H
#define IPO_REQUESTS_H

#include "trace/format.h"
#include <stdbool.h>

struct ipo_comm;
struct ipo_thread;

enum ipo_request_flag {
    IPO_REQUEST_PERSISTENT = 1u << 0,
    IPO_REQUEST_ACTIVE = 1u << 1,
    IPO_REQUEST_CANCELLING = 1u << 2, /* MPI_Cancel was called: the status has to be asked */
    IPO_REQUEST_READ = 1u << 3        /* a file read: its bytes are counted at completion */
};

struct ipo_request {
    uint32_t flags;
    uint32_t thread;         /* index of the thread that started it */
    uint64_t number;         /* its start number there */
    uint32_t charge;         /* call that its received bytes are counted under */
    uint32_t index, version; /* of the signature that started it, in its thread's table */
    struct ipo_comm *comm;
    struct trc_sig sig; /* that signature, for when the table has forgotten it */
};

/* A send that had finished when it was started: Open MPI gives all of them one handle, so they are told apart by the
 * address of the request variable, and in order where that fails. */
struct ipo_shared_start {
    uintptr_t variable; /* 0: completed */
    struct ipo_request request;
};

/* A place for the request or message with this handle, to be filled in and then published.  NULL: no room. */
struct ipo_request *ipo_request_place(uint64_t handle);
/* From now on it is found.  For a place of ipo_shared_add it does nothing. */
void ipo_request_publish(struct ipo_request *request, uint64_t handle);

/* Both, with a copy of `request`.  False: no room. */
bool ipo_request_add(uint64_t handle, const struct ipo_request *request);

/* The entry of a handle, or NULL.  Only its owner (who may wait for it) looks it up. */
struct ipo_request *ipo_request_find(uint64_t handle);
void ipo_request_remove(struct ipo_request *request);

/* Takes an entry out of sight during the call that may complete it: once that has, another thread may be given the same
 * handle, before the completion is written.  What did not complete is put back. */
struct ipo_request *ipo_request_claim(uint64_t handle);
void ipo_request_unclaim(uint64_t handle, struct ipo_request *request);

/* The shared handle of finished sends: `variable` is where the program keeps it.  Returns a place to fill in. */
struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable);
/* The start that a completion of the shared handle at `variable` belongs to, given up by this; valid until the thread's
 * next call.  NULL: none known. */
const struct ipo_request *ipo_shared_take(struct ipo_thread *thread, uintptr_t variable);

/* Makes the table's memory; once. */
bool ipo_requests_start(void);

#endif
