# timeout: 300
# alone
"""Why a rank takes longer is said as the program itself has measured it: another process on its core, a file that is read
past the cache, memory that is mapped anew, or just more work."""
import json
import os
import re
import shutil

from common import TOP, check, end, hpctop, mpirun, report, skip, traces, workload

CLOSE = 0.1  # of the number: what the program measures around its work, the recorder between heartbeats


def line(mark):
    with open(TOP + "/workloads/machine.c") as f:
        return next("machine.c:%d" % n for n, text in enumerate(f, 1) if "/* line: %s */" % mark in text)


def truth(out):
    """What each rank printed: {rank: {"seconds": ..}}."""
    ranks = {}
    for text in re.findall(r"^rank \d+ times.*$", out, re.M):
        words = text.split()
        ranks[int(words[1])] = {words[i]: float(words[i + 1]) for i in range(2, len(words), 2)}
    for r in ranks.values():
        r["blocked"] = max(r["seconds"] - r["cpu"] - r["queued"], 0)
    return ranks


def share_in(why, begin):
    found = re.search(begin + r" (\d+(?:\.\d+)?)\s?%", why)
    return float(found.group(1)) / 100 if found else -1


def bytes_in(why):
    found = re.search(r"reads (\d+(?:\.\d+)?) ?([kKMG]?)i?B", why)
    return float(found.group(1)) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}[found.group(2)] if found else 0


def unfit(mode, out):
    """Why a run cannot be judged: the ranks were counted rarely, since the recorder reads /proc rarely where that is slow,
    to cost no more than 0.03 %; or other programs took the processors, too.  None: it can."""
    counted = [len(re.findall(r"^USAGE .* thread=0 cpu_us", hpctop("dump", f).out, re.M)) for f in traces(mode)]
    ranks = truth(out)
    others = [r for r in ranks if mode != "queued" or r == 0]
    if min(counted, default=0) < 4:
        return "reading /proc takes so long here that the ranks were counted %s times" % counted
    if any(ranks[r]["queued"] > 0.2 * ranks[r]["seconds"] for r in others):
        return "other programs of this machine took the processors"
    return None


def fit_run(mode):
    """A run, and why it cannot be judged: the first of three that can, or the last."""
    for _ in range(3):
        shutil.rmtree(mode, ignore_errors=True)
        done = mpirun(2, [workload("machine"), mode], mode)
        why = unfit(mode, done.out) if done.code == 0 else None
        print("%s: %s" % (mode, why or "fit"))
        if not why:
            break
    return done, why


def run(mode):
    """The words for rank 1's segment, what it has measured, and the other."""
    done, why_not = fit_run(mode)
    rep = report(mode) if done.code == 0 else None
    if not check(mode + " can be reported", rep is not None, done):
        return None
    if why_not:
        skip(mode, why_not)
        return None
    ranks = truth(done.out)
    if not check(mode + ": both ranks have measured", sorted(ranks) == [0, 1], done):
        return None
    if mode == "reads" and not ranks[1]["read"]:
        skip(mode, "the folder of this test is on no disk: nothing is read from one")
        return None
    segment = [s for s in rep["segments"] if (s["from"], s["to"]) == (line("barrier"), line("meet"))]
    if not check(mode + ": there is the segment", len(segment) == 1 and segment[0]["worst_rank"] == 1, rep["segments"]):
        return None
    why = segment[0]["why"] or ""
    print("%s: %r; measured %r, the other %r" % (mode, why, ranks[1], ranks[0]))
    check(mode + ": the headline says it", why and why in (rep["job"]["also"] or rep["job"]["answer"]), (why, rep["job"]))
    verb = "spends" if re.match(r"(waited|reads|off the processor)", why) else "computes"
    check(mode + ": its verb says whether it was on the processor", " late: %s " % verb in (rep["job"]["also"] or "") + rep["job"]["answer"],
          (verb, rep["job"]))
    check(mode + ": the page says it", why and why in re.sub(r"\s+", " ", hpctop("report", "--all", mode).out), why)
    price = [p for p in rep["prices"] if (p["from"], p["to"]) == (line("barrier"), line("meet"))]
    kind = r"(waited|reads|page faults|more work)"
    check(mode + ": so does what it would save", price and price[0]["why"] and
          re.search(kind, price[0]["why"]).group(1) in why, price)
    verdict = json.loads(hpctop("verdict", "--json", mode).out)
    check(mode + ": so does the verdict, where it is trouble", why in verdict["evidence"] or verdict["state"] == "healthy", verdict)
    return why, ranks[1], ranks[0]


def alike(got, want):
    return abs(got / want - 1) <= CLOSE if want else False


def is_right(mode, why, own, other):
    """Whether the words say what takes most of the difference, or nearly, and as much of it as the program has
    measured."""
    more = {part: own[part] - other[part] for part in ("queued", "blocked", "cpu")}
    least = 0.75 if other["queued"] <= 0.2 * other["seconds"] else 0.25  # in calls the other competes for its core, too
    return any(tells(part, mode, why, own, other) for part in more if more[part] >= least * max(more.values()))


def tells(part, mode, why, own, other):
    if part == "queued":  # planted, or other programs of this machine are in the way
        same = re.match(r"same work, (\d+\.\d) x the time: ", why)
        return (abs(share_in(why, "waited") - own["queued"] / own["seconds"]) <= CLOSE and
                (not same or alike(float(same.group(1)), own["seconds"] / other["seconds"]) and alike(own["cpu"], other["cpu"])))
    if part == "blocked":
        return (mode == "reads" and alike(bytes_in(why), own["read"]) and
                abs(share_in(why, "processor") - own["blocked"] / own["seconds"]) <= CLOSE)
    times = re.match(r"(\d+) page faults", why)
    factor = re.match(r"more work(?:, as far as is known)?: (\d+\.\d) x the", why)
    if mode == "faults" and times:
        return alike(int(times.group(1)), own["faults"])
    in_kernel = (own["system"] - other["system"]) / (own["cpu"] - other["cpu"])
    works = mode == "work" or mode == "faults" and in_kernel < 0.6  # new memory is slow outside the kernel, too
    return works and bool(factor) and 0.75 <= float(factor.group(1)) * other["cpu"] / own["cpu"] <= 1.25


for mode in ("queued", "reads", "faults", "work"):
    found = run(mode)
    if found:
        check(mode + ": it is what the program has measured", is_right(mode, *found), found)

# What it costs: the recorder says how much of its own thread's time it took, and over which time.
cost = [re.search(r"fact usage: (\d+) us of (\d+) us, (\d+) times", hpctop("dump", os.path.join("work", f)).out)
        for f in sorted(os.listdir("work"))]
cost = [[int(n) for n in c.groups()] for c in cost if c]
print("cost: " + ", ".join("%d us of %d us, %d times" % tuple(c) for c in cost))
check("counting costs at most 0.1 % of a rank's time", len(cost) == 2 and
      all(us <= 0.001 * of + us / times for us, of, times in cost), cost)
end()
