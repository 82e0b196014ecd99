# timeout: 300
# cases: workloads hangs checks torch_ddp compile
"""tests/gpu as `make check-gpu GPU=double,alone` runs it, so that what will meet a GPU is known to work: on the GPU double, with
no MPI.  `compile` is for the CUDA toolkit, where one is."""
import os
import sys

from common import TOP

here = os.path.join(TOP, "tests/gpu")
env = dict(os.environ, HPCTOP_GPU="double,alone", PYTHONPATH=os.path.join(here, "lib") + ":" + os.environ.get("PYTHONPATH", ""))
if sys.argv[1] == "compile":
    del env["HPCTOP_GPU"]
os.execve(sys.executable, [sys.executable, os.path.join(here, sys.argv[1] + ".py")], env)
