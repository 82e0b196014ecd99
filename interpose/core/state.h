/* State that all parts of the recorder share: the process, its clock, and whether wrappers record. */
#pragma once

#include "interpose/arch/arch.h"
#include "interpose/base/ours.h"
#include "interpose/core/options.h"
#include "trace/writer/writer.h"

struct ipo_process {
    struct trc_writer writer;
    struct ipo_options options;
    char folder[4096]; /* the trace's; empty: the name was too long */
    bool concurrent;   /* MPI_THREAD_MULTIPLE: calls of several threads may overlap */
    bool serialized;   /* MPI_THREAD_SERIALIZED or more: a thread may complete requests of another */
    bool usual;        /* calls do not overlap, and statuses can be read: completions may take the fast path */
    bool write_back;   /* pages are written back: the folder is not local, or its file system reserves no space */
    uint32_t pid;
    size_t patched; /* slots that were led to wrappers before there was a file to say so */
};
extern IPO_OURS struct ipo_process ipo_process;

/* Whether the clock is the processor's time stamp counter; else it is CLOCK_MONOTONIC in nanoseconds. */
extern IPO_OURS bool ipo_clock_is_tsc;
/* CLOCK_MONOTONIC in nanoseconds.  Any thread. */
uint64_t ipo_ticks_slow(void);
/* The time in ticks of the process's clock; see enum trc_clock_source.  Any thread, record path. */
static inline uint64_t ipo_ticks(void)
{
    return IPO_HAS_TSC && __builtin_expect(ipo_clock_is_tsc, 1) ? ipo_tsc() : ipo_ticks_slow();
}

/* The time in ticks while wrappers are IPO_ARMED, without a test of the clock.  Any thread, record path. */
static inline uint64_t ipo_ticks_armed(void)
{
    return IPO_HAS_TSC ? ipo_tsc() : ipo_ticks_slow();
}

/* Whether wrappers record: a word each for MPI, NCCL, Gloo and the profiler plugin, in a page that fork wipes.  0: pass
 * calls through.  CAREFULLY: every call takes the general path, because call paths are Python's, or the clock is not
 * the processor's.  OFF, a bit of all words but the plugin's: recording is switched off; the bits above it count how
 * often that happened. */
enum { IPO_ARMED = 1, IPO_ARMED_CAREFULLY = 2, IPO_ARMED_HOW = 3, IPO_ARMED_OFF = 4 };
extern IPO_OURS const uint32_t *ipo_armed;          /* MPI; the upper half of the eight bytes is cached.h's epoch */
extern IPO_OURS const uint32_t *ipo_nccl_armed;     /* calls of NCCL */
extern IPO_OURS const uint32_t *ipo_gloo_armed;     /* calls of Gloo */
extern IPO_OURS const uint32_t *ipo_profiler_armed; /* events of NCCL's plugin and NVTX (nccl/profiler.h) */

/* Makes the page, with all words 0.  Returns at once where it exists; false: no memory.  One thread at a time. */
bool ipo_arm_page(void);
/* Words of that page; the numbers are places in the page. */
enum ipo_armed_for { IPO_FOR_MPI = 0, IPO_FOR_NCCL = 2, IPO_FOR_PROFILER = 3, IPO_FOR_GLOO = 4 };
/* Sets a word to IPO_ARMED or IPO_ARMED_CAREFULLY.  After ipo_arm_page; any thread. */
void ipo_arm(enum ipo_armed_for whom, uint32_t how);
/* Sets or clears IPO_ARMED_OFF in the words that are not 0.  Any thread. */
void ipo_arm_off(bool off);
/* Ends recording for all threads at once: all words become 0.  Any thread, also in a signal handler. */
void ipo_process_disarm(void);

/* Makes all cached signatures stale: a communicator, window, file or datatype was made or freed.  Any thread, record
 * path. */
void ipo_cache_forget(void);

/* Registers functions that libc calls around each fork: before it, then in the parent and in the child.  NULL:
 * nothing.  False: this libc cannot. */
bool ipo_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Writes "hpctop: ", both texts and a newline to stderr if HPCTOP_VERBOSE=1.  No stdio, no allocation; any thread. */
void ipo_log(const char *text, const char *more);
