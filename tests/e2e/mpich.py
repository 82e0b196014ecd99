# timeout: 300
"""The same workloads under the system's MPICH, by the same libtrace.so.  2 ranks at most: MPICH spins while it waits.
More MPIs: make check-matrix."""
import os
import shutil
import subprocess

from common import TOP, end, environment, run, skip_all
from spawn_many import spawned_many
from truths import HYDRA_CODES, WORKLOADS, hold, most_ranks

if not shutil.which("mpicc.mpich") or not shutil.which("mpirun.mpich"):
    skip_all("no MPICH here (Debian's packages mpich and libmpich-dev)")
# Seconds of sleeping or sheer numbers: under Open MPI, and in check-matrix.
LONG = ("late_sender", "late_receiver", "late_collective", "imbalance", "pingpong", "stencil", "selfcall", "large_count")


def program(name):
    return os.path.abspath(name)


def mpirun(ranks, command, folder, preload=True, **env):
    return run(["mpirun.mpich", "-n", str(ranks)] + command, environment(folder, preload, **env))


todo = [(name, arguments, most_ranks(counts, 2)) for name, arguments, counts in WORKLOADS if name not in LONG]
for name in sorted({name for name, _, ranks in todo if ranks} | {"spawn_many"}):
    subprocess.run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-w", "-o", name,
                    os.path.join(TOP, "workloads", name + ".c"), "-lpthread", "-lm"], check=True)
for name, arguments, ranks in todo:
    if ranks:
        hold(name, arguments, ranks, mpirun, program, HYDRA_CODES, brief=True)
spawned_many("spawn_many", mpirun, program("spawn_many"))
end()
