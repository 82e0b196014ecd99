# timeout: 300
"""PyTorch's DistributedDataParallel under libtrace.so: on NCCL and this GPU its all-reduces are counted and timed, and what a
step costs is measured; without a GPU, on Gloo, its collectives are recorded."""
import os
import re
import shutil
import statistics

import common
import gpu
from common import check, end, hpctop, report, run, skip_all
from gpu import IS_DOUBLE

TIMES = 7
python = None if IS_DOUBLE else common.python_with_torch(cuda=True)
cuda = python is not None
python = python or common.python_with_torch()
if not python:
    skip_all("no PyTorch is here")
script = os.path.join(common.TOP, "workloads/nccl/ddp.py")
STEPS = 200 if cuda else 5


def train(folder, preload, **env):
    """Exit, backend, milliseconds a step."""
    folder and shutil.rmtree(folder, ignore_errors=True)
    r = run(gpu.LAUNCH + ["2", python, script, str(STEPS), "1024" if cuda else "32"],
            common.environment(folder, preload, OMP_NUM_THREADS="1", **dict(gpu.ONE_GPU if cuda else {}, **env)), 200)
    said = dict(re.findall(r"^(\w+) (.*)$", r.out, re.M))
    return r, said.get("backend"), float(said.get("step_ms", "nan"))


r, backend, bare = train(None, False)
if not check("it trains", r.code == 0 and backend == ("nccl" if cuda else "gloo"), r):
    end()
r, backend, ms = train("ddp", True)
check("and under libtrace.so", r.code == 0 and backend == ("nccl" if cuda else "gloo"), r)
if not cuda:
    names = {c["name"] for c in report("ddp")["calls"]}
    check("Gloo on the CPU: its all-reduces are recorded", "gloo::allreduce" in names, names)
    end()
rep = report("ddp")
rows = [n for n in rep["nccl"] if n["name"] == "ncclAllReduce" and n["bytes"] == n["calls"] * (4 << 20)]
check("the all-reduces of 4 MiB are counted", sum(n["calls"] for n in rows) == 2 * TIMES, rep["nccl"])
check("so are those of the steps", sum(n["calls"] for n in rep["nccl"] if n["name"] == "ncclAllReduce") >= 2 * (TIMES + STEPS), rep["nccl"])
check("ranks are those of the environment", [k["rank"] for k in rep["ranks"]] == [0, 1], rep["ranks"])
if rep["kernels_unknown"] is None:
    check("kernels are timed, and what of NCCL lies behind others", rep["gpus"] and all(g["compute_s"] > 0 and g["communication_s"] > 0 for g in rep["gpus"]), rep["gpus"])
else:
    print("kernels: " + rep["kernels_unknown"])
with_it, without = [ms], [bare]
for _ in range(2):
    with_it.append(train("ddp", True)[2])
    without.append(train(None, False)[2])
a, b = statistics.median(with_it), statistics.median(without)
print("measured a step of training: %.3f ms bare, %.3f ms recorded, %+.2f %% (medians of three runs)" % (b, a, (a / b - 1) * 100))
end()
