# timeout: 300
"""Two ranks that come to collectives in opposite order (unit/verdict_pairs has every pair of names): a sample of pairs
under Open MPI and MPICH, looked at while they hang and after they were killed.  Who comes through is no hang."""
import os
import shutil
import subprocess

from common import TOP, check, end, skip, traces, wait_for, workload
from verdicts import kill_group, right, start, hung, verdict

LARGE = "100000"
BOTH = [("iallgather", "igather", "1"), ("iallreduce", "igather", LARGE), ("iscatter", "ireduce", LARGE), ("allgather", "barrier", "1")]
MPICH = [("ibcast", "ibarrier", LARGE), ("iscan", "ibarrier", "1"), ("allreduce_init", "gather_init", LARGE)]
WANT = hung("mismatched-collective", [0, 1])


def one(mpi, launcher, program, first, second, count):
    """True if the program hung; what is said of it then is checked."""
    name = "%s, %s and %s" % (mpi, first, second)
    folder = "p-%s-%s-%s" % (mpi, first, second)
    p = start(2, [program, first, second, count], folder, launcher=launcher)
    found = [None]

    def said():
        if p.poll() is not None:
            return True
        found[0] = verdict(folder)[1] if len(traces(folder)) == 2 else None
        return found[0] is not None and not right(found[0], WANT)

    wait_for(said, 40)
    hangs = p.poll() is None
    if hangs:
        check("%s: live" % name, not right(found[0], WANT), right(found[0], WANT))
        check("%s: both lines" % name, sum("hang_order.c:" in line for line in found[0]["evidence"]) >= 2, found[0])
    kill_group(p)
    if hangs:
        v = verdict(folder)[1]
        check("%s: afterwards" % name, not right(v, WANT), right(v, WANT))
    shutil.rmtree(folder, ignore_errors=True)
    return hangs


def sample(mpi, launcher, program, pairs):
    n = sum(one(mpi, launcher, program, *pair) for pair in pairs)
    print("%s: %d of %d hang" % (mpi, n, len(pairs)))
    check("%s: some of them hang" % mpi, n >= 2, n)


sample("openmpi", "mpirun", workload("hang_order"), BOTH)
if shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"):
    subprocess.run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-g", "-w", "-o", "hang_order",
                    os.path.join(TOP, "workloads", "hang_order.c")], check=True)
    sample("mpich", "mpirun.mpich", os.path.abspath("hang_order"), BOTH + MPICH)
else:
    skip("mpich", "no MPICH here")
end()
