# timeout: 240
# waits
"""Signals of the program, with and without libtrace.so: handlers with SA_ONSTACK have as much room, no wait is
interrupted while stacks are taken, and no signal is used for that."""
import os
import re
import subprocess

from common import check, end, environment, hpctop, run, skip

ROOM = r"""
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
static volatile int big = 200000;
static char *inside, *outside;
static sigjmp_buf back;
static int leave;
static void handler(int number, siginfo_t *info, void *context)
{
    char room[big];
    memset(room, number, sizeof room);
    inside = room;
    stack_t now;
    sigaltstack(NULL, &now);
    printf("signal %d, code %d, room %d, alternate stack %d, on the thread's own %d\n", number, info->si_code, room[big / 2],
           now.ss_flags, inside < outside && outside - inside < 1000000 && context != NULL);
    if (leave)
        siglongjmp(back, 1);
}
static void *use(void *name)
{
    char here;
    stack_t now;
    outside = &here;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (leave = 0; leave < 2; leave++)
        if (!sigsetjmp(back, 1)) {
            raise(SIGUSR1);
            raise(SIGUSR2);
        }
    sigaltstack(NULL, &now);
    printf("%s: alternate stack %d\n", (char *)name, now.ss_flags);
    return NULL;
}
int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    int provided;
    pthread_t thread;
    if (argc == 1)
        sigaction(SIGUSR1, &action, NULL);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    use("main");
    pthread_create(&thread, NULL, use, "thread");
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
"""

WAITS = r"""
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
static atomic_int stop;
static atomic_long waits, interrupted, caught;
static volatile double sum;
/* Between short waits it runs. */
static void *wait_often(void *unused)
{
    int epoll = epoll_create1(0);
    sem_t never;
    struct epoll_event event;
    sem_init(&never, 0, 0);
    while (!stop) {
        struct timespec t = {.tv_nsec = 1000}, until;
        clock_gettime(CLOCK_REALTIME, &until);
        int failed[] = {nanosleep(&t, NULL) ? errno : 0, poll(NULL, 0, 1) ? errno : 0,
                        epoll_wait(epoll, &event, 1, 1) ? errno : 0, sem_timedwait(&never, &until) ? errno : 0};
        for (int i = 0; i < 4; i++)
            interrupted += failed[i] == EINTR;
        waits += 4;
        for (int i = 0; i < 20000; i++)
            sum += i;
    }
    return unused;
}
/* Signals from 34 on that have a handler. */
static void *watch(void *unused)
{
    while (!stop) {
        char line[200];
        unsigned long long mask = 0;
        FILE *status = fopen("/proc/self/status", "r");
        while (fgets(line, sizeof line, status))
            sscanf(line, "SigCgt: %llx", &mask);
        fclose(status);
        caught += mask >> 34 != 0;
    }
    return unused;
}
static void *compute(void *unused)
{
    while (!stop)
        sum += 1;
    return unused;
}
int main(int argc, char **argv)
{
    void *(*const role[])(void *) = {wait_often, wait_often, watch, compute};
    pthread_t thread[4];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, role[i], NULL);
    for (int i = 0; i < 400; i++) {
        struct timespec t = {.tv_nsec = 10000000};
        interrupted += nanosleep(&t, NULL) != 0;
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("interrupted %ld, signals caught %ld, waited %d\n", interrupted, caught, waits > 0);
    MPI_Finalize();
    return 0;
}
"""


def build(name, source, compiler="mpicc"):
    with open(name + ".c", "w") as f:
        f.write(source)
    r = run([compiler, "-D_GNU_SOURCE", "-Wall", "-O1", "-o", name, name + ".c", "-lpthread"])
    return check(name + " compiles", r.code == 0, r)


def has_room(compiler, name):
    if subprocess.run(["sh", "-c", "command -v " + compiler], stdout=subprocess.DEVNULL).returncode:
        return skip(name, "no " + compiler)
    if not build(name, ROOM, compiler):
        return None
    own = {"UCX_HANDLE_ERRORS": "none"}  # else UCX 1.18 gives each thread an alternate stack, too small for this
    for arguments in ([], ["late"]):
        bare = run(["./" + name] + arguments, environment(None, False, **own))
        with_us = run(["./" + name] + arguments, environment(name + "-trace", **own))
        check("%s %s: handlers with SA_ONSTACK and 200 kB" % (name, arguments),
              bare.code == with_us.code == 0 and bare.out == with_us.out and bare.out.count("own 1") >= 3, (str(bare), str(with_us)))
    return None


has_room("mpicc", "room")
has_room("mpicc.mpich", "room-mpich")
if build("waits", WAITS):
    done = run(["./waits"], environment("waits-trace", HPCTOP_HANG="0.2"))
    check("no wait is interrupted, no signal is used", done.code == 0 and "interrupted 0, signals caught 0, waited 1" in done.out, done)
    taken = len(re.findall(r"^  why\t", hpctop("dump", "waits-trace").out, re.M))
    check("stacks were taken meanwhile", taken >= 2, (taken, os.listdir(".")))
end()
