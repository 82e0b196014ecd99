/* The traced process: from the first MPI_Init to the end. */
#ifndef IPO_PROCESS_H
#define IPO_PROCESS_H

#include "interpose/mpi/calls.h"
#include "interpose/core/options.h"
#include "trace/writer/writer.h"

struct ipo_process {
    struct trc_writer writer;
    struct ipo_options options;
    char folder[4096]; /* empty: the name was too long */
    bool concurrent;   /* MPI_THREAD_MULTIPLE: calls of several threads may overlap */
    bool usual;        /* they do not, and statuses can be read: completions may go the usual way */
    bool write_back;   /* pages are written back: the folder is not local, or its file system reserves no space */
    uint32_t pid;
};
extern IPO_OURS struct ipo_process ipo_process;

/* Ticks of the process's clock; see enum trc_clock_source. */
extern IPO_OURS bool ipo_clock_is_tsc;
uint64_t ipo_ticks_slow(void);
#if defined(__x86_64__)
#define IPO_TSC() __builtin_ia32_rdtsc()
#else
#define IPO_TSC() ipo_ticks_slow() /* never armed with a TSC */
#endif
static inline uint64_t ipo_ticks(void)
{
    if (__builtin_expect(ipo_clock_is_tsc, 1))
        return IPO_TSC();
    return ipo_ticks_slow();
}

/* Before the first Init call of the process: finds MPI, makes the file, arms the wrappers.  False: not traced (switched
 * off, no file could be made ...).  errno is not kept. */
bool ipo_process_start(const void *caller);

/* After an Init call returned: rank, size, world, heartbeat. */
void ipo_process_ready(void);

/* Before the first NCCL call that makes a communicator, in a process without MPI so far: the same, with its rank and
 * size where the environment has none, and the hash of what its ranks meet by, 0 where that is not known.  False: not
 * traced. */
bool ipo_process_start_nccl(int rank, int size, uint64_t hash);

/* MPI_Finalize entered / returned; MPI_Abort entered. */
void ipo_process_ending(void);
void ipo_process_finalized(void);
void ipo_process_aborting(int code);

/* Nothing is recorded any more, by no thread.  In a signal handler, too. */
void ipo_process_disarm(void);

/* Calls these after each fork; NULL: nothing there.  False: this libc cannot. */
bool ipo_at_fork(void (*in_parent)(void), void (*in_child)(void));

/* "hpctop: ..." on stderr if HPCTOP_VERBOSE=1; no stdio, no allocation. */
void ipo_say(const char *text, const char *more);

#endif
