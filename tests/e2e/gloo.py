# timeout: 240
# waits
"""Gloo without MPI: ranks that only the environment names are one job, with its collectives, their bytes, and who has not
come.  gloo_torch.py has PyTorch."""
import os
import re
import shutil

from common import HPCTOP, TOP, calls, check, end, environment, hpctop, report, run, skip_all, traces
from verdicts import count, hang, hung

HERE = os.path.join(TOP, "tests/e2e/gloo")
LAUNCH = os.path.join(HERE, "launch")
EXPECTED = {  # of 3 ranks: calls, bytes sent, bytes received
    "gloo::connectFullMesh": (5, 0, 0), "gloo::broadcast": (3, 40, 80), "gloo::reduce": (3, 120, 40),
    "gloo::allgather": (3, 120, 360), "gloo::gather": (3, 120, 120), "gloo::alltoall": (3, 360, 360),
    "gloo::scatter": (3, 120, 120), "gloo::allgatherv": (3, 24, 72), "gloo::alltoallv": (3, 72, 72),
    "gloo::allreduce": (5, 12800, 12800), "gloo::barrier": (3, 0, 0)}

if not shutil.which("g++") or not os.path.exists("/usr/include/gloo/allreduce.h"):
    skip_all("g++ or libgloo-dev is missing")
built = run(["g++", "-w", "-g", "-O1", "-o", "direct", os.path.join(HERE, "direct.cc"), "-lgloo"])
check("the program is built", built.code == 0, built)


def direct(mode, folder=None):
    return run([LAUNCH, "-n", "3", "./direct", mode], environment(folder, folder is not None))


plain, done = direct("ok"), direct("ok", "ok")
check("it runs as without libtrace.so", (plain.code, plain.out, plain.err) == (0, "", "") == (done.code, done.out, done.err), done)
rep = report("ok")
check("each rank has a file, with its rank", [r["rank"] for r in rep["ranks"]] == [0, 1, 2] and len(traces("ok")) == 3, rep["ranks"])
got = {c["name"]: (c["calls"], c["bytes_sent"], c["bytes_received"]) for c in rep["calls"]}
check("calls and bytes", got == EXPECTED, got)
dump = hpctop("dump", "ok").out
named = [line.split("identity=")[1].split()[0] for line in dump.splitlines() if line.startswith("comm ")]
check("the group of all has one name, a pair that nothing names has one a rank", sorted(map(named.count, set(named))) == [1, 1, 3], named)

done = direct("wide", "wide")
rep = report("wide")
got = {c["name"]: [c["bytes_sent"], c["bytes_received"], c["unknown_bytes"]] for c in rep["calls"]}
check("bytes that are not known are null", done.code == 0 and got.pop("gloo::broadcast") == [None, None, 3], done)
check("and others stay exact", got["gloo::allreduce"] == [12000, 12000, 0], got)
page = hpctop("report", "--all", "wide").out
check("a rank's sum says that it is a lower bound", len(re.findall("^ .* [012] .*≥4.00 kB +≥4.00 kB", page, re.M)) == 3, page)
check("a call's says nothing", re.search("^ gloo::broadcast .* – +– ", page, re.M), page)
places = {s["call"]: s["bytes_sent"] for s in rep["sites"]}
check("and that of its place", places["gloo::broadcast"] is None and places["gloo::allreduce"] == 12000, places)

done = direct("timeout", "timeout")
check("an exception reaches the program", done.code == 0 and done.out.count("an exception came through") == 3, done)

built = run(["gcc", "-shared", "-o", "libjax_common.so", "-x", "c", "/dev/null"])
done = run([HPCTOP, "record", "-o", "jax", "--", LAUNCH, "-n", "2", "python3", "-c", "import ctypes; ctypes.CDLL('./libjax_common.so')"])
check("jax, which hides its Gloo, is named as not seen", built.code == 0 and
      re.search("nothing was recorded: rank [01] had libjax_common.so loaded, but made no call", done.err), done)

for mode, want in (("late", hung("missing-in-collective", [1], says="rank 1 has not come to gloo::allreduce on gloo")),
                   ("mismatch", hung("mismatched-collective", [1], says="rank 1 called gloo::barrier where the other 2 called gloo::allreduce"))):
    hang(mode, 3, want, ["./direct", mode], launcher=LAUNCH)
count.show()
end()
