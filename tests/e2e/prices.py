# timeout: 240
# alone
"""Planted delays in real programs have a price: what they really took.  The critical path is as long as the run.  That a
run without the delay is as much shorter is measured by tests/bench/prices.py."""
import os
import re
import statistics
import struct

from common import TOP, check, end, hpctop, mpirun, report, workload

WITHIN = 0.1  # of the run
TIMES, RANKS = 60, 3  # of planted.c


def line(mark):
    with open(TOP + "/workloads/planted.c") as f:
        return next("planted.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def run(name):
    done = mpirun(RANKS, [workload("planted"), name], name, TRUTH=os.path.abspath(name + ".truth"))
    rep = report(name) if done.code == 0 else None
    if not check(name + " can be reported", rep is not None, done):
        return None, 0
    elapsed = rep["job"]["elapsed_s"]
    check(name + ": the path is as long as the run", abs(rep["path_s"] - elapsed) <= 0.001 * elapsed and
          abs(rep["path_unknown_s"]) <= 0.01 * elapsed, (rep["path_s"], rep["path_unknown_s"], elapsed))
    e = rep["efficiency"]
    check(name + ": efficiencies are a product", abs(e["serialisation"] * e["transfer"] - e["communication"]) < 1e-9, e)
    return rep, max(r["wall_s"] for r in rep["ranks"])


def slept(mode):
    """How long the ranks really slept, iteration by iteration: [(rank 0, rank 1, rank 2)]."""
    with open(mode + ".truth.times", "rb") as f:
        all_of_them = struct.unpack("%dd" % (RANKS * TIMES), f.read())
    return list(zip(*(all_of_them[r * TIMES:(r + 1) * TIMES] for r in range(RANKS))))


def saves(mode, rank_of, begin, stop, ranks, like="others"):
    """The first of the list is what was planted; mending it saves what its rank slept longer than the longest of the others, or
    than its other work after the same call, iteration by iteration."""
    rep, wall = run(mode)
    if not rep:
        return
    first = max((p for p in rep["prices"] if p["kind"] != "processor" and not p["after"]), key=lambda p: p["saves_s"])
    check(mode + ": first of the list is what was planted",
          (first["kind"], first["from"], first["to"]) == ("segment", line(begin), line(stop)) and
          (ranks is None or first["ranks"] == ranks), first)
    check(mode + ": it says what it is compared with", first["like"] == like and first["at_most"] is False and
          first["file"] is None, first)
    longer = sum(max(0, one[rank_of(i)] - max(s for r, s in enumerate(one) if r != rank_of(i)))
                 for i, one in enumerate(slept(mode)))
    others = [s["total_s"] / s["times"] for s in rep["segments"] if s["from"] == line(begin) and s["to"] != line(stop)]
    if like == "other work" and others:
        longer -= TIMES * statistics.median(others)
    check(mode + ": it saves what was planted", abs(first["saves_s"] - longer) <= WITHIN * wall,
          "said to save %.3f s, slept %.3f s longer, in %.3f s" % (first["saves_s"], longer, wall))


saves("one", lambda i: 1, "barrier", "meet", [1])
saves("chain", lambda i: 0, "barrier", "send", [0], "other work")
saves("turns", lambda i: i % RANKS, "barrier", "meet", None, "usual")
saves("sender", lambda i: 0, "send", "send", [0], "other work")
saves("post", lambda i: 1, "wait", "post", [1], "other work")
saves("neighbor", lambda i: 0, "neighbor", "neighbor", [0])
# Half of the delay of rank 1 is hidden behind that of rank 2, and stays when only rank 1 is mended.
saves("hidden", lambda i: 1, "barrier", "meet", [1])

rep, wall = run("overlap")
uneven = sum(max(one) - min(one) for one in slept("overlap"))
check("overlap: what nobody waits for saves nothing",
      max((p["saves_s"] for p in rep["prices"] if p["kind"] != "processor"), default=0) <= WITHIN * wall + uneven,
      (rep["prices"], uneven))

for job, form in (("chain", ["--json"]), ("turns", []), ("hidden", ["--json"])):
    alone, two, seven = (hpctop("report", "-j", str(n), *form, job) for n in (1, 2, 7))
    check("%s: the report does not depend on how many read it%s" % (job, " (JSON)" if form else ""),
          alone.code == 0 and alone.out == two.out == seven.out, (alone, two, seven))
for wrong in ("0", "-1", "x", "2x", "", "99999"):
    check("-j %r is wrong usage" % wrong, hpctop("report", "--all", "-j", wrong, "one").code == 64)

text = hpctop("report", "--all", "one")
check("the page has the list", re.search(r"WHAT TO MEND\n  rank 1, Barrier planted\.c:\d+ -> Allreduce", text.out), text)
end()
