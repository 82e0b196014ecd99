# timeout: 120
"""The recorder asks MPI nothing that MPI refuses: handles of all kinds, under Open MPI and MPICH.  In other MPIs: make
check-matrix.  Which calls it makes for itself: interpose/mpi/own_calls.def."""
import os
import shutil
import subprocess

import handles
from common import TOP, end, environment, mpirun, run, skip, workload


def mpich(ranks, command, folder, preload):
    return run(["mpirun.mpich", "-n", str(ranks)] + command, environment(folder, preload))


handles.hold("", mpirun, workload("handles"))
if shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"):
    subprocess.run(["mpicc.mpich", "-w", "-o", "handles", os.path.join(TOP, "workloads/handles.c")], check=True)
    handles.hold("MPICH", mpich, "./handles")
else:
    skip("MPICH", "no MPICH here (Debian's packages mpich and libmpich-dev)")
end()
