# timeout: 120
"""Jobs that end between the two readings of a look (the files, then the pids) are no aborted ones."""
import json
import os
import subprocess
import time

from common import HPCTOP, TOP, check, end, start, traces, wait_for, workload

HOLD = os.path.abspath("hold.so")
subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-shared", "-fPIC", "-o", HOLD,
                os.path.join(TOP, "tests/e2e/corners/hold.c")], check=True)


def look(name, command):
    """The verdict of a look that has read the files of a running job when that ends, and goes on afterwards; None: the
    job had ended before."""
    p = start(2, command, name)
    wait_for(lambda: len(traces(name)) == 2)
    hold = os.path.abspath(name)
    viewer = subprocess.Popen([HPCTOP, "verdict", "--json", name], stdout=subprocess.PIPE,
                              env=dict(os.environ, LD_PRELOAD=HOLD, HOLD=hold))
    wait_for(lambda: os.path.exists(hold + ".reached"))
    ran = p.poll() is None
    p.wait()
    time.sleep(0.1)
    open(hold + ".go", "w").close()
    out, _ = viewer.communicate()
    return json.loads(out) if ran else None


seen, tries = 0, 0
while seen < 3 and tries < 10:
    tries += 1
    v = look("ends-%d" % tries, [workload("hang_not"), "sleep", "1"])
    if v:
        seen += 1
        check("look %d at a job that ends meanwhile" % seen, v["state"] in ("healthy", "slow"), v["summary"])
check("looks that were in time", seen == 3, "%d of %d" % (seen, tries))
end()
