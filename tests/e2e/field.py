# timeout: 200
"""Nineteen programs of tests/field, whose verdict is right: who and what, live and from the files.  All: make field."""
import os
import subprocess
import sys
from functools import partial

from common import TOP, check, end, skip_all, together

sys.path.insert(0, os.path.join(TOP, "tests", "field"))
from run import CASES, base_environment, brief, build, installed, run  # noqa: E402

QUICK = ("stencil.blocking_ring", "stencil.waitany_unsent", "stencil.persistent", "farm.no_stop", "farm.probe_wrong",
         "farm.stealing", "coll.branch", "coll.wrong_root", "coll.one_more", "coll.started_order", "coll.inter_recv",
         "lively.test_both", "rma.pscw_cycle", "rma.lock_kept", "coll.swapped_ok", "threads.late_feeder_ok",
         "train.raises", "stuck.flock", "coll.one_more_finalize")

if not installed("openmpi"):
    skip_all("no Open MPI here")
cases = [c for c in CASES if c.name in QUICK]
check("the cases are there", len(cases) == len(QUICK), [c.name for c in cases])
try:
    programs = build("openmpi", cases)
except subprocess.CalledProcessError as e:
    check("the programs are compiled", False, e)
    end()
base = base_environment()


def judge(case):
    result = run(case, "openmpi", base, programs)
    check(case.name + ": nothing misbehaves", not result.bad, result.bad)
    if case.advice:
        advice = ((result.live or (0, None))[1] or {}).get("next")
        check(case.name + ": the advice", case.advice in (advice or ""), advice)
    for moment, found in (("live", result.live), ("at the end", result.end)):
        if found:
            check("%s: %s" % (case.name, moment), not found[0], (found[0], brief(found[1]), str(case.live), case.what))


together([partial(judge, case) for case in cases], 2)
end()
