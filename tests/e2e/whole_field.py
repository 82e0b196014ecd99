# timeout: 4800
# long
"""All programs of tests/field under Open MPI and MPICH: no answer is wrong that tests/field/known does not have."""
import os
import subprocess

from common import TOP, check, end, skip

for mpi in ("openmpi", "mpich"):
    done = subprocess.run([os.path.join(TOP, "tests", "field", "run.py"), "--mpi", mpi, "-j", "2"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    print(done.stdout)
    if done.returncode == 77:
        skip(mpi, "it is not installed")
    else:
        check(mpi, done.returncode == 0, [line for line in done.stdout.splitlines() if line.startswith(("new", "    BAD"))])
end()
