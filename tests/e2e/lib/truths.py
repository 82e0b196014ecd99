"""The workloads with known answers, and how a run of one is held to its own: for every MPI and launcher alike."""
import json
import os

from common import check, mpirun, report, skip, traces, workload
from compare import differences

# Name, arguments, rank counts.
WORKLOADS = [
    ("hello", [], (1, 2)), ("ring", [], (1, 2, 4)), ("p2p_blocking", [], (1, 2, 4)), ("p2p_nonblocking", [], (1, 2, 4)),
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
    ("sessions", [], (2,)), ("sessions_init", [], (2,)), ("random_mix", ["1"], (1, 2, 4)), ("random_mix", ["2", "800"], (5,)),
    ("random_mix", ["3", "300", "3"], (2,)),
]
FORTRAN = [("pingpong_sweep", [], (2,)), ("pingpong_classic", ["5000", "30"], (2,)), ("halo", [], (2,)), ("callback", [], (2,))]
FORTRAN += [("%s_%s" % (name, binding), [], (2,)) for name in ("collectives", "requests", "communicators", "constants")
            for binding in ("mpifh", "mpi", "f08")]
# Open MPI's mpirun complains of a rank that leaves without MPI_Finalize.
OPENMPI_CODES = {"exit_no_finalize": 1}
HYDRA_CODES = {"exit_no_finalize": None}  # it kills the others at once, whatever they are at


def most_ranks(counts, limit):
    """The largest of a workload's rank counts that is not above the limit; None: it needs more."""
    return max((n for n in counts if n <= limit), default=None)


def known_answer(name, path):
    with open(path) as f:
        truth = json.load(f)
    if name == "sessions":  # without an MPI_COMM_WORLD there is no rank in it
        truth.update(ranks_detail=[], pairs=[])
    return truth


def hold(name, arguments, ranks, launch=mpirun, program=workload, codes=OPENMPI_CODES, brief=False):
    """Runs a workload and compares its trace with what it worked out; returns truth and report, or None.  `launch` is
    called as common.mpirun; `program` finds the executable; `codes` are exit codes of the launcher other than
    0, None where that is left to chance; `brief`:
    one line, unless it does not even run."""
    step = (lambda part, good, why: good or check(part, good, why)) if brief else check
    label = " ".join([name] + arguments + ["x%d" % ranks])
    folder, truth = "trace-" + label.replace(" ", "-"), "truth.json"
    if os.path.exists(truth):
        os.remove(truth)
    if codes.get(name, 0) is None:
        skip(label, "this launcher kills the other ranks when one leaves")
        return None
    done = launch(ranks, [program(name)] + arguments, folder, TRUTH=os.path.abspath(truth))
    if done.code == 77 and launch(ranks, [program(name)] + arguments, None, False).code == 77:
        skip(label, "this MPI does not have it")
        return None
    if not step(label + " runs", done.code == codes.get(name, 0) and os.path.exists(truth), done):
        return None
    step(label + " has a file a rank", len(traces(folder)) == ranks, "%d files" % len(traces(folder)))
    rep = report(folder)
    if rep is None:
        check(label, False, "no report")
        return None
    want = known_answer(name, truth)
    wrong = differences(want, rep)
    check(label, not wrong, "; ".join(wrong[:12]) + (" and %d more" % (len(wrong) - 12) if len(wrong) > 12 else ""))
    return want, rep
