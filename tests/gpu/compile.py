# timeout: 200
"""Every program of tests/gpu compiles and links against the CUDA, NCCL and CUPTI of this machine, with MPI and without; its kernel
is taken by CUDA's assembler.  No GPU is needed."""
import glob
import os
import re
import shutil

from common import TOP, check, end, run, skip, skip_all
from gpu import IS_DOUBLE, machine, program

if IS_DOUBLE or not (machine.nccl and machine.cudart and os.path.exists(os.path.join(machine.includes[0], "cuda_runtime.h"))):
    skip_all("no CUDA runtime, or no NCCL, with its headers was found")
print("CUDA: %s; NCCL: %s; CUPTI: %s" % (machine.cudart, machine.nccl, machine.cupti))
names = sorted(os.path.basename(p)[:-2] for f in ("workloads/nccl", "tests/gpu/programs") for p in glob.glob(os.path.join(TOP, f, "*.c")))
for mpi in (False, True):
    if mpi and not shutil.which("mpicc"):
        skip("with MPI", "no mpicc is here")
        continue
    for name in names:
        if (name == "without_mpi" and mpi) or (name == "profiler" and not machine.cupti):
            continue
        libraries = {"profiler": ("nccl", "cudart", "cupti"), "probe": ("cudart",), "cuda_mpi": ("cudart",)}.get(name, ("nccl", "cudart"))
        path = program(name, libraries, mpi)
        real = path and "/gpu/cuda-" in path  # not one of the kit's
        check("%s, %s MPI" % (name, "with" if mpi else "without"), real, "it does not compile, see above")
ptxas = shutil.which("ptxas") or next(iter(glob.glob("/usr/local/cuda*/bin/ptxas")), None)
if ptxas:
    with open(os.path.join(TOP, "workloads/nccl/busy.h")) as f:
        text = f.read().split("busy_ptx[] =")[1].split(";\n\n")[0]
    with open("busy.ptx", "w") as f:
        f.write("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("\\n", "\n"))
    r = run([ptxas, "--gpu-name", "sm_90", "-o", "busy.cubin", "busy.ptx"])
    check("the kernel of busy.h, by ptxas for sm_90", r.code == 0, r)
else:
    skip("the kernel of busy.h", "no ptxas is here")
end()
