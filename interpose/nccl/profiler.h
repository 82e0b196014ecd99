/* Calls that NCCL itself tells of, by its profiler plugin interface (plugin.c) and by NVTX ranges (nvtx.c): how they
 * become records.  A call that a wrapper has seen on the same thread is not recorded again. */
#ifndef IPO_NCCL_PROFILER_H
#define IPO_NCCL_PROFILER_H

#include "interpose/nccl/nccl.h"

#define IPO_PROFILER_ARGS 12u

struct ipo_profiler_event {
    struct ipo_frame frame;
    enum ipo_nccl_id id;
    bool open;
    uintptr_t args[IPO_PROFILER_ARGS]; /* by the row's roles */
};

/* The row of a call, "ncclAllReduce" or (`without`) "AllReduce"; -1: none that is recorded. */
int ipo_profiler_row(const char *name, bool without);

/* Whether the call that runs on this thread is one that a wrapper saw. */
bool ipo_profiler_is_wrapped(void);

/* Starts recording with the first communicator, where neither MPI nor a wrapper has.  rank -1, hash 0: not known yet.
 * False: this process is not traced. */
bool ipo_profiler_start(int rank, int size, uint64_t hash);

/* What is known of a call before it is opened: one argument by its role letter.  The size of the data is said as count
 * 'n' of bytes, type 'd' left 0. */
void ipo_profiler_set(struct ipo_profiler_event *call, enum ipo_nccl_role role, uintptr_t value);

/* Sets root, destination and source, whichever the call has, to a rank of the communicator. */
void ipo_profiler_set_partner(struct ipo_profiler_event *call, uintptr_t rank);

/* Opens the record: from now on the thread is inside this call.  `id` must be set, `comm` may be NULL: not known. */
void ipo_profiler_open(struct ipo_profiler_event *call, struct ipo_comm *comm, const void *site);
/* Closes and writes it.  For one of class NCCL_INIT the communicator is set first, by ipo_profiler_made. */
void ipo_profiler_close(struct ipo_profiler_event *call);
void ipo_profiler_made(struct ipo_profiler_event *call, struct ipo_comm *comm);

/* The communicator with NCCL's hash of its id; rank -1: whichever of the process is in it.  NULL: never seen. */
struct ipo_comm *ipo_nccl_comm_reported(uint64_t hash, int rank);
/* The same, and if it was never seen, defined now.  name: config.commName, may be NULL. */
struct ipo_comm *ipo_nccl_comm_define(uint64_t hash, int rank, int size, const char *name, uint32_t call);
void ipo_nccl_comm_gone(struct ipo_comm *comm);

#endif
