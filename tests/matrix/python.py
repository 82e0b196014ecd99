# timeout: 900
# cases: openmpi-4.1.0 openmpi-4.1.4 openmpi-5.0 openmpi-6.0 mpich-3.4 mpich-4.0 mpich-4.2 mpich-5.0 intel
# cases: abi-openmpi abi-mpich abi-intel
"""mpi4py with the Python of each Debian release: under Open MPI its own, under the others the wheel of PyPI, whose loader
finds the MPI when it is imported, also one of the standard ABI.  Known counts and bytes of the calls that the script makes (mpi4py makes others on its
own)."""
import os
import sys

import cell
import pypi
from common import calls, check, report, traces
from libraries import ABI, GNU, PACKAGES
from root import unpack

ROUNDS, WORDS = 20, 3
SCRIPT = """
from mpi4py import MPI
from array import array
comm = MPI.COMM_WORLD
me, n = comm.Get_rank(), comm.Get_size()
right, left = (me + 1) %% n, (me + n - 1) %% n
for i in range(%d):
    out, back = array("d", [i] * %d), array("d", [0] * %d)
    comm.Sendrecv(out, dest=right, recvbuf=back, source=left)
    requests = [comm.Isend(out, dest=right), comm.Irecv(back, source=left)]
    MPI.Request.Waitall(requests)
    total = array("d", [0])
    comm.Allreduce(array("d", [1]), total)
    assert total[0] == n and back[0] == i
comm.Barrier()
""" % (ROUNDS, WORDS, WORDS)

job = cell.Cell(sys.argv[1])
version = os.readlink(os.path.join(job.root.path, "usr/bin/python3"))[6:]
if job.library.abi == "standard":
    sid = unpack("sid", "matrix-sid", PACKAGES)
    modules = pypi.mpi4py_of_standard_abi(version, sid + GNU + "mpi_abi_mpich/include", sid + ABI % "mpich")
    job.root.binds.append((modules, "/tmp/modules"))
    job.root.env.update(PYTHONPATH="/tmp/modules", MPI4PY_LIBMPI="libmpi_abi.so.1")
    asked = job.mpirun(1, ["python3", "-c", "import mpi4py.MPI as m; print(m.__file__)"], preload=False)
    check("the loader takes the module of the standard ABI", "MPI.mpiabi." in asked.out, asked)
if job.library.abi == "mpich":
    job.root.binds.append((pypi.unpack("mpi4py-" + version, ["mpi4py>=4.1"], version), "/tmp/modules"))
    job.root.env["PYTHONPATH"] = "/tmp/modules"
    # Debian calls MPICH otherwise than all others, and is found first.
    lib = os.path.join(job.compiler.folder, "lib")
    for name in () if job.library.pypi else ("libmpi.so", "libmpi.so.12"):
        if not os.path.lexists(os.path.join(lib, name)):
            os.symlink("/usr/lib/x86_64-linux-gnu/libmpich.so.12", os.path.join(lib, name))
with open("script.py", "w") as f:
    f.write(SCRIPT)
ranks, size = job.library.ranks, 8 * WORDS
done = job.mpirun(ranks, ["python3", os.path.abspath("script.py")], "trace")
if check("runs", done.code == 0, done) and check("a file a rank", len(traces("trace")) == ranks, os.listdir(".")):
    rep = report("trace")
    for name, count, sent, received in (("Sendrecv", ROUNDS, size, size), ("Isend", ROUNDS, size, 0),
                                        ("Irecv", ROUNDS, 0, size), ("Waitall", ROUNDS, 0, 0),
                                        ("Allreduce", ROUNDS, 8, 8), ("Barrier", 1, 0, 0)):
        seen = calls(rep).get("MPI_" + name) or calls(rep).get("MPI_" + name + "_c", {})  # mpi4py 4 prefers large counts
        want = dict(calls=count * ranks, bytes_sent=sent * count * ranks, bytes_received=received * count * ranks)
        check(name, all(seen.get(k) == v for k, v in want.items()), "%s, wanted %s" % (seen, want))
    messages = sum(p["messages"] for p in rep["pairs"])
    check("pairs", messages == 2 * ROUNDS * ranks, messages)
    job.seen(rep)
job.end("Python (mpi4py)" if job.library.abi == "openmpi" else "Python (mpi4py of PyPI)")
