/* Requests under way: from a handle back to the call that started it.  Lock-free, no allocation: a request may be
 * started in one thread and completed in another. */
#ifndef IPO_REQUESTS_H
#define IPO_REQUESTS_H

#include "interpose/thread.h"

enum ipo_request_flag {
    IPO_REQUEST_PERSISTENT = 1u << 0,
    IPO_REQUEST_ACTIVE = 1u << 1,
    IPO_REQUEST_CANCELLING = 1u << 2, /* MPI_Cancel was called: the status has to be asked */
    IPO_REQUEST_READ = 1u << 3        /* a file read: its bytes are counted at completion */
};

struct ipo_request {
    uint32_t flags;
    uint32_t thread; /* index of the thread that started it */
    uint64_t number; /* its start number there */
    uint32_t charge; /* call that its received bytes are counted under */
    uint64_t sequence;
    struct ipo_comm *comm;
    struct trc_sig sig; /* of the call that made it */
};

/* Enters a request or message under its handle; `request` is copied.  False: no room. */
bool ipo_request_add(uint64_t handle, const struct ipo_request *request);

/* The entry of a handle, or NULL.  Only its owner (who may wait for it) looks it up. */
struct ipo_request *ipo_request_find(uint64_t handle);
void ipo_request_remove(struct ipo_request *request);

/* The shared handle of finished sends: `variable` is where the program keeps it. */
void ipo_shared_add(struct ipo_thread *thread, uintptr_t variable, uint64_t number, const struct trc_sig *sig);
/* Takes the start that a completion of the shared handle at `variable` belongs to; false: none known. */
bool ipo_shared_take(struct ipo_thread *thread, uintptr_t variable, uint64_t *number, struct trc_sig *sig);

/* Makes the table's memory; once. */
bool ipo_requests_start(void);

#endif
