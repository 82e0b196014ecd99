# timeout: 120
"""What a program can see of its own process, and the limits it runs into, are the same with and without libtrace.so:
signals, umask, folder, locale, descriptors, children of every kind; limits on file sizes, processes and descriptors."""
import re

from common import check, end, mpirun, report, run

SEEN = r"""
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static void state(const char *when)
{
    sigset_t set;
    stack_t stack;
    char folder[4096], name[20];
    int death, free_one = dup(0);
    close(free_one);
    for (int i = 0; i < 50; i++) { /* a thread of the MPI library's or ours may be reading a file */
        int again = dup(0);
        free_one = again < free_one ? again : free_one;
        close(again);
        usleep(1000);
    }
    sigprocmask(SIG_BLOCK, 0, &set);
    sigaltstack(0, &stack);
    mode_t mask = umask(0);
    umask(mask);
    prctl(PR_GET_NAME, name);
    prctl(PR_GET_PDEATHSIG, &death);
    printf("%s: umask %o, folder %s, locale %s, alternate stack %d, dumpable %d, name %s, slack %d, death %d, next descriptor %d, blocked",
           when, mask, getcwd(folder, sizeof folder), setlocale(LC_ALL, 0), stack.ss_flags, prctl(PR_GET_DUMPABLE), name,
           prctl(PR_GET_TIMERSLACK), death, free_one);
    for (int i = 1; i < 65; i++)
        if (sigismember(&set, i) == 1)
            printf(" %d", i);
    printf(", handled");
    for (int i = 1; i < 65; i++) { /* but for the fatal ones, which libtrace.so hands on */
        struct sigaction action;
        if (i != SIGILL && i != SIGABRT && i != SIGBUS && i != SIGFPE && i != SIGSEGV && i != SIGTRAP && i != SIGSYS &&
            sigaction(i, 0, &action) == 0 && action.sa_handler != SIG_DFL)
            printf(" %d", i);
    }
    printf("\n");
}
static char stack[1 << 16];
static int seven(void *unused)
{
    (void)unused;
    _exit(7);
}
static void ended(const char *how, pid_t child)
{
    int status = 0;
    printf("%s: %d", how, waitpid(child, &status, 0) == child);
    printf(" %x\n", (unsigned)status);
}
extern char **environ;
int main(int argc, char **argv)
{
    pid_t child;
    MPI_Comm comm;
    char *words[] = {"sh", "-c", "exit 5", 0};
    setvbuf(stdout, 0, _IOLBF, 0);
    state("before");
    MPI_Init(&argc, &argv);
    state("inside");
    errno = 77;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    if ((child = vfork()) == 0) {
        execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; ls -l /proc/self/fd | grep -c '[.]hpctop'; exit 4", (char *)0);
        _exit(9);
    }
    ended("vfork", child);
    posix_spawn(&child, "/bin/sh", 0, 0, words, environ);
    ended("posix_spawn", child);
    ended("clone", clone(seven, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, 0));
    if ((child = fork()) == 0) {
        int me, tasks = 0;
        char line[100];
        FILE *of = fopen("/proc/self/status", "r");
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        while (fgets(line, sizeof line, of))
            sscanf(line, "Threads: %d", &tasks);
        _exit(tasks);
    }
    ended("fork", child);
    MPI_Comm_free(&comm);
    state("end");
    for (int i = 3; i < 1024; i++)
        close(i);
    printf("mine: %d\n", open("mine", O_RDWR | O_CREAT, 0600));
    _exit(8);
}
"""

LIMITED = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const int which[] = {RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_NOFILE};
    int me;
    long sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        struct rlimit limit = {(rlim_t)atol(argv[i + 1]), (rlim_t)atol(argv[i + 1])};
        if (limit.rlim_cur && setrlimit((__rlimit_resource_t)which[i], &limit))
            return 9;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (long i = 0; i < 200000; i++) { /* megabytes of trace: no two records have the same length */
        long x = i;
        MPI_Allreduce(&x, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_SELF);
        MPI_Allreduce(&x, &sum, 1, MPI_LONG, i % 3 ? MPI_MAX : MPI_MIN, MPI_COMM_SELF);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %ld\n", me, sum);
    return MPI_Finalize(); /* not 3, say: mpirun would kill the other rank in its MPI_Finalize */
}
"""


def build(name, source):
    with open(name + ".c", "w") as f:
        f.write(source)
    r = run(["mpicc", "-D_GNU_SOURCE", "-o", name, name + ".c"])
    return check(name + " compiles", r.code == 0, r)


if build("seen", SEEN):
    bare, with_us = mpirun(1, "./seen", preload=False), mpirun(1, "./seen", "seen-trace")
    same = [(a, b) for a, b in zip(bare.out.splitlines(), with_us.out.splitlines()) if a != b]
    check("what a program sees of its process", bare.code == with_us.code == 8 and len(bare.out) == len(with_us.out) and not same, (same, str(with_us)))
    check("and it was recorded", re.search(r"MPI_Comm_dup", str(report("seen-trace"))))

if build("limited", LIMITED):
    for label, limits in (("file sizes, soon", "1000000 0 0"), ("file sizes, later", "2500000 0 0"), ("processes", "0 1 0"),
                          ("descriptors", "0 0 24")):
        folder = "limit-" + label.replace(", ", "-").replace(" ", "-")
        bare = mpirun(2, ["./limited"] + limits.split(), preload=False)
        with_us = mpirun(2, ["./limited"] + limits.split(), folder)
        check("a limit on " + label, bare.code == with_us.code == 0 and sorted(bare.out.split("\n")) == sorted(with_us.out.split("\n")), with_us)
        rep = report(folder)
        check("a limit on %s: it was recorded" % label, rep and rep["job"]["ranks"] == 2 and rep["job"]["state"] == "finished", rep and rep["job"])
end()
