/* The calls that install a seccomp filter, by which core/filter.h knows that one comes. */
#include "interpose/stacks/stacks_impl.h"
#include "interpose/core/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>

/* A filter without a program is a question whether the kernel knows the flags. */
static void note_prctl(long option, long mode, long filter)
{
    int kept = errno;
    if (option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter)))
        ipo_filter_prepare(false);
    errno = kept;
}

static void note_seccomp(long operation, long flags, long filter)
{
    int kept = errno;
    if (operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter))
        ipo_filter_prepare(operation == SECCOMP_SET_MODE_FILTER && flags & SECCOMP_FILTER_FLAG_TSYNC);
    errno = kept;
}

static int filter_prctl(int option, ...)
{
    long with[4];
    va_list more;
    va_start(more, option);
    for (int i = 0; i < 4; i++)
        with[i] = va_arg(more, long);
    va_end(more);
    note_prctl(option, with[0], with[1]);
    return (prctl)(option, with[0], with[1], with[2], with[3]);
}

/* Ends in a jump: what a system call like clone finds on the stack is as it was (tests/static/elf.sh). */
static long filter_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_seccomp)
        note_seccomp(a, b, c);
    if (number == SYS_prctl)
        note_prctl(a, b, c);
    return IPO_JUMP((syscall), number, a, b, c, d, e, f);
}

void (*ipo_filter_wrapper_of(enum ipo_libc row))(void)
{
    typedef void (*function)(void);
    if (row == IPO_LIBC_prctl)
        return (function)filter_prctl;
    return row == IPO_LIBC_syscall ? (function)filter_syscall : NULL;
}
