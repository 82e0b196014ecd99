# timeout: 300
"""mpi4py as pip brings it: one wheel that finds the MPI of the machine when it is imported (its ABI loader), and calls
what an MPI-4 library has only if it is there.  Under Open MPI, and under MPICH where that is installed."""
import glob
import os
import shutil

from common import check, end, environment, run, skip, skip_all
from pi import pi

env = environment(None, False)
made = run(["/usr/bin/python3", "-m", "venv", "venv"], env)
if made.code != 0:
    skip_all("no python3-venv: " + (made.out + made.err).strip()[-150:])
python = os.path.abspath("venv/bin/python")
got = run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", "mpi4py>=4.1"], env, 600)
if got.code != 0:
    skip_all("no wheel of mpi4py could be had: " + got.err.strip()[-150:])
version = run([python, "-c", "import mpi4py; print(mpi4py.__version__)"], env).out.strip()
loader = glob.glob("venv/lib/python3*/site-packages/mpi4py/MPI.openmpi.*")
check("mpi4py %s has a module for each ABI" % version, loader, os.listdir(glob.glob("venv/lib/python3*/site-packages/mpi4py")[0]))
for ranks in (2, 4):
    pi("mpi4py %s Open MPI" % version, ["mpirun"], python, ranks)
mpich = glob.glob("/usr/lib/*/libmpich.so.12")
if mpich and shutil.which("mpirun.mpich"):
    os.mkdir("mpich")  # Debian calls it otherwise than all others
    for name in ("libmpi.so", "libmpi.so.12"):
        os.symlink(mpich[0], "mpich/" + name)
    pi("mpi4py %s MPICH" % version, ["mpirun.mpich"], python, 2, LD_LIBRARY_PATH=os.path.abspath("mpich"))
else:
    skip("mpi4py %s MPICH" % version, "no MPICH here")
end()
