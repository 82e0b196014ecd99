# timeout: 60
"""Of more requests than the recorder follows, the bytes received are a lower bound, which stands beside the number."""
import os
import re
import subprocess

from common import TOP, check, end, hpctop, mpirun, report

subprocess.run(["mpicc", "-O1", "-w", "-o", "receives", os.path.join(TOP, "tests/e2e/lower_bounds/receives.c")], check=True)
for n in (1000, 100000):
    folder = "trace-%d" % n
    done = mpirun(1, ["./receives", str(n)], folder)
    text, rep = hpctop("report", "--all", folder).out, report(folder)
    unknown = rep["ranks"][0]["unknown_requests"] if rep else None
    marked = re.findall(r"^ +(\S+) .*(?:≥|>=)\d", text, re.M)
    few = n == 1000
    check("%d receives: runs" % n, done.code == 0 and done.out == "done\n", done)
    check("%d receives: how many are not followed" % n, unknown == 0 if few else 34000 < unknown < 40000, unknown)
    check("%d receives: bytes are those of the others" % n, rep["ranks"][0]["bytes_received"] == 4 * (n - unknown) + 8, rep["ranks"])
    check("%d receives: what is marked" % n, marked == ([] if few else ["0", "MPI_Irecv"]), text)
    check("%d receives: what it rests on" % n, ("requests not followed: %d" % unknown in text) != few, text[-600:])
end()
