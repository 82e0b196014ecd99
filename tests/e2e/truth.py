# timeout: 400
"""Every workload with 2 and 4 ranks (and one more with 1): every count and byte of `hpctop report --json` must be what
the workload worked out from its own constants, exactly."""
import json
import os

from common import HPCTOP, LIBTRACE, check, end, mpirun, report, skip, traces, workload
from compare import differences

# Name, arguments, rank counts.
WORKLOADS = [
    ("ring", [], (1, 2, 4)), ("p2p_blocking", [], (1, 2, 4)), ("p2p_nonblocking", [], (1, 2, 4)),
    ("p2p_persistent", [], (1, 2, 4)), ("p2p_mprobe", [], (1, 2, 4)), ("collectives_blocking", [], (1, 2, 4)),
    ("collectives_nonblocking", [], (1, 2, 4)), ("collectives_vw", [], (1, 2, 4)), ("neighborhood", [], (1, 2, 4)),
    ("communicators", [], (1, 2, 3, 4)), ("rma", [], (1, 2, 4)), ("io", [], (1, 2, 4)),
    ("threads_multiple", [], (2, 4)), ("late_sender", [], (2,)), ("late_receiver", [], (2,)),
    ("late_collective", [], (2, 4)), ("imbalance", [], (4,)), ("polling", [], (2, 4)), ("many_sizes", [], (2, 4)),
    ("many_comms", [], (2, 4)), ("large_count", [], (2,)), ("fork_children", [], (2, 4)),
    ("exit_no_finalize", [], (2,)), ("stencil", ["1"], (2, 4)), ("stencil", ["0.5", "-1"], (16,)),
    ("pingpong", ["20000"], (2,)), ("pingpong", ["2000", "sizes"], (2,)), ("selfcall", ["rank", "100000"], (1,)),
    ("selfcall", ["iprobe", "100000"], (1,)), ("selfcall", ["allreduce", "100000"], (1,)),
    ("selfcall", ["pt2pt", "100000"], (2,)), ("partitioned", [], (2,)), ("persistent_collectives", [], (2,)),
    ("sessions", [], (2,)),
]
# mpirun itself complains about these.
CODE = {"exit_no_finalize": 1}


def spoiled(truth):
    """The same truth with one thing wrong in it, once for each kind of thing."""
    for spoil in (lambda t: t["calls"]["MPI_Init"].update(calls=0), lambda t: t["calls"].pop("MPI_Finalize"),
                  lambda t: t["calls"].update(MPI_Bcast={"calls": 1, "bytes_sent": 0, "bytes_received": 0}),
                  lambda t: t["ranks_detail"][0].update(bytes_sent=-1), lambda t: t["pairs"].pop(),
                  lambda t: t["pairs"][0].update(bytes=-1), lambda t: t.update(ranks=99)):
        copy = json.loads(json.dumps(truth))
        spoil(copy)
        yield copy


def one(name, arguments, ranks):
    """Runs and compares; returns truth and report, or None."""
    label = " ".join([name] + arguments + ["x%d" % ranks])
    folder, truth = "trace-" + label.replace(" ", "-"), "truth.json"
    if os.path.exists(truth):
        os.remove(truth)
    done = mpirun(ranks, [workload(name)] + arguments, folder, TRUTH=os.path.abspath(truth))
    if done.code == 77:
        skip(label, "this MPI does not have it")
        return None
    if not check(label + " runs", done.code == CODE.get(name, 0) and os.path.exists(truth), done):
        return None
    check(label + " has a file a rank", len(traces(folder)) == ranks, "%d files" % len(traces(folder)))
    rep = report(folder)
    if rep is None:
        check(label, False, "no report")
        return None
    with open(truth) as f:
        want = json.load(f)
    wrong = differences(want, rep)
    check(label, not wrong, "; ".join(wrong[:12]) + (" and %d more" % (len(wrong) - 12) if len(wrong) > 12 else ""))
    return want, rep


for needed in (LIBTRACE, HPCTOP):
    if not os.path.exists(needed):
        check("products", False, "no " + needed)
        end()
only = os.environ.get("ONLY")
for name, arguments, counts in WORKLOADS:
    for ranks in counts:
        if not only or name == only:
            both = one(name, arguments, ranks)
            if both and name == "ring" and ranks == 2:
                check("a wrong answer would be noticed", all(differences(t, both[1]) for t in spoiled(both[0])))
end()
