# timeout: 120
"""No room for the trace: the program runs on with its own exit status, and the loss is told."""
import atexit
import json
import os
import subprocess

from common import calls, check, end, hpctop, mpirun, report, run, skip, traces, workload


def disk_full():
    os.mkdir("small")
    if os.geteuid() != 0 or run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", "small"]).code != 0:
        skip("full disk", "cannot mount a file system here")
        return
    atexit.register(lambda: subprocess.run(["umount", "-l", "small"], check=False))
    done = mpirun(2, [workload("pingpong"), "300000"], os.path.abspath("small/trace"))
    check("full disk: the program does not notice", done.code == 0 and not done.err, done)
    rep = report(os.path.abspath("small/trace")) if traces("small/trace") else None
    if check("full disk: the report can be made", rep is not None):
        seen = calls(rep).get("MPI_Send", {}).get("calls")
        check("full disk: counters stay exact", rep["job"]["ranks"] < 2 or seen == 2 * (300000 + 3001), seen)
    done = mpirun(4, [workload("stencil"), "2"], os.path.abspath("small/trace4"))
    check("full disk: 4 ranks do not notice", done.code == 0, done)
    said = [" ".join(hpctop("report", os.path.abspath(d)).out.split()) for d in ("small/trace", "small/trace4") if traces(d)]
    check("full disk: the report says so", all("no more space" in s or "no space" in s.lower() for s in said), said)


def read_only():
    os.mkdir("locked", 0o555)
    if os.geteuid() == 0:
        if run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "locked"]).code != 0:
            skip("read-only folder", "root may write everywhere, and cannot mount here")
            return
        atexit.register(lambda: subprocess.run(["umount", "-l", "locked"], check=False))
    done = mpirun(2, workload("ring"), os.path.abspath("locked/trace"))
    check("read-only folder: the program does not notice", done.code == 0 and not done.out and not done.err, done)
    done = mpirun(2, workload("ring"), os.path.abspath("locked/trace"), HPCTOP_VERBOSE="1")
    check("read-only folder: HPCTOP_VERBOSE=1 says why", done.code == 0 and "locked" in done.err, done)
    check("read-only folder: nothing on stdout", not done.out, done.out)


def limited():
    truth = os.path.abspath("truth.json")
    done = mpirun(2, [workload("pingpong"), "300000"], "limited", HPCTOP_LIMIT="2M", TRUTH=truth)
    if not check("HPCTOP_LIMIT: runs", done.code == 0, done):
        return
    sizes = [os.path.getsize(f) for f in traces("limited")]
    check("HPCTOP_LIMIT: the files keep to it", len(sizes) == 2 and max(sizes) <= 2 << 20, sizes)
    rep = report("limited")
    if check("HPCTOP_LIMIT: the report can be made", rep is not None):
        with open(truth) as f:
            want = json.load(f)["calls"]
        for name in ("MPI_Send", "MPI_Recv"):
            seen = {k: calls(rep)[name].get(k) for k in want[name]}
            check("HPCTOP_LIMIT: %s stays exact" % name, seen == want[name], "%s, truth %s" % (seen, want[name]))


def polling():
    done = mpirun(2, workload("polling"), "polling", TRUTH=os.path.abspath("polls.json"))
    if not check("polling: runs", done.code == 0, done):
        return
    with open("polls.json") as f:
        tests = json.load(f)["calls"]["MPI_Test"]["calls"]
    lines = hpctop("dump", "polling").out.count("MPI_Test")
    check("polling: failed tests fold", tests > 10000 and 0 < lines < tests / 100,
          "%d calls of MPI_Test became %d lines" % (tests, lines))


disk_full()
read_only()
limited()
polling()
end()
