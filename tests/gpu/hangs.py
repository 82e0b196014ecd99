# timeout: 500
"""Programs that hang in NCCL on this GPU, and what `hpctop verdict` says: while they hang, and after kill -9.  What a real NCCL does
with calls that do not agree is up to it: where it ends, that is told."""
import shutil
import time

import gpu
import verdicts
from common import check, end, skip, traces
from gpu import IS_DOUBLE, machine, need_gpu, program
from verdicts import hung

need_gpu()
print("on " + machine.name)
MISMATCH, CYCLE, MISSING = "mismatched-collective", "wait-cycle", "missing-in-collective"
RANKS = 3
HANGS = [
    ("missing", hung(MISSING, [1]), "rank 1 has not come to ncclAllReduce"),
    ("in_mpi", hung(MISSING, [1]), "it is in MPI_Recv"),
    ("barrier", hung(CYCLE, [1]), "which wait in MPI_Barrier for it"),
    ("order", hung(CYCLE, [0, 1, 2]), "in different orders"),
    ("order_host", hung(CYCLE, [0, 1, 2]), "in different orders"),
    ("blocked", hung("device", [1]), "the stream of rank 1 has not come to ncclAllReduce"),
    ("gives_up", hung("early-exit", [1]), "it has given the communicator up"),
    ("message", hung("unmatched-receive", [0, 1]), "has not called ncclSend"),
    ("operation", hung(MISMATCH, [1]), "ncclAllGather"),
    ("count", hung(MISMATCH, [1]), "gave 512 x float32"),
    ("type", hung(MISMATCH, [1]), "1024 x int32"),
    ("root", hung(MISMATCH, [1]), "root 1 to ncclBroadcast"),
]
NEED_MPI = ("in_mpi", "barrier")
NCCL_MAY_END = ("operation", "count", "type", "root")  # no rule says that it notices
BRIEF = ("missing", "order", "blocked")  # that the script works, shown on the double: tests/e2e/nccl_hangs.py has them all


def right(v, want, says):
    return verdicts.right(v, want) or ("" if says in v["summary"] else "it says: " + v["summary"])


def hang(mode, want, says):
    path, folder = program("hang"), "h-" + mode
    if not path:
        skip(mode, "it cannot be compiled here, and build/gpu-kit has none")
        return
    p = gpu.start(RANKS, [path, mode], folder)
    v, began = None, time.monotonic()
    while p.poll() is None and time.monotonic() < began + 30:
        if len(traces(folder)) == RANKS:
            code, v = verdicts.verdict(folder)
            if not right(v, want, says):
                break
        time.sleep(0.2)
    ended = p.poll()
    if ended is not None and mode in NCCL_MAY_END and not IS_DOUBLE:
        skip(mode, "this NCCL ends it (exit %d); the verdict: %s, %s" % (ended, v and v["class"], v and v["summary"]))
    else:
        why = "it ended (exit %d)" % ended if ended is not None else right(v, want, says)
        if check(mode + ", live", not why, why):
            print("measured %s: told %.1f s after it got stuck" % (mode, v["since_s"] or 0))
    verdicts.kill_group(p)
    if ended is None:
        time.sleep(0.2)
        why = right(verdicts.verdict(folder)[1], want, says)
        check(mode + ", after kill -9", not why, why)
    shutil.rmtree(folder, ignore_errors=True)


for mode, want, says in HANGS:
    if mode in NEED_MPI and not machine.mpi:
        skip(mode, "no MPI is here")
    elif not IS_DOUBLE or mode in BRIEF:
        hang(mode, want, says)
end()
