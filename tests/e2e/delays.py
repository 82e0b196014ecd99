# timeout: 240
# alone
"""Planted delays in real programs are charged to the rank and the two lines that cause them: through other ranks, without
collectives, and not where nobody waits.  All bounds are shares of what the same run waited in all."""
import re

from common import TOP, check, end, hpctop, mpirun, report, workload

MOST = 0.6  # of all waiting: what the planted delay causes at least, on busy cores


def line(mark):
    with open(TOP + "/workloads/planted.c") as f:
        return next("planted.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def run(mode):
    """What was waited, and the segments: [(from, to, segment)]."""
    done = mpirun(3, [workload("planted"), mode], mode)
    rep = report(mode) if done.code == 0 else None
    if not check(mode + " can be reported", rep is not None, done):
        return 0, {}, ""
    waits, charged = sum(w["lost_s"] for w in rep["waits"]), rep["delays_s"]
    check(mode + ": costs add up to the waits", abs(charged - waits) <= 0.001 * waits and abs(rep["waits_s"] - waits) < 1e-6,
          "%.6f s charged, %.6f s waited" % (charged, waits))
    return waits, {(s["from"], s["to"]): s for s in rep["segments"]}, rep["job"]["also"] or rep["job"]["answer"]


def caused(mode, rank, begin, stop):
    """One rank, between two lines, causes most of the waiting; the headline says so."""
    waits, segments, answer = run(mode)
    segment = segments.get((line(begin), line(stop)))
    if not check(mode + ": there is the segment", segment is not None, sorted(segments)):
        return
    check("%s: rank %d is the worst in it" % (mode, rank), segment["worst_rank"] == rank, segment)
    check(mode + ": it causes most of the waiting", segment["costs_s"] >= MOST * waits, (segment, waits))
    check(mode + ": the headline names it", re.match("rank %d is late: .*%s" % (rank, line(stop)), answer), answer)


caused("one", 1, "barrier", "meet")
caused("chain", 0, "barrier", "send")
caused("hidden", 1, "barrier", "meet")
caused("sender", 0, "send", "send")
caused("spikes", 2, "barrier", "meet")
caused("epoch", 0, "start", "put")
caused("post", 1, "wait", "post")
caused("neighbor", 0, "neighbor", "neighbor")

waits, segments, answer = run("turns")
costs = segments[(line("barrier"), line("meet"))]
check("turns: work between the two lines causes most of the waiting", costs["costs_s"] >= MOST * waits, (costs, waits))
check("turns: no rank is blamed", not re.match("rank . is late", answer), answer)

waits, segments, answer = run("overlap")
late = segments[(line("send ahead"), line("barrier"))]
check("overlap: what nobody waits for costs little", late["costs_s"] <= 0.1 * late["total_s"], late)

text = hpctop("report", "--all", "one")
check("the page has the table", "BETWEEN CALLS" in text.out and "planted.c" in text.out, text)
end()
