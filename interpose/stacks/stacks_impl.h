/* Ends of a process, their signals and stacks; for the files of this folder. */
#pragma once

#include "interpose/unwind/unwind.h"
#include "interpose/load/names.h"
#include "interpose/base/ours.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Registers of a thread that a signal has interrupted. */

/* Fills `out` with the registers of a signal handler's context, a ucontext_t.  In the handler. */
void ipo_registers_of(const void *context, struct ipo_cursor *out);

/* Registers of a thread that runs, sampled by perf_event_open where that is allowed.  Our own thread only. */
struct perf_event_mmap_page;
struct ipo_sampler {
    int fd;
    size_t page;
    struct perf_event_mmap_page *head;
};
/* Begins to sample a thread.  False: it is not allowed. */
bool ipo_sampler_open(struct ipo_sampler *sampler, uint32_t tid);
/* Waits for some milliseconds, and fills `out` with the newest sample.  False: the thread has not run meanwhile, or
 * only in the kernel. */
bool ipo_sampler_next(struct ipo_sampler *sampler, struct ipo_cursor *out);
/* Ends that. */
void ipo_sampler_close(struct ipo_sampler *sampler);

/* The calls that install a seccomp filter. */

/* The wrapper for prctl and syscall, which pass everything on; NULL for other names. */
void (*ipo_filter_wrapper_of(enum ipo_libc row))(void);

/* SIGBUS in the mapped file: a file that another process truncates, or that its disk cannot hold, must not end the
 * program. */

/* Installs our handler in front of the one that is installed.  Called again when another one may have been installed
 * without our seeing it.  In the program's thread. */
void ipo_guard_start(void);

/* Fills `action` with the disposition behind our handler.  False: our handler was never installed. */
bool ipo_guard_behind(struct sigaction *action);
/* Reports a SIGBUS that ends the process to fatal.c from now on.  `is_library_handler`: the handler behind ours
 * is the MPI library's, and ends the process, too. */
void ipo_guard_report(bool is_library_handler);
/* Ends these reports. */
void ipo_guard_quiet(void);

/* The wrapper for sigaction, signal and the like, by which the program sees its own dispositions; NULL for other
 * names. */
void (*ipo_guard_wrapper_of(enum ipo_libc row))(void);

/* Notes of the process on its own end: the signal that ends it and who sent it, or the code that it leaves with.
 * The notes are words in the head of the file (struct trc_end).  Nothing relies on them. */

/* Begins to note: finds the functions needed later, and hooks exit() for its code.  Once, in the program's thread. */
void ipo_ending_start(void);

/* Writes which signals would be noted, a bit each. */
void ipo_ending_watch(uint64_t signals);

/* Notes that a signal ends this process.  False: the end was noted before, or is not this process's.  In the
 * handler. */
bool ipo_ending_signal(int number, const siginfo_t *info);

/* MPI_Abort is called: in a handler of the program's own for a signal, notes that one and takes the stack.  In the
 * program's thread. */
void ipo_ending_aborted(void);
/* The MPI library has printed `text`: if it says that an error ends the process, notes that, with the reason, and takes
 * the stack: the launcher may kill the process at once.  In the program's thread. */
void ipo_ending_printed(const char *text);
/* The wrapper for exit, _exit, _Exit and quick_exit; NULL for other names. */
void (*ipo_ending_wrapper_of(enum ipo_libc row))(void);

/* Moments at which stacks are taken: nothing has moved for a while, a call takes far longer than ever, or a user
 * requests them. */

/* Notes the folder of requests, before the program can change its directory.  Once, before the first Init, in the
 * program's thread. */
void ipo_triggers_start(void);
/* Records stacks if they are due.  Our own thread, each round. */
void ipo_triggers_round(void);
