# timeout: 240
# waits
"""Faults of the stand-in for Horovod: each is named, rank and tensor, while the job hangs and from its files; and what
looks like them and is healthy is not."""

import os
import re
import shutil
from functools import partial

from common import check, end, hpctop, mpirun, report, start, together, traces, wait_for, workload
from hvd import FAULTS, HOLD, Hung, look, right_verdict, verdict
from verdicts import kill_group

STANDIN = workload("hvd_standin")


def hung(name):
    job = Hung(name, name, 3, 1, "-c", "4000")
    if name == "missing":
        job.notable()
    job.live(1.5, 60)
    job.over()


def root():
    """What rank 0 asks for is on no wire: its rank is named, and that its name cannot be."""
    job = start(3, [STANDIN, "-f", "metric", "-r", "0", "-c", "4000"] + HOLD, "root")

    def told():
        found = look("root", 1.5)
        f = found["verdict"] if found else {}
        return found if f.get("class") == "not-submitted" and f["culprits"] == [0] and f["state"] == "hung" else None

    found = wait_for(told, 60)
    check("root: rank 0 is named", found, look("root", 1.5))
    check("root: and that its tensor's name is on no wire", found and "on no wire" in " ".join(found["verdict"]["evidence"]), found)
    kill_group(job)


def ends(name, fault, *more):
    job = mpirun(3, [STANDIN, "-f", fault, "-s", "60"] + list(more), name)
    found = look(name, 30)
    check(name + ": the program ends", job.code == 0, job)
    return found or {"sets": [], "verdict": {}}


def healthy(name, fault, *more):
    found = ends(name.replace(" ", "-"), fault, *more)
    check(name + ": healthy", found["verdict"].get("state") == "healthy", found["verdict"])
    if not check(name + ": one set", len(found["sets"]) == 1, found["sets"]):
        return
    s = found["sets"][0]
    done = {t["name"]: t["done"] for t in s["tensors"]}
    n = 7 if "7" in more else 200 if "200" in more else 4
    wanted = {"allreduce.layer%d.weight" % i: 60 for i in range(n)}
    check(name + ": every tensor, so often as it was reduced", done == wanted, sorted(set(wanted.items()) ^ set(done.items()))[:5])
    check(name + ": 60 steps", s["steps"] == 60, s["steps"])
    check(name + ": nothing is pending", not any(t["pending"] for t in s["tensors"]), s["tensors"])
    check(name + ": by MPI", s["library"] == "mpi", s["library"])


def without(rank):
    """A folder without one rank's file: a rank is not blamed for what is not known of it."""
    pids = {r["rank"]: r["pid"] for r in report("missing")["ranks"]}
    folder = "without-%d" % rank
    os.mkdir(folder)
    for path in traces("missing"):
        if ".%d." % pids[rank] not in os.path.basename(path):
            shutil.copy(path, folder)
    found = look(folder, 30)
    f = found["verdict"] if found else {}
    check("without rank %d's file: rank 1 is named, and nobody else" % rank,
          f.get("class") == "not-submitted" and "rank 1 has not submitted 4 of 4" in f["summary"], f)
    check("without rank %d's file: not called proven" % rank, (verdict(folder, 30) or {}).get("confidence") == ("possible" if rank == 1 else "likely"),
          verdict(folder, 30))


NOTHING_MOVED = "no call completed for"


def progress():
    """Stacks are due when nothing but the loop's rounds is done: not while it carries out tensors, however small."""
    job = mpirun(3, [STANDIN, "-s", "80", "-m", "40", "-t", "1", "-e", "8"], "small", HPCTOP_HANG="1")
    check("small tensors: the program ends", job.code == 0, job)
    dump = hpctop("dump", "small")
    check("small tensors: carried out, so something moves", dump.code == 0 and "MPI_Allreduce" in dump.out and
          NOTHING_MOVED not in dump.out, dump)


def no_progress(name, *more):
    """Then they are taken, and the verdict has the places from them."""
    job = start(3, [STANDIN, "-f", "missing", *HOLD, *more], name, HPCTOP_HANG="1")
    check(name + ": stacks of all ranks", wait_for(lambda: hpctop("dump", name).out.count(NOTHING_MOVED) >= 3))
    found = wait_for(lambda: (lambda v: v if right_verdict(v, "missing", 1) else None)(verdict(name, 1.5)), 20)
    check(name + ": named by the verdict", found, verdict(name, 1.5))
    text = hpctop("verdict", "--hang", "1.5", name).out
    others = r"ranks 0 and 2 +waiting for" if not more else r"rank 0 +what it asks for is on no wire.*\n +rank 2 +waiting for"
    check(name + ": and where it is", re.search(r"rank 1 +awaited   <- (?:\w+\.c:\d+ in )?\w+ .*\n +" + others, text), text)
    kill_group(job)


def at_work(fault):
    """A rank that sleeps for a set time, or computes, may come back: the others wait for it, also beyond the limit."""
    job = start(3, [STANDIN, "-f", fault, "-d", "9000", *HOLD], "work-" + fault)
    seen = []

    def waits():
        seen.append(verdict("work-" + fault, 1.5) or {})
        return seen[-1].get("state") == "waiting" and seen[-1]["since_s"] > 4

    check(fault + ": waited for, beyond the limit", wait_for(waits, 60) and seen[-1]["culprits"] == [1], seen[-1:])
    check(fault + ": never called hung", not [v for v in seen if v and v["state"] not in ("healthy", "waiting")], seen)
    kill_group(job)


def straggler():
    found = ends("straggler", "straggler", "-r", "2", "-d", "50")
    f = found["verdict"]
    check("straggler: slow, not hung, and who", f.get("class") == "straggler" and f["culprits"] == [2] and f["state"] != "hung", f)
    r = found["sets"][0]["ranks"][2] if found["sets"] else {"last": 0, "steps": 1, "late_s": 0}
    check("straggler: in 95% of the steps at least", r["last"] >= 0.95 * r["steps"], r)
    check("straggler: by what it was late", r["late_s"] >= 0.045, r)


def straggler_of_milliseconds():
    """As late in each step, but all of the run is a share of a second: no trouble."""
    found = ends("short", "straggler", "-r", "2", "-d", "10", "-s", "22", "-m", "2")
    check("a straggler of a third of a second is no trouble", found["verdict"].get("state") == "healthy", found["verdict"])


def refused(fault, words):
    """The coordinator answers that a tensor differs between ranks: the program ends by itself, and who differs is named."""
    found = ends(fault, fault)
    f = found["verdict"]
    check(fault + ": refused, and who is odd", f.get("class") == "mismatched-collective" and f["culprits"] == [1]
          and f["state"] == "aborted" and words in f["summary"], f)
    refusal = found["sets"][0].get("refused", {}) if found["sets"] else {}
    check(fault + ": with Horovod's own words", refusal.get("tensor") == "allreduce.layer1.weight" and
          "Mismatched" in refusal.get("error", ""), refusal)


def leaves():
    found = ends("shutdown", "shutdown", "-r", "2")
    f = found["verdict"]
    check("shutdown: who left first", f.get("class") == "early-exit" and f["culprits"] == [2] and f["state"] != "hung", f)


together([partial(hung, name) for name in FAULTS] + [
    root, partial(no_progress, "cached"), partial(no_progress, "uncached", "-k", "0"),
    partial(healthy, "plain", "none"), partial(healthy, "join", "join"), partial(healthy, "join of rank 0", "join", "-r", "0"),
    partial(healthy, "reshape", "reshape"), partial(healthy, "small cache", "none", "-k", "3", "-t", "7"),
    partial(healthy, "many tensors", "none", "-t", "200"), partial(healthy, "no cache", "none", "-k", "0"),
    partial(healthy, "pause", "pause", "-d", "1500"), leaves, partial(at_work, "pause"), partial(at_work, "compute"),
    partial(refused, "shape", "rank 1 submitted it with shape [1011], ranks 0 and 2 with [1001]"),
    partial(refused, "type", "rank 1 submitted it as float64, ranks 0 and 2 as float32"),
])
for rank in (0, 1, 2):
    without(rank)
progress()  # what these say is about time: each by itself
straggler()
straggler_of_milliseconds()
end()
