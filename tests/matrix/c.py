# timeout: 1500
# cases: openmpi-4.1.0 openmpi-4.1.4 openmpi-5.0 openmpi-6.0 mpich-3.4 mpich-4.0 mpich-4.2 mpich-5.0
# cases: mpich-4.3 openmpi-4.1.8 openmpi-5.0.11 intel intel-mpich abi-openmpi abi-mpich abi-intel
"""The C workloads in one MPI of the matrix: the one libtrace.so of this build, held to the same known answers."""
import sys

import cell
import handles
from common import skip
from spawn_many import spawned_many
from truths import WORKLOADS, hold, most_ranks

job = cell.Cell(sys.argv[1])
job.build(job.library.cc + " -std=gnu11 -w -O1 -g", "*.c", "-lpthread -lm")
for name, arguments, counts in WORKLOADS:
    ranks = most_ranks(counts, job.library.ranks)
    if name in job.library.refuses:
        skip(name, job.library.refuses[name])
    elif ranks:
        both = hold(name, arguments, ranks, job.mpirun, job.program, job.library.codes, brief=True)
        job.seen(both[1] if both else None)
handles.hold("", job.mpirun, job.program("handles"))
spawned_many("spawn_many", lambda *a: job.mpirun(*a, timeout=100, **job.without_shared_memory()), job.program("spawn_many"))
job.end("C")
