# timeout: 120
"""Open MPI and MPICH in one process: everything runs as without libtrace.so, the one that is initialized first is
recorded, exactly, and the other is named."""
import os
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, calls, check, end, environment, hpctop, report, run, skip, skip_all

HERE = os.path.join(TOP, "tests/e2e/several")
for family in ("openmpi", "mpich"):
    if not shutil.which("mpicc." + family):
        skip_all("no mpicc.%s here" % family)
    subprocess.run(["mpicc." + family, "-shared", "-fPIC", "-w", "-o", family + ".so", os.path.join(HERE, "part.c")], check=True)
subprocess.run(["cc", "-w", "-o", "host", os.path.join(HERE, "host.c"), "-ldl"], check=True)
subprocess.run(["mpicc.openmpi", "-w", "-DITSELF", "-o", "itself", os.path.join(HERE, "host.c"), "-ldl"], check=True)
ROUNDS = 5
LIBRARY = {"Open MPI": "libmpi.so", "MPICH": "libmpich.so"}


def expected(works):
    """Calls, bytes sent and received of so many "works" steps (part.c)."""
    n = ROUNDS * works
    return {"MPI_Init": (1, 0, 0), "MPI_Finalize": (1, 0, 0), "MPI_Comm_dup": (works, 0, 0), "MPI_Comm_free": (works, 0, 0),
            "MPI_Sendrecv": (n, 8 * n, 8 * n), "MPI_Isend": (n, 4 * n, 0), "MPI_Irecv": (n, 0, 4 * n),
            "MPI_Waitall": (n, 0, 0), "MPI_Allreduce": (works, 4 * works, 4 * works)}


def case(what, steps, home, want, program="./host", python=False):
    """`home`: the MPI that is recorded; `want`: its calls."""
    folder = what.replace(" ", "-")
    command = program.split() + steps.split()
    bare, traced = run(command, environment(preload=False)), \
        run(command, environment(folder, HPCTOP_PYTHON="1" if python else "0"))
    if not check(what + ": it works", bare.code == 0 and "not added" not in bare.out, bare):
        return
    check(what + ": runs as without", (bare.code, bare.out) == (traced.code, traced.out), traced)
    rep = report(folder)
    if not check(what + ": one trace", rep and rep["job"]["ranks"] == 1, rep and rep["job"]):
        return
    check(what + ": recorded is " + home, rep["job"]["mpi"].startswith(home), rep["job"]["mpi"])
    seen = {name: (c["calls"], c["bytes_sent"], c["bytes_received"]) for name, c in calls(rep).items()}
    wrong = {name: seen.get(name) for name, numbers in want.items() if seen.get(name) != numbers}
    check(what + ": exactly its calls", not wrong and rep["job"]["unknown_requests"] == 0, wrong)
    other = [LIBRARY[name] for name in LIBRARY if name != home][0]
    said = " ".join(hpctop("report", "--all", folder).out.split())
    check(what + ": the other is named", re.search(r"another MPI library too, .*%s" % re.escape(other), said), said[:600])


for family, other, home in (("openmpi", "mpich", "Open MPI"), ("mpich", "openmpi", "MPICH")):
    case(home + " first", "%(f)s.asks %(o)s.asks %(f)s.starts %(o)s.asks %(o)s.starts %(f)s.works %(o)s.works %(f)s.works %(o)s.ends "
         "%(f)s.works %(f)s.ends" % {"f": family, "o": other}, home, expected(3))
    case(home + " first and last", "%(o)s.load %(f)s.starts %(f)s.works %(f)s.ends %(o)s.asks %(o)s.starts %(o)s.works %(o)s.ends"
         % {"f": family, "o": other}, home, expected(1))
# Open MPI makes itself global when it is initialized, so that a plugin that comes later gets it, also without us:
# but for one that is loaded with RTLD_DEEPBIND.
case("MPICH first, Open MPI loaded late", "mpich.starts mpich.works openmpi.asks openmpi.starts openmpi.works mpich.works "
     "openmpi.ends mpich.ends", "MPICH", expected(2))
case("MPICH first, lines of Python wanted", "mpich.starts openmpi.starts mpich.works openmpi.works openmpi.ends mpich.ends",
     "MPICH", expected(1), python=True)
case("a program and its plugin", "mpich!.asks mpich!.starts mpich!.works mpich!.ends", "Open MPI",
     {"MPI_Init": (1, 0, 0), "MPI_Allreduce": (2, 8, 8), "MPI_Finalize": (1, 0, 0)}, program="./itself")
# Python with mpi4py on Open MPI, and a module that uses MPICH.
with open("two.py", "w") as f:
    f.write("""
import ctypes
plugin = ctypes.CDLL("./mpich.so")
from mpi4py import MPI
for step in (b"asks", b"starts", b"works"):
    plugin.part(step)
    back = bytearray(16)
    MPI.COMM_SELF.Sendrecv(bytearray(16), dest=0, recvbuf=back, source=0)
print(MPI.COMM_WORLD.allreduce(1))
plugin.part(b"ends")
""")
if run(["/usr/bin/python3", "-c", "import mpi4py"], environment(preload=False)).code == 0:
    case("mpi4py and a module with MPICH", "two.py", "Open MPI", {"MPI_Sendrecv": (3, 48, 48)}, program="/usr/bin/python3")
else:
    skip("mpi4py and a module with MPICH", "no python3-mpi4py")
both = run([os.path.join(".", "host"), "mpich.starts", "openmpi.starts", "mpich.works", "openmpi.works"],
           environment(preload=LIBTRACE, HPCTOP_DISABLE="1"))
check("switched off: both work", both.code == 0 and both.out.count("0 wrong, all ranks added") == 2, both)
with open("linked.c", "w") as f:
    f.write("int main(void) { return 0; }\n")
subprocess.run(["cc", "-o", "linked", "linked.c", "-Wl,--no-as-needed", "./openmpi.so", "./mpich.so"], check=True)
r = hpctop("doctor", "--", "./linked")
check("doctor names both", re.search(r"MPI .*libmpi(ch)?\.so.* too; the MPI that is initialized first", r.out), r)
end()
