# timeout: 240
# alone
"""Planted delays in real programs have a price, and it is right: the program is run again without the delay.  The critical
path is as long as the run."""
import re

from common import TOP, check, end, hpctop, mpirun, report, workload

WITHIN = 0.1  # of the run
TIMES, LATE = 60, 0.020  # of planted.c


def line(mark):
    with open(TOP + "/workloads/planted.c") as f:
        return next("planted.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def run(mode, *more):
    name = mode + "".join(more)
    done = mpirun(3, [workload("planted"), mode, *more], name)
    rep = report(name) if done.code == 0 else None
    if not check(name + " can be reported", rep is not None, done):
        return None, 0
    elapsed = rep["job"]["elapsed_s"]
    check(name + ": the path is as long as the run", abs(rep["path_s"] - elapsed) <= 0.001 * elapsed and
          abs(rep["path_unknown_s"]) <= 0.01 * elapsed, (rep["path_s"], rep["path_unknown_s"], elapsed))
    e = rep["efficiency"]
    check(name + ": efficiencies are a product", abs(e["serialisation"] * e["transfer"] - e["communication"]) < 1e-9, e)
    return rep, max(r["wall_s"] for r in rep["ranks"])


def saves(mode, ranks, begin, stop):
    """The first of the list is what was planted; it saves what was planted, and no more than the run without it is shorter.
    That may be more on busy cores: ranks that spin while they wait slow down all others."""
    with_it, longer = run(mode)
    without, shorter = run(mode, "0")
    if not with_it or not without:
        return
    first = max(with_it["prices"], key=lambda p: p["saves_s"])
    check(mode + ": first of the list is what was planted",
          (first["kind"], first["from"], first["to"]) == ("segment", line(begin), line(stop)) and
          (ranks is None or first["ranks"] == ranks), first)
    said = "%.3f s, %.3f s without it, said to save %.3f s" % (longer, shorter, first["saves_s"])
    check(mode + ": it saves what was planted", abs(first["saves_s"] - TIMES * LATE) <= WITHIN * longer, said)
    check(mode + ": the run without it is as much shorter", longer - shorter >= first["saves_s"] - WITHIN * longer, said)


saves("one", [1], "barrier", "meet")
saves("chain", [0], "barrier", "send")
saves("turns", None, "barrier", "meet")
saves("sender", [0], "send", "send")

# Half of the delay of rank 1 is hidden behind that of rank 2, and stays when only rank 1 is mended.
rep, wall = run("hidden")
first = max(rep["prices"], key=lambda p: p["saves_s"])
check("hidden: mending rank 1 saves half of its delay", first["ranks"] == [1] and abs(first["saves_s"] - TIMES * LATE / 2) <= WITHIN * wall,
      first)

rep, wall = run("overlap")
check("overlap: what nobody waits for saves nothing", max(p["saves_s"] for p in rep["prices"]) <= WITHIN * wall, rep["prices"])

text = hpctop("report", "one")
check("the page has the list", re.search(r"WHAT TO MEND\n  rank 1, Barrier planted\.c:\d+ -> Allreduce", text.out), text)
end()
