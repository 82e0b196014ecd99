# timeout: 200
"""The record path makes no system call and allocates nothing: ten times the calls cost (next to) no more of either.
What is allowed is a few for each time that the file grows (as much again as there is, up to 1 MiB)."""
import os
import shutil
import subprocess

from common import LIBTRACE, check, end, environment, run, skip, workload

FEW, MANY = 20000, 220000  # calls
ALLOWED = 40
# Open MPI looks around by these; sched_yield waits while our own thread, which a busy machine keeps waiting, makes room.
WAITING = ("clock_nanosleep(", "epoll_wait(", "poll(", "sched_yield(")
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static long count;
void *malloc(size_t n) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); return __libc_realloc(p, n); }
__attribute__((destructor)) static void tell(void)
{
    char text[64];
    int n = snprintf(text, sizeof text, "allocations %ld\n", count);
    (void)!write(2, text, (size_t)n);
}
"""


def singleton(traced, *more):
    """The environment of one process without mpirun, so that nothing but the program is counted."""
    preload = ":".join(([LIBTRACE] if traced else []) + list(more)) or None
    env = environment("trace", preload, OMPI_MCA_mpi_yield_when_idle="0") if preload else \
        environment("trace", False, OMPI_MCA_mpi_yield_when_idle="0")
    shutil.rmtree("trace", ignore_errors=True)
    return env


def system_calls(mode, traced):
    """Made by the thread that calls MPI, while it makes MANY calls: between the two marks of the workload."""
    env = singleton(traced)
    preload = env.pop("LD_PRELOAD", None)
    command = ["strace", "-f", "-o", "calls.txt"] + (["-E", "LD_PRELOAD=" + preload] if preload else [])
    done = run(command + [workload("selfcall"), mode, str(MANY)], env, 100)
    if done.code != 0:
        return None
    with open("calls.txt") as f:
        lines = [line.split(None, 1) for line in f if "exited with" not in line and "<... " not in line]
    mine = [call for pid, call in lines if pid == lines[0][0]]
    marks = [i for i, call in enumerate(mine) if call.startswith("getppid(")][-2:]
    return [call for call in mine[marks[0] + 1:marks[1]] if not call.startswith(WAITING)] if len(marks) == 2 else None


def allocations(mode, calls, traced):
    done = run([workload("selfcall"), mode, str(calls)], singleton(traced, os.path.abspath("counter.so")), 100)
    lines = [line for line in done.err.splitlines() if line.startswith("allocations ")]
    return int(lines[-1].split()[1]) if done.code == 0 and lines else None


def no_system_calls(mode):
    bare, traced = system_calls(mode, False), system_calls(mode, True)
    if bare is None or traced is None:
        return check("no system call: " + mode, False, "could not be measured")
    return check("no system call: " + mode, len(traced) <= len(bare) + ALLOWED,
                 "%d for %d calls, without libtrace.so %d: %s" % (len(traced), MANY, len(bare), traced[:5]))


def no_allocations(mode):
    for _ in range(3):  # MPI_Init allocates a varying number of times: once without such noise is enough
        seen = {(t, n): allocations(mode, n, t) for t in (False, True) for n in (FEW, MANY)}
        if any(v is None for v in seen.values()):
            return check("no allocation: " + mode, False, "could not be measured: %s" % seen)
        bare, traced = seen[False, MANY] - seen[False, FEW], seen[True, MANY] - seen[True, FEW]
        if abs(bare) <= ALLOWED and abs(traced) <= ALLOWED:
            break
    return check("no allocation: " + mode, traced <= ALLOWED,
                 "%d more for %d more calls, without libtrace.so %d" % (traced, MANY - FEW, bare))


if run(["strace", "-o", "/dev/null", "true"]).code != 0:
    skip("no system call", "strace may not trace here")
else:
    for mode in ("rank", "allreduce", "pt2pt", "iprobe"):
        no_system_calls(mode)
with open("counter.c", "w") as f:
    f.write(COUNTER)
subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "counter.so", "counter.c"], check=True)
for mode in ("rank", "allreduce", "pt2pt", "iprobe"):
    no_allocations(mode)
end()
