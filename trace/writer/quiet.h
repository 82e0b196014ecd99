/* The gate before the kernel.  A seccomp filter that the program installs may end it for any system call that it does
 * not make itself: from then on the recorder makes none in the threads that have the filter, whatever it is for.  To be
 * included by all that runs in the traced process; (syscall)(..) passes the gate. */
#pragma once

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

#define syscall(...) (trc_must_not_ask() ? trc_refuse() : syscall(__VA_ARGS__))
#define prctl(...)   (trc_must_not_ask() ? (int)trc_refuse() : prctl(__VA_ARGS__))

/* System calls by number: interceptors of other libraries do not see them.  ThreadSanitizer's mmap notes which thread
 * used the descriptor, and reports a race when the program closes that number.  Instrumented code of ours reports
 * its mappings. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define mmap(...)         (trc_must_not_ask() ? (void *)trc_refuse() : mmap(__VA_ARGS__))
#define munmap(at, bytes) (trc_must_not_ask() ? (int)trc_refuse() : munmap(at, bytes))
#else
#define mmap(at, bytes, allowed, flags, fd, from)                                                                      \
    ((void *)syscall(SYS_mmap, (void *)(at), (size_t)(bytes), (long)(allowed), (long)(flags), (long)(fd), (long)(from)))
#define munmap(at, bytes) ((int)syscall(SYS_munmap, (void *)(at), (size_t)(bytes)))
#endif
#define mprotect(at, bytes, p) ((int)syscall(SYS_mprotect, (void *)(at), (size_t)(bytes), (long)(p)))
#define madvise(at, bytes, a)  ((int)syscall(SYS_madvise, (void *)(at), (size_t)(bytes), (long)(a)))
#define getrlimit(what, to)    ((int)syscall(SYS_prlimit64, 0l, (long)(what), NULL, to))
#define getrusage(who, to)     ((int)syscall(SYS_getrusage, (long)(who), to))
#define ftruncate(fd, bytes)   ((int)syscall(SYS_ftruncate, (long)(fd), (long)(bytes)))
#define sched_yield()          ((int)syscall(SYS_sched_yield))
