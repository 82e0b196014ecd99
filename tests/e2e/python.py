# timeout: 180
"""mpi4py by preload alone: Python loads MPI with RTLD_LOCAL, where RTLD_NEXT finds nothing."""
import os
import re

from common import calls, check, end, mpirun, report, run, skip_all, traces
from pi import pi

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
# Children of all kinds, made after MPI_Init.  None of them is a rank: what they call in MPI is not recorded, and nothing
# of them is in the trace.  MPI is imported late, since children made by spawn and forkserver import this file too.
CHILDREN = r"""
import multiprocessing, os, subprocess, sys, threading

def square(x):
    return x * x

def main():
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    me, n = comm.Get_rank(), comm.Get_size()

    def work(times):
        for _ in range(times):
            comm.Sendrecv(bytearray(10), dest=(me + 1) % n, recvbuf=bytearray(10), source=(me + n - 1) % n)

    work(10)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(square, range(20)) == [x * x for x in range(20)]
        queue = context.SimpleQueue()
        child = context.Process(target=queue.put, args=(method,))
        child.start()
        assert queue.get() == method
        child.join()
        assert child.exitcode == 0
        work(10)
    child = os.fork()
    if child == 0:
        for _ in range(100):  # a child that uses what it has inherited of MPI
            comm.Get_size()
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert subprocess.check_output([sys.executable, "-c", "print(6 * 7)"]) == b"42\n"
    assert subprocess.call("exit 3", shell=True) == 3
    work(10)
    threads = [threading.Thread(target=square, args=(2,)) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    os.write(1, b"done\n")
    if sys.argv[1] == "exit":
        comm.Barrier()
        os._exit(0)

if __name__ == "__main__":
    main()
"""
PYTHON = "/usr/bin/python3"


def without_pids(text):
    """What Pythons from 3.12 on say of fork in a process with threads, which Open MPI's ranks have."""
    return sorted(re.sub(r"pid=\d+", "pid", text).splitlines())


if run([PYTHON, "-c", "import mpi4py"]).code != 0:
    skip_all("python3-mpi4py is missing")
with open("script.py", "w") as f:
    f.write(SCRIPT)
plain = mpirun(2, [PYTHON, "script.py"], preload=False)
if not check("mpi4py runs without libtrace.so", plain.code == 0, plain):
    end()
done = mpirun(2, [PYTHON, "script.py"], "trace")
check("mpi4py runs", done.code == 0 and sorted(done.out.split("\n")) == sorted(plain.out.split("\n")), done)
check("mpi4py says nothing more", without_pids(done.err) == without_pids(plain.err), "%s, without: %s" % (done.err, plain.err))
if check("mpi4py leaves a file a rank", len(traces("trace")) == 2, os.path.exists("trace") and os.listdir("trace")):
    rep = report("trace")
    if check("mpi4py: the report can be made", rep is not None):
        seen = calls(rep).get("MPI_Sendrecv", {})
        check("mpi4py: every call is counted", seen.get("calls") == 100, seen)
        check("mpi4py: every byte is counted", seen.get("bytes_sent") == seen.get("bytes_received") == 2400, seen)
        check("mpi4py: collectives are seen", calls(rep).get("MPI_Bcast", {}).get("calls", 0) >= 2, list(calls(rep)))

with open("children.py", "w") as f:
    f.write(CHILDREN)
for how in ("finalize", "exit"):
    plain = mpirun(2, [PYTHON, "children.py", how], preload=False)
    done = mpirun(2, [PYTHON, "children.py", how], "children-" + how)
    label = "children, then " + how
    check(label + ": the same", plain.code == done.code is not None and plain.out == done.out == "done\ndone\n", "%s, without: %s" % (done, plain))
    check(label + ": a file a rank", len(traces("children-" + how)) == 2, os.listdir("children-" + how))
    rep = report("children-" + how)
    if check(label + ": reported", rep is not None):
        seen = {name: c["calls"] for name, c in calls(rep).items()}
        check(label + ": the parents' calls only", seen.get("MPI_Sendrecv") == 100 and seen.get("MPI_Comm_size", 0) < 100 and
              rep["job"]["lost_records"] == 0, seen)
        check(label + ": the end is seen", rep["job"]["state"] == ("finished" if how == "finalize" else "aborted"), rep["job"])

for ranks in (2, 4):
    pi("python3-mpi4py", ["mpirun"], PYTHON, ranks)
end()
