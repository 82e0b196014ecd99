# timeout: 3000
# alone
# long
"""A site that records every job, at length: a time limit, memory that is out, a node that is gone, and two hundred jobs at once,
well and otherwise: a row each, a verdict that is true, and a page that says the same.  What recording all of them costs is
printed."""
import glob
import os
import random
import re
import signal
import statistics
import time

import slurm_site
from common import check, end, run, wait_for, workload
from slurm_site import SITE, SRUN, ended, jobs, submit

JOBS = 200
GROWS = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; me == 2 && i < 200; i++, usleep(100000))
        memset(malloc(16 << 20), 1, 16 << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def files_of(job):
    return glob.glob(os.path.join(SITE, job, "*.hpctop"))


def row_of(name, job):
    """The row of a job that has ended, if its page says the same."""
    check("%s: it ends" % name, wait_for(lambda: ended(job), 300))
    check("%s: it has a row" % name, wait_for(lambda: job in jobs(), 120), sorted(jobs()))
    row = jobs().get(job)
    if row:
        check("%s: its page says the same" % name, row["page"] and slurm_site.says(row), row)
        print("%s: %s, %s, %s: %s" % (name, row["said"], row["state"], row["verdict"], row["answer"]))
    return row or {"state": "", "verdict": "", "answer": "", "ranks": 0, "said": None}


def time_limit():
    job = submit(SRUN + workload("hang_recv"), "-t", "1")
    row = row_of("time limit", job)
    check("time limit: the hang is seen", row["verdict"] == "hung" and row["ranks"] == 4, row)
    check("time limit: Slurm says so", row["said"] == "Slurm: TimeLimit", row)


def out_of_memory():
    with open("grows.c", "w") as f:
        f.write(GROWS)
    made = run(["mpicc", "-o", "grows", "grows.c"])
    check("a program that grows", made.code == 0, made)
    job = submit(SRUN + os.path.abspath("grows"), "--mem=800")
    row = row_of("out of memory", job)
    check("out of memory: it did not end by itself", row["state"] == "aborted" and row["verdict"] in ("aborted", "hung"), row)
    check("out of memory: Slurm's code", row["said"] == "Slurm: exit code 137, signal 0", row)


def node_gone():
    """Slurm's daemon, its steps and all ranks of one node die at once; then the node is said to be down."""
    job = submit(SRUN + workload("stencil") + " 300", "--no-requeue")
    check("node gone: all ranks run", wait_for(lambda: len(files_of(job)) == 4))
    time.sleep(3)
    gone = [int(os.path.basename(f).split(".")[1]) for f in files_of(job) if os.path.basename(f).startswith("n2.")]
    check("node gone: it had ranks", len(gone) == 2, files_of(job))
    with open("slurmd-n2.pid") as f:
        slurmd = int(f.read())
    steps = set()
    for pid in gone:
        with open("/proc/%d/stat" % pid) as f:
            steps.add(int(f.read().rsplit(")", 1)[1].split()[1]))  # who started it: slurmstepd
    for pid in [slurmd] + sorted(steps) + gone:  # a step that lives would tell the others
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    run(["scontrol", "update", "nodename=n2", "state=down", "reason=gone"])
    row = row_of("node gone", job)
    check("node gone: it did not end by itself", row["state"] == "aborted" and row["verdict"] == "aborted" and row["ranks"] == 4, row)


KINDS = {  # what is run, how it ends, and whom its answer names
    "well": ("ring", ("finished",), ("healthy", "slow"), ""),
    "late": ("planted one", ("finished",), ("slow", "healthy"), "rank 1"),
    "hung": ("hang_recv", ("hung", "aborted"), ("hung", "aborted"), "rank"),
    "killed": ("kill_self", ("aborted",), ("aborted", "hung"), "rank"),
    "aborts": ("abort", ("aborted",), ("aborted",), "rank"),
}


def two_hundred():
    rng = random.Random(7)
    plan = [rng.choice(("well", "well", "well", "late", "hung", "killed", "aborts")) for _ in range(JOBS)]
    begin = time.time()
    ids = {submit(SRUN + workload(KINDS[kind][0].split()[0]) + " " + " ".join(KINDS[kind][0].split()[1:]), "-N1", "-n3" if kind == "late" else "-n2", "-O"): kind
           for kind in plan}
    check("two hundred jobs are taken", len(ids) == JOBS and all(ids), len(ids))
    left = {job for job, kind in ids.items() if kind == "hung"}
    while left and time.time() - begin < 2000:  # a person looks after those that hang
        for job in sorted(left):
            if len(files_of(job)) == 2 and time.time() - max(os.path.getmtime(f) for f in files_of(job)) > 0 and ended_or_old(job):
                run(["scancel", job])
                left.discard(job)
        time.sleep(0.5)
    check("all of them end", wait_for(lambda: all(ended(job) for job in ids), 1000, 2))
    check("all of them have a row", wait_for(lambda: set(ids) <= set(jobs()), 300, 2), len(set(ids) - set(jobs())))
    rows = jobs()
    wrong = []
    for job, kind in ids.items():
        row, (_, states, verdicts, names) = rows.get(job), KINDS[kind]
        if not row or row["state"] not in states or row["verdict"] not in verdicts or names not in row["answer"] or not slurm_site.says(row):
            wrong.append((kind, row and (row["state"], row["verdict"], row["answer"])))
    check("each row and page is true", not wrong, (len(wrong), wrong[:4]))
    sizes = [os.path.getsize(f) for job in ids for f in files_of(job)]
    print("%d jobs in %.0f s; the largest trace of a rank %d kB" % (JOBS, time.time() - begin, max(sizes) // 1024))


def ended_or_old(job):
    """Whether it ran for three seconds, in which a hang shows."""
    began = min(os.path.getctime(f) for f in files_of(job))
    return time.time() - began > 3


def cost():
    """The same job, with and without, in turn: by Slurm's own start to end, and by the program's."""
    took = {"": [], "export HPCTOP_DISABLE=1; ": []}
    for i in range(10):
        for before, times in took.items():
            begin = time.time()
            r = run(["srun", "--mpi=pmix", "-n4", "-N2", "sh", "-c", before + "exec " + workload("changed") + " 600 0"])
            times.append(time.time() - begin)
            if r.code != 0:
                check("the job that is timed", False, r)
                return
    with_it, without = (statistics.median(times) for times in took.values())
    print("a job of 600 iterations: %.3f s recorded, %.3f s not: %+.2f %%; spread of those that are not %.2f %%" % (
        with_it, without, 100 * (with_it / without - 1), 100 * (max(took["export HPCTOP_DISABLE=1; "]) / min(took["export HPCTOP_DISABLE=1; "]) - 1)))


if slurm_site.start("JobRequeue=0", "JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=task=1", "JobAcctGatherParams=OverMemoryKill",
                    "SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=400"):
    for part in (out_of_memory, time_limit, two_hundred, cost, node_gone):
        if os.environ.get("ONLY", part.__name__) == part.__name__:
            part()
end()
