/* Records calls from events of NCCL's profiler plugin (plugin.c) and NVTX ranges (nvtx.c).  A call that a wrapper has
 * seen on the same thread is not recorded again.  Record path, in the thread that reports the event. */
#pragma once

#include "interpose/nccl/nccl.h"

#define IPO_PROFILER_ARGS 12u

/* A call that was reported; zeroed but for `id` before ipo_profiler_open. */
struct ipo_profiler_event {
    struct ipo_frame frame;
    enum ipo_nccl_id id;
    bool open;                         /* a record was begun */
    uintptr_t args[IPO_PROFILER_ARGS]; /* arguments by the row's roles */
};

/* Number of the row of a recorded call, "ncclAllReduce", or "AllReduce" if `without`; -1: there is none. */
int ipo_profiler_row(const char *name, bool without);

/* Whether a wrapper has seen the call of NCCL that runs on this thread. */
bool ipo_profiler_is_wrapped(void);

/* Starts the recording with the first communicator, unless MPI or a wrapper has started it.  rank -1, hash 0: not known
 * yet.  False: this process is not traced.  Keeps errno. */
bool ipo_profiler_start(int rank, int size, uint64_t hash);

/* Sets one argument of a call before it is opened; nothing if the call has no such role.  The size of the data is
 * set in bytes as NCCL_ROLE_COUNT, and NCCL_ROLE_TYPE stays 0. */
void ipo_profiler_set(struct ipo_profiler_event *call, enum ipo_nccl_role role, uintptr_t value);

/* Sets root, destination and source, whichever the call has, to a rank of the communicator. */
void ipo_profiler_set_partner(struct ipo_profiler_event *call, uintptr_t rank);

/* Begins the record: the thread is inside this call now.  `comm` NULL: not known; `site`: the call site. */
void ipo_profiler_open(struct ipo_profiler_event *call, struct ipo_comm *comm, const void *site);
/* Ends the record and writes it, if it was begun on this thread. */
void ipo_profiler_close(struct ipo_profiler_event *call);
/* Sets the communicator of a call of class NCCL_INIT, before ipo_profiler_close.  NULL does nothing. */
void ipo_profiler_made(struct ipo_profiler_event *call, struct ipo_comm *comm);

/* The communicator with NCCL's hash of its id and this rank of the process; rank -1: any.  NULL: not known. */
struct ipo_comm *ipo_nccl_comm_reported(uint64_t hash, int rank);
/* The communicator with this hash and rank, which is defined if it was not known.  `name`: config.commName, or NULL;
 * `call`: number of the call that makes it.  NULL: no room. */
struct ipo_comm *ipo_nccl_comm_define(uint64_t hash, int rank, int size, const char *name, uint32_t call);
/* Forgets a communicator that was destroyed. */
void ipo_nccl_comm_forget(struct ipo_comm *comm);
