# timeout: 200
"""NCCL workloads on the GPU double (tests/gpu_double)."""
import os

from common import BUILD, check, end, run, environment

DOUBLE = os.path.join(BUILD, "gpu_double")


def nccl(ranks, name, *arguments, timeout=60, preload=False, folder=None, **env):
    return run(["mpirun", "-n", str(ranks), os.path.join(BUILD, "workloads/nccl", name)] + list(arguments),
               environment(folder, preload, LD_LIBRARY_PATH=DOUBLE, **env), timeout)


for name, arguments in (("collectives", []), ("allreduce_sweep", ["32768"])):
    r = nccl(2, name, *arguments)
    check("%s computes what it should on the double" % name, r.code == 0, r)
r = nccl(2, "allreduce_sweep", "32768", GPU_DOUBLE_FAULT="error:1:0")
check("a fault on demand is an error", r.code not in (0, None), r)
r = nccl(2, "allreduce_sweep", "32768", GPU_DOUBLE_FAULT="block:1:0", timeout=4)
check("a collective that one rank does not start never ends", r.code is None, r)
end()
