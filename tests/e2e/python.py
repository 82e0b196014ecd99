# timeout: 90
"""mpi4py by preload alone: Python loads MPI with RTLD_LOCAL, where RTLD_NEXT finds nothing."""
import os

from common import calls, check, end, mpirun, report, run, skip_all, traces

SCRIPT = r"""
from mpi4py import MPI
import os, subprocess
comm = MPI.COMM_WORLD
me, n = comm.Get_rank(), comm.Get_size()
for i in range(50):
    comm.Sendrecv(bytearray(24), dest=(me + 1) % n, recvbuf=bytearray(24), source=(me + n - 1) % n)
    assert comm.allreduce(me) == n * (n - 1) // 2
comm.bcast({"some": "object"} if me == 0 else None)
subprocess.run(["true"], check=True)
if os.fork() == 0:
    os._exit(0)
os.wait()
os.write(1, b"rank %d of %d\n" % (me, n))
"""
PYTHON = "/usr/bin/python3"

if run([PYTHON, "-c", "import mpi4py"]).code != 0:
    skip_all("python3-mpi4py is missing")
with open("script.py", "w") as f:
    f.write(SCRIPT)
plain = mpirun(2, [PYTHON, "script.py"], preload=False)
if not check("mpi4py runs without libtrace.so", plain.code == 0, plain):
    end()
done = mpirun(2, [PYTHON, "script.py"], "trace")
check("mpi4py runs", done.code == 0 and sorted(done.out.split("\n")) == sorted(plain.out.split("\n")), done)
check("mpi4py says nothing more", done.err == plain.err, done.err)
if check("mpi4py leaves a file a rank", len(traces("trace")) == 2, os.path.exists("trace") and os.listdir("trace")):
    rep = report("trace")
    if check("mpi4py: the report can be made", rep is not None):
        seen = calls(rep).get("MPI_Sendrecv", {})
        check("mpi4py: every call is counted", seen.get("calls") == 100, seen)
        check("mpi4py: every byte is counted", seen.get("bytes_sent") == seen.get("bytes_received") == 2400, seen)
        check("mpi4py: collectives are seen", calls(rep).get("MPI_Bcast", {}).get("calls", 0) >= 2, list(calls(rep)))
end()
