/* What all of the recorder shares: the process, its clock, and whether wrappers record. */
#ifndef IPO_STATE_H
#define IPO_STATE_H

#include "interpose/base/ours.h"
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
    size_t patched; /* slots that were led to wrappers before there was a file to say so */
};
extern IPO_OURS struct ipo_process ipo_process;

/* Ticks of the process's clock; see enum trc_clock_source. */
extern IPO_OURS bool ipo_clock_is_tsc;
uint64_t ipo_ticks_slow(void);
static inline uint64_t ipo_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(ipo_clock_is_tsc, 1))
        return __builtin_ia32_rdtsc();
#endif
    return ipo_ticks_slow();
}

/* Whether wrappers record: one word in a page that fork wipes.  PYTHON: lines of Python are call sites. */
enum { IPO_ARMED = 1, IPO_ARMED_PYTHON = 2 };
extern IPO_OURS const uint32_t *ipo_armed;          /* behind it, in the same eight bytes, the epoch of sig_cache.h */
extern IPO_OURS const uint32_t *ipo_nccl_armed;     /* the same for NCCL's, in that page too */
extern IPO_OURS const uint32_t *ipo_profiler_armed; /* and for what NCCL itself tells of (profiler.h) */

/* The words that say so, in one page; false: it cannot be had.  Then what one of them is to say. */
bool ipo_arm_page(void);
enum ipo_armed_for { IPO_FOR_MPI = 0, IPO_FOR_NCCL = 2, IPO_FOR_PROFILER = 3 };
void ipo_arm(enum ipo_armed_for whom, uint32_t how);
/* Nothing is recorded any more, by no thread.  In a signal handler, too. */
void ipo_process_disarm(void);

/* A communicator, window, file or datatype was made or freed. */
void ipo_cache_forget(void);

/* Calls these after each fork; NULL: nothing there.  False: this libc cannot. */
bool ipo_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* "hpctop: ..." on stderr if HPCTOP_VERBOSE=1; no stdio, no allocation. */
void ipo_say(const char *text, const char *more);

#endif
