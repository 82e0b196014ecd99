# timeout: 400
"""Fortran: every workload of workloads/fortran with 1, 2 and 4 ranks under the MPI that mpifort stands for, and with up
to 2 under MPICH (it spins: 4 ranks on 2 cores take minutes), each held to its own truth, number by number."""
import json
import os
import shutil

from common import BUILD, TOP, check, end, environment, report, run, skip, skip_all, traces
from compare import differences

BINDINGS = ("mpifh", "mpi", "f08")
# Name, arguments, the rank counts beyond 1.
PROGRAMS = [("pingpong_sweep", [], (2, 4)), ("pingpong_classic", ["5000", "30"], (2, 4)), ("halo", [], (2, 4))]
PROGRAMS += [("%s_%s" % (name, binding), [], (2, 4)) for name in ("collectives", "requests", "communicators")
             for binding in BINDINGS]
MPICH = os.path.join(TOP, "build/mpich")


def job(label, launcher, program, arguments, ranks):
    folder, truth = "trace-" + label.replace(" ", "-"), os.path.abspath("truth.json")
    if os.path.exists(truth):
        os.remove(truth)
    done = run([launcher, "-n", str(ranks), program] + arguments, environment(folder, TRUTH=truth), timeout=90)
    if done.code == 77:
        return skip(label, "this MPI does not have it")
    if not check(label + " runs", done.code == 0 and os.path.exists(truth), done):
        return None
    check(label + " has a file a rank", len(traces(folder)) == ranks, "%d files" % len(traces(folder)))
    with open(truth) as f:
        want = json.load(f)
    rep = report(folder)
    wrong = differences(want, rep) if rep else ["no report"]
    return check(label, not wrong, "; ".join(wrong[:12]))


def all_of(name, launcher, folder, most):
    for program, arguments, counts in PROGRAMS:
        only = os.environ.get("ONLY")
        for ranks in (1,) + counts:
            if ranks <= most and (not only or only in program):
                job("%s %s x%d" % (name, program, ranks), launcher, os.path.join(folder, program), arguments, ranks)


if not shutil.which("mpifort") or not shutil.which("gfortran"):
    skip_all("no Fortran compiler for MPI here")
all_of("default", "mpirun", os.path.join(BUILD, "workloads/fortran"), 4)
if shutil.which("mpifort.mpich") and shutil.which("mpirun.mpich"):
    made = run(["make", "-s", "-C", TOP, "fortran", "BUILD=" + MPICH, "MPIFC=mpifort.mpich"], timeout=200)
    if check("MPICH's are built", made.code == 0, made):
        all_of("MPICH", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"), 2)
else:
    skip("MPICH", "mpifort.mpich or mpirun.mpich is missing")
end()
