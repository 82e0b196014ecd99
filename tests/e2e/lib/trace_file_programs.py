"""Programs for trace_file.py."""
import subprocess

TAKES = r"""
/* takes reused|closed: closes the trace's descriptor as a stale close would; reused: a result gets that number. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int me, found = -1;
    double in = 1, out;
    char name[64], link[64], path[4096], block[4096] = {1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int fd = 3; fd < 70000; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        if (n > 7 && memcmp(path + n - 7, ".hpctop", 7) == 0)
            found = fd;
    }
    snprintf(name, sizeof name, "result.%s.%d", argv[1], me);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (found >= 0 && strcmp(argv[1], "reused") == 0) {
        dup2(fd, found);
        close(fd);
        fd = found;
    } else if (found >= 0) {
        close(found);
    }
    for (int i = 0; i < 2048; i++)
        if (write(fd, block, sizeof block) != sizeof block)
            return 3;
    for (int i = 0; i < 400000; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}
"""

FAULTS = r"""
/* faults cut SIZE HANDLER: cuts the process's own trace file; own 0 HANDLER: a SIGBUS of the program's own; wait;
 * plain.
 * HANDLER: none, or when one for SIGBUS is installed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *map;
static sigjmp_buf back;
static int seen, seen_old;
static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    seen += number == SIGBUS && (char *)info->si_addr == map + 4096;
    siglongjmp(back, 1);
}
static void on_old(int number)
{
    seen_old += number == SIGBUS;
    siglongjmp(back, 1);
}
static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGBUS, NULL, &old);
    printf("sees its own: %d\n", old.sa_sigaction == on_bus && (old.sa_flags & SA_SIGINFO));
}
static void calls(void)
{
    double in = 1, out;
    for (int i = 0; i < 100000; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}
static void *other(void *unused)
{
    calls();
    return unused;
}
static void cut(const char *size)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.%d.*.hpctop", getenv("HPCTOP_DIR"), (int)getpid());
    if (glob(pattern, 0, NULL, &found) != 0)
        exit(4);
    if (strcmp(size, "removed") == 0 ? unlink(found.gl_pathv[0]) : truncate(found.gl_pathv[0], atol(size)))
        exit(5);
}
static void own_fault(void)
{
    FILE *empty = tmpfile();
    map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(empty), 0);
    if (!sigsetjmp(back, 1))
        map[4096] = 1;
}
int main(int argc, char **argv)
{
    int level;
    const char *what = argv[1], *handler = argc > 3 ? argv[3] : "none";
    struct sigaction first;
    pthread_t thread;
    if (!strcmp(handler, "before") || !strcmp(handler, "both"))
        install();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (!strcmp(handler, "after") || !strcmp(handler, "both") || !strcmp(handler, "restored"))
        install();
    if (!strcmp(handler, "restored")) {
        struct sigaction mine;
        void (*was)(int) = signal(SIGBUS, on_old);
        printf("signal gives the old one: %d\n", (void *)was == (void *)on_bus);
        sigaction(SIGBUS, NULL, &mine);
        install();
        sigaction(SIGBUS, &mine, &first);
    }
    if (!strcmp(handler, "python"))
        signal(SIGBUS, on_old);
    if (!strcmp(handler, "reset")) {
        struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_RESETHAND};
        sigaction(SIGBUS, &action, NULL);
    }
    if (!strcmp(handler, "sigset")) {
        printf("sigset gives the default: %d\n", sigset(SIGBUS, on_old) == SIG_DFL);
        printf("sigset gives the old one: %d\n", sigset(SIGBUS, on_old) == on_old);
    }
    if (!strcmp(handler, "interrupt")) {
        signal(SIGBUS, on_old);
        siginterrupt(SIGBUS, 1);
    }
    if (!strcmp(handler, "default")) {
        struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_SIGINFO};
        sigaction(SIGBUS, &action, NULL);
    }
    if (!strcmp(what, "own")) {
        own_fault();
        printf("mine: %d, old: %d\n", seen, seen_old);
        sigaction(SIGBUS, NULL, &first);
        printf("default now: %d, flags %x\n", first.sa_handler == SIG_DFL, (unsigned)first.sa_flags);
        fflush(stdout);
    }
    if (!strcmp(what, "cut")) {
        pthread_create(&thread, NULL, other, NULL);
        calls();
        cut(argv[2]);
        calls();
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, other, NULL);
        pthread_join(thread, NULL);
        usleep(300000);
    }
    if (!strcmp(what, "wait")) {
        calls();
        usleep(1500000); /* pages are written back twice a second */
    }
    MPI_Finalize();
    if (!strcmp(what, "cut") || !strcmp(what, "wait"))
        puts("alive");
    return 0;
}
"""

BAD_DISK = r"""
/* Preloaded: every folder is on a ZFS, whose disk is full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *out)
{
    int (*real)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    int failed = real(path, out);
    out->f_type = 0x2fc12fc1;
    return failed;
}
long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), to[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        to[i] = va_arg(more, long);
    va_end(more);
    if (number != SYS_msync)
        return real(number, to[0], to[1], to[2], to[3], to[4], to[5]);
    errno = ENOSPC;
    return -1;
}
"""


def build(name, source, *flags):
    with open(name + ".c", "w") as f:
        f.write(source)
    subprocess.run(["mpicc", "-O1", "-pthread", "-o", name, name + ".c"] + list(flags), check=True)
