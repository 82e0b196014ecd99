"""workloads/montecarlo_pi.py under an mpi4py, held to its own truth."""
import copy
import json
import os

from common import TOP, check, environment, report, run, traces
from compare import differences

PROGRAM = os.path.join(TOP, "workloads/montecarlo_pi.py")


def plain_names(rep):
    """With an MPI-4 library mpi4py calls MPI_Bcast_c and the like: one name for both.  What moves nothing and is not in
    the truth is mpi4py's own business, and differs between its versions."""
    rep = copy.deepcopy(rep)
    merged = {}
    for c in rep["calls"]:
        c["name"] = c["name"][:-2] if c["name"].endswith("_c") else c["name"]
        into = merged.setdefault(c["name"], dict(c, calls=0, bytes_sent=0, bytes_received=0))
        for key in ("calls", "bytes_sent", "bytes_received"):
            into[key] += c[key]
    rep["calls"] = list(merged.values())
    return rep


def pi(label, launcher, python, ranks, **env):
    for kind in ("buffers", "objects"):
        name, folder, truth = "%s x%d %s" % (label, ranks, kind), ("%s-%d-%s" % (label, ranks, kind)).replace(" ", "-"), os.path.abspath("truth.json")
        if os.path.exists(truth):
            os.remove(truth)
        command = launcher + ["-n", str(ranks), python, PROGRAM, kind, "2000"]
        plain = run(command, environment(None, False, **env))
        done = run(command, environment(folder, TRUTH=truth, **env))
        if not check(name + ": the same output", plain.code == done.code == 0 and (plain.out, plain.err) == (done.out, done.err),
                     "%s, without: %s" % (done, plain)):
            continue
        rep = report(folder)
        if not check(name + ": recorded", rep is not None and len(traces(folder)) == ranks, os.listdir(".")):
            continue
        with open(truth) as f:
            want = json.load(f)
        rep = plain_names(rep)
        rep["calls"] = [c for c in rep["calls"] if c["name"] in want["calls"] or c["bytes_sent"] or c["bytes_received"]]
        wrong = differences(want, rep)
        check(name + ": every count and byte", not wrong, "; ".join(wrong[:12]))
