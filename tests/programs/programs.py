# timeout: 1200
# cases: hpcc netpipe scalapack lammps petsc h5py fft nwchem
"""Programs that nobody here wrote, from Debian, with and without libtrace.so: the same exit status and the same results,
and a trace that agrees with itself: every rank there to its end, nothing lost, no request unexplained, as many messages and
bytes received as sent."""
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/e2e/lib"))
sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/programs/lib"))
from common import calls, check, end, hpctop, mpirun, report, skip_all  # noqa: E402
from inputs import SCALAPACK, results, write  # noqa: E402

PYTHON = "/usr/bin/python3"
PETSC = (glob.glob("/usr/lib/petscdir/*/x86_64-linux-gnu-real") or ["/usr/lib/petsc"])[0]

# name: ranks, commands, and what of their output must be the same (lib/inputs.py).
PROGRAMS = {
    "hpcc": (4, [["hpcc"]], "hpcc"),
    "netpipe": (2, [["NPopenmpi", "-n", "20", "-u", "65536"]], "sizes"),
    "scalapack": (4, [[os.path.join(SCALAPACK, x)] for x in ("xdlu", "xdls", "xzqr")], "verdicts"),
    "lammps": (4, [["lmp", "-in", x, "-log", "none"] for x in ("melt.in", "moved.in")], "thermo"),
    "petsc": (4, [["env", "PETSC_DIR=" + PETSC, PYTHON, "petsc.py"]], "all"),
    "h5py": (4, [[PYTHON, "h5.py"]], "all"),
    "fft": (4, [[PYTHON, "fft.py"]], "all"),
    "nwchem": (4, [["nwchem.openmpi", "water.nw"]], "energy"),
}
RECEIVES = ("MPI_Recv", "MPI_Irecv", "MPI_Recv_init", "MPI_Precv_init", "MPI_Mrecv", "MPI_Imrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace")


def agrees(name, rep, ranks):
    """What holds of any trace of a program that ended well."""
    job = rep["job"]
    check(name + ": finished, all ranks", job["state"] == "finished" and len(rep["ranks"]) == ranks, job)
    check(name + ": nothing lost or unexplained",
          not (job["lost_records"] or job["recycled_records"] or job["unknown_requests"]), job)
    sent = sum(pair["bytes"] for pair in rep["pairs"])
    received = sum(c["bytes_received"] for n, c in calls(rep).items() if n in RECEIVES)
    check(name + ": bytes received are bytes sent", sent == received, "%d sent, %d received" % (sent, received))
    said = json.loads(hpctop("verdict", "--json", "trace").out or "{}")
    check(name + ": no false alarm", said.get("state") in ("healthy", "slow"), said)
    check(name + ": calls of the ranks are calls of the job",
          sum(r["calls"] for r in rep["ranks"]) == sum(c["calls"] for c in rep["calls"]), rep["ranks"])


def iterations(name, rep, said):
    """Of LAMMPS: as many iterations as it says that it has steps, and the forces that it computes before them."""
    steps = re.search(r"^Loop time of .* for (\d+) steps", said, re.M)
    if check(name + ": it says how many steps it made", steps, said[-300:]):
        count, n = rep["iterations"]["count"], int(steps.group(1))
        check(name + ": as many iterations as it has steps", count in (n, n + 1), "%d for %d" % (count, n))
        page = hpctop("report", "trace").out
        check(name + ": the page has them", "\nITERATIONS\n  %d iterations" % count in page, page)


def compare(name, ranks, command, kind):
    bare = mpirun(ranks, command, preload=False, timeout=300)
    expected = results(bare, kind)
    if not check(name + ": runs without libtrace.so", bare.code == 0 and expected, bare):
        return
    traced = mpirun(ranks, command, "trace", timeout=300)
    check(name + ": ends the same", traced.code == 0, traced)
    came = results(traced, kind)
    check(name + ": the same results", came == expected, "%s, without %s" % (came, expected))
    rep = report("trace")
    if check(name + ": has a report", rep):
        agrees(name, rep, ranks)
        if kind == "thermo":
            iterations(name, rep, traced.out)
        print("%s: %d calls, %d kinds" % (name, sum(c["calls"] for c in rep["calls"]), len(rep["calls"])))
    shutil.rmtree("trace", ignore_errors=True)


which = sys.argv[1]
ranks, commands, kind = PROGRAMS[which]
if which != "petsc" and not shutil.which(commands[0][0]):
    skip_all("%s is not installed (tests/setup.sh programs)" % which)
write()
for command in commands:
    part = {"scalapack": command[0], "lammps": command[min(2, len(command) - 1)]}.get(which, which)
    compare(os.path.basename(part), ranks, command, kind)
end()
