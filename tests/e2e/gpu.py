# timeout: 300
# cases: workloads hangs checks torch_ddp
"""tests/gpu as `make check-gpu GPU=double,alone` runs it, so that what will meet a GPU is known to work: on the GPU double, with
no MPI."""
import os
import sys

from common import TOP

here = os.path.join(TOP, "tests/gpu")
env = dict(os.environ, HPCTOP_GPU="double,alone", PYTHONPATH=os.path.join(here, "lib") + ":" + os.environ.get("PYTHONPATH", ""))
os.execve(sys.executable, [sys.executable, os.path.join(here, sys.argv[1] + ".py")], env)
