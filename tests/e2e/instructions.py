# timeout: 300
"""What recording a call costs, in instructions: by callgrind they do not depend on the machine's speed.  The bounds are
a twentieth above what was counted when they were set, with gcc 12 on x86-64; a change that needs more says why here."""
import os
import platform
import shutil
import sys
import tempfile

from common import BUILD, TOP, check, end, skip_all

sys.path.insert(0, os.path.join(TOP, "tests", "bench"))
import bench  # noqa: E402

BOUNDS = {"rank": 182, "iprobe": 215, "allreduce": 225, "pt2pt": 340,
          "send_call": 300, "recv_call": 303, "sendrecv_call": 300, "test_call": 326, "not_yet": 214, "start_call": 904,
          "vector_call": 302, "ireduce_call": 324, "put_call": 213, "get_call": 214, "size_twin": 734, "tag_twin": 725,
          "comm_twin": 480, "type_twin": 900, "pause_twin": 312}
# Cached calls may meet in their table by addresses, but not at each of these places of the stack; and a gap that the
# machine makes longer than 16,384 ticks costs some instructions more.
PLACES = 6
CALLS = 9000  # more than there are sizes and tags; the first calls, which are described, count little

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("the bounds are those of x86-64")
with tempfile.TemporaryDirectory(dir=".") as folder:
    measure = bench.Bench(BUILD, os.path.abspath(folder))
    # Twins of few handles meet in the table of cached calls, by their addresses: these bounds have room for that.
    cases = [(*case, measure.program("selfcall")) for case in bench.CASES] + [(t, m, m, measure.rows) for t, m in bench.ROWS]
    for title, mode, body, program in cases:
        for place in range(PLACES):
            os.environ["STACK_PLACE"] = "x" * 200 * place
            bare, traced = (measure.instructions(kind, mode, body, CALLS, program) for kind in ("bare", "hpctop"))
            if not bare or not traced or traced - bare <= BOUNDS[mode]:
                break
        if not bare or not traced:
            check(title, False, "could not be measured")
            continue
        print("%s: %.0f instructions a call added, at most %d" % (title, traced - bare, BOUNDS[mode]))
        # less than nothing added would mean that nothing was recorded
        check(title, 50 < traced - bare <= BOUNDS[mode], "%.0f, bound %d" % (traced - bare, BOUNDS[mode]))
end()
