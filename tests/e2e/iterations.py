# timeout: 120
"""Iterations of real programs: their number is the one that the program's source says, and of one that is slow by plan is said
which rank was, and where."""
import json
import re

from common import TOP, check, end, hpctop, mpirun, report, workload

TIMES = 60  # of planted.c


def line(mark):
    with open(TOP + "/workloads/planted.c") as f:
        return next("planted.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


for mode in ("one", "chain", "hidden", "turns", "sender", "overlap", "spikes"):
    done = mpirun(3, [workload("planted"), mode], mode)
    it = report(mode)["iterations"]
    check(mode + ": as many iterations as it has", done.code == 0 and it["count"] == TIMES, it)

# On busy cores others are slow, too, but not for as long between two calls.
planted = [s for s in it["slowest"] if s["segment_s"] and s["segment_s"] > 0.1]
check("spikes: each tenth is among the slowest", len(planted) >= 3 and {s["index"] % 10 for s in planted} == {6}, it)
check("spikes: rank 2, where it works", all((s["rank"], s["from"], s["to"]) == (2, line("barrier"), line("meet")) for s in planted),
      planted)
# The screen lists the same six, though each tenth is usual, with the rank that was long.
with open("keys", "w") as out:
    out.write("key i\nscreen\n")
screen = hpctop("--script", "keys", "--size", "80x24", "spikes")
rows = re.findall(r"^ (\d+) took (\d+)\.\d x: rank 2, (?:about )?1\d\d ms ", screen.out, re.M)
check("spikes: the screen lists each tenth with its rank", len({n for n, _ in rows if int(n) % 10 == 6}) >= 3, screen)
check("spikes: the screen's line of the first agrees with its row",
      rows and re.search(r"^ %s: 1\d\d ms, %s\.\d x; " % rows[0], screen.out, re.M), screen)
check("spikes: cells that are unknown are in the legend", " ? unknown " in screen.out, screen)
# The accounts of one iteration: all of its ranks' time, and the others wait for the rank that is slow in it.
slow = planted[0] if planted else {"index": 0, "at_s": 0, "seconds": 0}
said = hpctop("show", "--json", "spikes", "iteration-%d" % slow["index"])
own = json.loads(said.out) if said.code == 0 else {"accounts": [], "next": [""]}
time_of = {a["account"]: a["seconds"] for a in own["accounts"]}
part = [float(word) for word in own["next"][0].split() if word[0].isdigit()]
check("spikes: the accounts of an iteration add up to the time of its ranks",
      len(part) == 2 and abs(sum(time_of.values()) - 3 * (part[1] - part[0])) < 1e-6, (said, part))
check("spikes: in a slow iteration two of three ranks wait", time_of.get("wait", 0) > 0.1, own)
text = hpctop("show", "spikes", "iteration-%d" % slow["index"])
check("spikes: its page", "IN THIS WINDOW" in text.out and text.code == 0, text)
for none in ("iteration-0", "iteration-%d" % (TIMES + 1), "iteration-", "iteration-x"):
    text = hpctop("show", "spikes", none)
    check("spikes: no " + none, text.code == 2 and "there is no " + none in text.err, text)
# As well-known codes call, with one function for all halos and one for all sums.  cg has an untimed round before.
for mode, untimed in (("lulesh", 0), ("cg", 1), ("mg", 0), ("hpcg", 0), ("md", 0)):
    done = mpirun(4, [workload("loops"), mode], mode)
    it = report(mode)["iterations"]
    said = int(done.out.split()[1]) if done.code == 0 else None
    check(mode + ": as many iterations as it says", said and it["count"] == said + untimed, it)

# 200 sums of 2 ms between two tests: another phase of the program, no slow iteration.
done = mpirun(2, [workload("loops"), "phases"], "phases")
it = report("phases")["iterations"]
check("phases: as many as it says", done.code == 0 and it["count"] == int(done.out.split()[1]), it)
check("phases: another phase is no iteration", it["slowest"] and all(s["seconds"] < 200 * 0.002 for s in it["slowest"]), it)
text = hpctop("report", "--all", "spikes")
check("the page has them", "\nITERATIONS\n  %d iterations, median " % TIMES in text.out, text)
end()
