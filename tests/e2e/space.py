# timeout: 240
# waits
"""No room for the trace: the program runs on with its own exit status, and the loss is told."""
import atexit
import json
import os
import random
import re
import subprocess

from common import LIBTRACE, calls, check, end, hpctop, mpirun, report, run, skip, traces, workload


def mounted(size):
    """A file system of this size at ./small."""
    os.makedirs("small", exist_ok=True)
    if os.geteuid() != 0 or run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", "small"]).code != 0:
        return False
    atexit.register(lambda: subprocess.run(["umount", "-l", "small"], check=False, stderr=subprocess.DEVNULL))
    return True


def events(folder):
    return len(re.findall(r"^\d+ +[\d.]+ +[\d.]+ MPI_", hpctop("dump", folder).out, re.M))


def says_full(folder):
    done = hpctop("report", "--all", folder)
    return "no more space" in " ".join(done.out.split()) or "found no space" in " ".join((done.out + done.err).split())


def disk_full():
    if not mounted("2m"):
        skip("full disk", "cannot mount a file system here")
        return
    done = mpirun(2, [workload("pingpong"), "300000"], os.path.abspath("small/trace"))
    check("full disk: the program does not notice", done.code == 0 and not done.err, done)
    rep = report(os.path.abspath("small/trace")) if traces("small/trace") else None
    if check("full disk: the report can be made", rep is not None):
        seen = calls(rep).get("MPI_Send", {}).get("calls")
        check("full disk: counters stay exact", rep["job"]["ranks"] < 2 or seen == 2 * (300000 + 3001), seen)
    done = mpirun(4, [workload("stencil"), "2"], os.path.abspath("small/trace4"))
    check("full disk: 4 ranks do not notice", done.code == 0, done)
    check("full disk: the report says so", says_full(os.path.abspath("small/trace")))
    # What the first job gave back at its end may be enough for the second.
    folder = os.path.abspath("small/trace4")
    told = says_full(folder)
    whole = len(traces(folder)) == 4 and all(map(os.path.getsize, traces(folder)))
    check("full disk: so does that of 4 ranks, unless they had room", told or whole, hpctop("report", "--all", folder))
    run(["umount", "-l", "small"])


def fuller_and_fuller():
    """The room ends anywhere: before a rank's first byte, in its first 100 KB, or not at all.  What is missing is told."""
    chance = random.Random(os.getpid())
    plain = mpirun(2, [workload("pingpong"), "3000"], "roomy")
    if not check("steps: runs", plain.code == 0, plain):
        return
    truth = events("roomy")
    for size in [64, 128, 256, 512, 1024] + sorted(chance.randint(4, 300) for _ in range(5)):
        if not mounted("%dk" % size):
            skip("steps: %d KB" % size, "cannot mount a file system here")
            return
        folder = os.path.abspath("small/trace")
        done = mpirun(2, [workload("pingpong"), "3000"], folder)
        check("steps: %d KB: the program does not notice" % size, done.code == 0 and not done.err, done)
        whole = events(folder) == truth
        check("steps: %d KB: whole, or it is told" % size, whole or says_full(folder), hpctop("report", "--all", folder))
        run(["umount", "-l", "small"])


def read_only():
    os.mkdir("locked", 0o555)
    if os.geteuid() == 0:
        if run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "locked"]).code != 0:
            skip("read-only folder", "root may write everywhere, and cannot mount here")
            return
        atexit.register(lambda: subprocess.run(["umount", "-l", "locked"], check=False))
    done = mpirun(2, workload("ring"), os.path.abspath("locked/trace"))
    check("read-only folder: the program does not notice", done.code == 0 and not done.out and not done.err, done)
    done = mpirun(2, workload("ring"), os.path.abspath("locked/trace"), HPCTOP_VERBOSE="1")
    check("read-only folder: HPCTOP_VERBOSE=1 says why", done.code == 0 and "locked" in done.err, done)
    check("read-only folder: nothing on stdout", not done.out, done.out)


def limited():
    truth = os.path.abspath("truth.json")
    done = mpirun(2, [workload("pingpong"), "300000"], "limited", HPCTOP_LIMIT="2M", TRUTH=truth)
    if not check("HPCTOP_LIMIT: runs", done.code == 0, done):
        return
    sizes = [os.path.getsize(f) for f in traces("limited")]
    check("HPCTOP_LIMIT: the files keep to it", len(sizes) == 2 and max(sizes) <= 2 << 20, sizes)
    rep = report("limited")
    if check("HPCTOP_LIMIT: the report can be made", rep is not None):
        with open(truth) as f:
            want = json.load(f)["calls"]
        for name in ("MPI_Send", "MPI_Recv"):
            seen = {k: calls(rep)[name].get(k) for k in want[name]}
            check("HPCTOP_LIMIT: %s stays exact" % name, seen == want[name], "%s, truth %s" % (seen, want[name]))


def polling():
    done = mpirun(2, workload("polling"), "polling", TRUTH=os.path.abspath("polls.json"))
    if not check("polling: runs", done.code == 0, done):
        return
    with open("polls.json") as f:
        tests = json.load(f)["calls"]["MPI_Test"]["calls"]
    lines = hpctop("dump", "polling").out.count("MPI_Test")
    check("polling: failed tests fold", tests > 10000 and 0 < lines < tests / 100,
          "%d calls of MPI_Test became %d lines" % (tests, lines))


GREEDY = r"""
/* Calls of 6 threads, then 20 MB that are used.  Prints how much address space it needed at most, in KiB. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *calls(void *unused)
{
    double in = 1, out;
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return unused;
}
int main(int argc, char **argv)
{
    int level;
    char line[256];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    for (int i = 0; i < 6; i++) {
        pthread_t thread[2];
        for (int j = 0; j < 2; j++)
            if (pthread_create(&thread[j], NULL, calls, NULL))
                return 9;
        for (int j = 0; j < 2; j++)
            pthread_join(thread[j], NULL);
    }
    for (int i = 0; i < 20; i++) {
        char *memory = malloc(1 << 20);
        if (!memory)
            return 9;
        memset(memory, 1, 1 << 20);
    }
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmPeak:", 7) == 0)
            printf("needs %ld\n", atol(line + 7));
    MPI_Finalize();
    return 0;
}
"""


def address_space():
    """ulimit -v in steps: with 80 MB and the file more than it needs itself, a program fits and is recorded; with less
    there is less of a record, and the program lives while it has what it needs."""
    with open("greedy.c", "w") as f:
        f.write(GREEDY)
    subprocess.run(["mpicc", "-O1", "-pthread", "-o", "greedy", "greedy.c"], check=True)

    def limited_to(kib, folder=None):
        command = ["sh", "-c", "ulimit -v %s; exec ./greedy" % kib]
        done = mpirun(1, command, folder, preload=False) if not folder else mpirun(
            1, ["env", "LD_PRELOAD=" + LIBTRACE] + command, folder, preload=False)
        needs = [int(line.split()[1]) for line in done.out.splitlines() if line.startswith("needs ")]
        return done, needs[0] if needs else None

    done, needs = limited_to("unlimited")
    if not check("address space: runs", needs, done):
        return
    done, with_us = limited_to("unlimited", "unlimited")
    check("address space: at most 80 MB beside the file", with_us and with_us - needs <= (80000 + 64 * 1024),
          "%s KiB, without %s" % (with_us, needs))
    for more in (15000, 30000, 50000, 80000, 80000 + 65536):  # with less, Open MPI's own start may use a null pointer
        done, fits = limited_to(needs + more, "limit-%d" % more)
        check("address space: %d KiB more, not killed" % more, done.code is not None and 0 <= done.code < 128, done)
        if more >= 80000:
            rep = report("limit-%d" % more) if check("address space: %d KiB more, fits" % more, fits, done) else None
            check("address space: %d KiB more, recorded" % more,
                  rep and calls(rep)["MPI_Allreduce"]["calls"] == 12000, rep and calls(rep).get("MPI_Allreduce"))


disk_full()
fuller_and_fuller()
read_only()
limited()
polling()
address_space()
end()
