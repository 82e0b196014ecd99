# timeout: 400
"""Every NCCL and CUDA workload on this GPU, two ranks of it: each count and byte as it worked out; states, kernels and
bandwidths are there."""
import os
import re
import sys

import common
from common import check, end, hpctop, skip
from gpu import IS_DOUBLE, LAUNCH, hold, launch, machine, need_gpu, program

need_gpu()
print("on " + machine.name)
timed = bool(machine.cupti)


def kernels(label, rep, at_least):
    """What CUPTI should have said."""
    if not timed:
        skip(label + ": kernels", "no libcupti was found")
        return
    count = sum(k["calls"] for k in rep["kernels"])
    check(label + ": kernels are timed", rep["kernels_unknown"] is None and count >= at_least, (rep["kernels_unknown"], count))
    # Some of a run's first ones may come before CUPTI does.
    known = [n for n in rep["nccl"] if n["timed"]]
    check(label + ": bandwidths follow from times", all(n["algbw"] > 0 and n["busbw"] > 0 and n["transfer_s"] > 0 for n in known)
          and (known or not rep["nccl"]), rep["nccl"])


def operations(label, folder):
    """All ended, told by events of the driver."""
    text = hpctop("dump", folder).out
    ops = re.findall(r"^op \d+: (\w+) (\w+)", text, re.M)
    check(label + ": every operation has completed", ops and all(s in ("completed", "captured") for s, _ in ops),
          [o for o in ops if o[0] != "completed"][:5] or text[:300])


held = hold("allreduce_sweep", ["1048576"], 2)
if held:
    kernels("allreduce_sweep", held[1], 90)
    operations("allreduce_sweep", "trace-allreduce_sweep-1048576-x2")
    check("allreduce_sweep: NCCL says how it does it", "fact nccl.how ncclAllReduce" in hpctop("dump", "trace-allreduce_sweep-1048576-x2").out)
held = hold("collectives", [], 2)
if held:
    kernels("collectives", held[1], 6 * 12)
    operations("collectives", "trace-collectives-x2")
held = hold("two_comms", [], 2)
if held:
    kernels("two_comms", held[1], 32)
    rows = {n["name"]: n for n in held[1]["nccl"]}
    if timed:
        check("two_comms: who comes late is seen in the skew", rows["ncclAllReduce"]["skew_p50_s"] > 0.002, rows)
held = hold("overlap", ["6", "40000"], 2)
if held:
    kernels("overlap", held[1], 36)
    if timed:
        check("overlap: some communication lies behind kernels, some is exposed",
              all(g["overlap_s"] > 0 and g["exposed_s"] > 0 for g in held[1]["gpus"]) and len(held[1]["gpus"]) == 2, held[1]["gpus"])
        check("overlap: the program's own kernel has its name", [k["calls"] for k in held[1]["kernels"] if k["name"] == "busy_kernel"] == [12],
              [k["name"] for k in held[1]["kernels"]])
if machine.mpi:
    held = hold("cuda_mpi", [], 2, CUDA_INJECTION64_PATH=common.LIBTRACE)
    if held and timed:
        check("cuda_mpi: a hundred kernels and two copies on each rank", [(g["kernels"], g["copies"], g["bytes_to_device"]) for g in held[1]["gpus"]]
              == [(100, 2, 1 << 20)] * 2, held[1]["gpus"])
else:
    skip("cuda_mpi", "no MPI is here: it has no NCCL, so nothing of it would be recorded")
hold("grow", [], 3)
if timed:
    held = hold("profiler", [], 2)
    if held:
        check("profiler: until when kernels were timed is said", "until another profiler came" in hpctop("report", "--all", "trace-profiler-x2").out)
else:
    skip("profiler", "no libcupti was found")

# Without MPI, whatever this machine has.
path = program("without_mpi", mpi=False)


def alone(ranks, words, folder=None, preload=True, timeout=120, **env):
    return common.run(LAUNCH + [str(ranks)] + words, common.environment(folder, preload, **machine.environment(**env)), timeout)


if path:
    import truths
    truths.hold("without_mpi", ["./id"], 2, alone, lambda _: path)
else:
    skip("without_mpi", "it cannot be compiled here, and build/gpu-kit has none")
user = os.path.join(common.TOP, "workloads/nccl/ctypes_user.py")
r = alone(2, [sys.executable, user, ".", machine.nccl], "ctypes", TRUTH=os.path.abspath("truth.json"), LIBCUDART=machine.cudart)
rep = common.report("ctypes") if r.code == 0 else None
check("ctypes_user: seen by dlsym", rep and {c["name"]: c["calls"] for c in rep["calls"]}.get("ncclAllReduce") == 10
      and "dlsym" in hpctop("dump", "ctypes").out.split("fact nccl.hooks: ")[1].split(";")[0], (r, rep and rep["calls"]))
r = launch(2, [program("hang_not"), "graph", "0"], "graph")
rep = common.report("graph") if r.code == 0 else None
check("hang_not graph: what is captured is no operation that ran", rep and "captured ncclAllReduce" in hpctop("dump", "graph").out, r)
r = launch(2, [program("hang_not"), "unblock", "1"], "unblock")
check("hang_not unblock: late launches are marked", r.code == 0 and "by_events+approximate" in hpctop("dump", "unblock").out, r)
end()
