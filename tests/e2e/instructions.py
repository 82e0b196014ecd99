# timeout: 120
"""What recording a call costs, in instructions: by callgrind they do not depend on the machine's speed.  The bounds are
a tenth above what was counted when they were set, with gcc 12 on x86-64; a change that needs more says why here."""
import os
import platform
import shutil
import sys
import tempfile

from common import BUILD, TOP, check, end, skip_all

sys.path.insert(0, os.path.join(TOP, "tests", "bench"))
import bench  # noqa: E402

BOUNDS = {"rank": 210, "iprobe": 275, "allreduce": 265, "pt2pt": 440}

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("the bounds are those of x86-64")
with tempfile.TemporaryDirectory(dir=".") as folder:
    measure = bench.Bench(BUILD, os.path.abspath(folder))
    for title, mode, body in bench.CASES:
        bare, traced = (measure.instructions(kind, mode, body, 2000) for kind in ("bare", "hpctop"))
        if not bare or not traced:
            check(title, False, "could not be measured")
            continue
        print("%s: %.0f instructions a call added, at most %d" % (title, traced - bare, BOUNDS[mode]))
        # less than nothing added would mean that nothing was recorded
        check(title, 50 < traced - bare <= BOUNDS[mode], "%.0f, bound %d" % (traced - bare, BOUNDS[mode]))
end()
