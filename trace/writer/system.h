/* System calls of the recorder.  By number, through syscall(2): the functions of libc that may wait are cancellation
 * points, at which a thread of the program would end inside a call of MPI.  Each sets errno and returns -1 on failure,
 * as in libc.  Any thread; safe in signal handlers. */
#pragma once

#include "trace/writer/quiet.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Opens a file by a path from `folder` on: openat(2). */
static inline int trc_sys_open_at(int folder, const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, (long)folder, path, (long)flags, (long)mode);
}

/* Opens a file for reading. */
static inline int trc_sys_open(const char *path)
{
    return trc_sys_open_at(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* close(2). */
static inline int trc_sys_close(int fd)
{
    return (int)syscall(SYS_close, (long)fd);
}

/* read(2). */
static inline ssize_t trc_sys_read(int fd, void *to, size_t bytes)
{
    return syscall(SYS_read, (long)fd, to, bytes);
}

/* pread(2): at byte `at` of the file. */
static inline ssize_t trc_sys_read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    return syscall(SYS_pread64, (long)fd, to, bytes, at);
}

/* write(2). */
static inline ssize_t trc_sys_write(int fd, const void *from, size_t bytes)
{
    return syscall(SYS_write, (long)fd, from, bytes);
}

/* pwrite(2): at byte `at` of the file. */
static inline ssize_t trc_sys_write_at(int fd, const void *from, size_t bytes, uint64_t at)
{
    return syscall(SYS_pwrite64, (long)fd, from, bytes, at);
}

/* Allocates blocks of a file.  May wait for the file system. */
static inline int trc_sys_allocate(int fd, uint64_t from, uint64_t bytes)
{
    return (int)syscall(SYS_fallocate, (long)fd, 0l, from, bytes);
}

/* msync(2): writes pages of a mapped file back.  May wait for the file system. */
static inline int trc_sys_sync_pages(void *from, size_t bytes, int how)
{
    return (int)syscall(SYS_msync, from, bytes, (long)how);
}

/* Duplicates a descriptor to the lowest free number that is not below `least`. */
static inline int trc_sys_duplicate(int fd, int least)
{
    return (int)syscall(SYS_fcntl, (long)fd, (long)F_DUPFD_CLOEXEC, (long)least);
}

/* Waits until `word` is woken, unless it has another value than `value`; for `ns` at most. */
static inline void trc_sys_wait(const void *word, unsigned value, uint64_t ns)
{
    struct timespec most = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    syscall(SYS_futex, word, (long)FUTEX_WAIT_PRIVATE, (long)value, &most, NULL, 0l);
}

/* Wakes up to `threads` threads that wait for `word`. */
static inline void trc_sys_wake(const void *word, int threads)
{
    syscall(SYS_futex, word, (long)FUTEX_WAKE_PRIVATE, (long)threads, NULL, NULL, 0l);
}

/* Sleeps; a signal handler may end it early. */
static inline void trc_sys_sleep(long ns)
{
    struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_nanosleep, &pause, NULL);
}
