/* The gate before the kernel.  A seccomp filter that the program installs may end it for any system call that it does
 * not make itself: from then on the recorder makes none in the threads that have the filter, whatever it is for.  To be
 * included by all that runs in the traced process; (syscall)(..) passes the gate. */
#ifndef TRC_QUIET_H
#define TRC_QUIET_H

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum trc_quiet { TRC_ALL_MAY_ASK, TRC_OWN_MAY_ASK, TRC_NOBODY_MAY_ASK };
extern __attribute__((visibility("hidden"))) atomic_int trc_quiet;
/* Whether the calling thread is one of our own. */
extern __attribute__((visibility("hidden"))) __thread bool trc_is_own;

/* Whether the calling thread makes no system call.  Any thread. */
static inline bool trc_must_not_ask(void)
{
    int quiet = atomic_load_explicit(&trc_quiet, memory_order_relaxed);
    return __builtin_expect(quiet != TRC_ALL_MAY_ASK, 0) && (quiet == TRC_NOBODY_MAY_ASK || !trc_is_own);
}

/* Fails as a system call that is not allowed. */
static inline long trc_refuse(void)
{
    errno = EPERM;
    return -1;
}

#define TRC_ASK(call)          (trc_must_not_ask() ? (int)trc_refuse() : call)
#define syscall(...)           (trc_must_not_ask() ? trc_refuse() : syscall(__VA_ARGS__))
#define mmap(...)              (trc_must_not_ask() ? (void *)trc_refuse() : mmap(__VA_ARGS__))
#define munmap(at, bytes)      TRC_ASK(munmap(at, bytes))
#define mprotect(at, bytes, p) TRC_ASK(mprotect(at, bytes, p))
#define madvise(at, bytes, a)  TRC_ASK(madvise(at, bytes, a))
#define prctl(...)             TRC_ASK(prctl(__VA_ARGS__))
#define getrlimit(what, to)    TRC_ASK(getrlimit(what, to))
#define getrusage(who, to)     TRC_ASK(getrusage(who, to))
#define ftruncate(fd, bytes)   TRC_ASK(ftruncate(fd, bytes))
#define sched_yield()          TRC_ASK(sched_yield())

#endif
