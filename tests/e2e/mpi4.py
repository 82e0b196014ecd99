# timeout: 120
"""What only an MPI-4 library has: partitioned messages, persistent collectives, sessions.  Debian's Open MPI is older, so
its MPICH does it, where it is installed."""
import json
import os
import shutil
import subprocess

from common import TOP, check, end, environment, report, run, skip_all
from compare import differences

if not shutil.which("mpicc.mpich") or not shutil.which("mpirun.mpich"):
    skip_all("no MPICH here, and Open MPI has no MPI-4 before 5.0")
for name in ("partitioned", "persistent_collectives", "sessions", "ring"):
    subprocess.run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-w", "-o", name, os.path.join(TOP, "workloads", name + ".c")],
                   check=True)
    truth = os.path.abspath(name + ".json")
    plain = run(["mpirun.mpich", "-n", "2", "./" + name], environment(None, False))
    done = run(["mpirun.mpich", "-n", "2", "./" + name], environment(name + ".trace", TRUTH=truth))
    if plain.code == 77:
        skip_all("this MPICH is older than MPI 4.0")
    rep = report(name + ".trace") if check(name + " runs", done.code == plain.code == 0, done) else None
    if rep:
        with open(truth) as f:
            want = json.load(f)
        if name == "sessions":  # there is no MPI_COMM_WORLD to have a rank in
            want.update(ranks_detail=[], pairs=[])
        wrong = differences(want, rep)
        check(name, not wrong, "; ".join(wrong[:12]))
end()
