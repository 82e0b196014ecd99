# timeout: 120
# alone
"""Injected delays are seen as that long and laid at the right rank's door: as a share of what was injected, never
against a clock's deadline.  The workloads measure how long they really slept."""
import json
import os

from common import calls, check, end, mpirun, report, workload
from verdicts import verdict

LOW, HIGH = 0.85, 1.25  # of the injected total
POLLED = 0.4  # of a wait by polling counts the part inside the polls
LONG_WAIT = 0.02  # seconds; less is the scheduler's noise


def one(name, ranks, *arguments, low=LOW):
    label = " ".join((name,) + arguments) + " x%d" % ranks
    folder, truth = label.replace(" ", "-"), os.path.abspath("truth.json")
    done = mpirun(ranks, [workload(name), *arguments], folder, TRUTH=truth)
    rep = report(folder) if done.code == 0 else None
    if not check(label + " can be reported", rep is not None, done):
        return
    with open(truth) as f:
        waits = json.load(f)["waits"]
    if not check(label + ": the report has waits, and the workload some that are long",
                 "waits" in rep and any(w["seconds"] > LONG_WAIT for w in waits), (sorted(rep), waits)):
        return
    seen = {(w["kind"], w["waiter"], w["culprit"]): w for w in rep["waits"]}
    for want in (w for w in waits if w["seconds"] > LONG_WAIT):
        what = "%s: rank %d waits for rank %d (%s)" % (label, want["waiter"], want["culprit"], want["kind"])
        found = seen.get((want["kind"], want["waiter"], want["culprit"]))
        if check(what, found is not None, rep["waits"]):
            share = found["lost_s"] / want["seconds"]
            check(what + ", the injected time", low <= share <= HIGH, "%.6f s of %.6f s" % (found["lost_s"], want["seconds"]))
    total = sum(w["seconds"] for w in waits)
    others = sum(w["lost_s"] for k, w in seen.items() if k not in {(w["kind"], w["waiter"], w["culprit"]) for w in waits})
    check(label + ": nobody else is blamed", others < 0.25 * total, "%.6f s elsewhere, %.6f s injected" % (others, total))


def found():
    """A rank that comes late to every step of two seconds is trouble."""
    done = mpirun(2, [workload("stencil"), "2", "1"], "found")
    code, said = verdict("found")
    check("stencil: the late rank is found", done.code == 0 and code == 1 and
          (said["state"], said["class"], said["culprits"]) == ("slow", "straggler", [1]), (done, said))


found()
one("late_sender", 2)
one("late_sender", 2, "tests", low=POLLED)
one("late_sender", 2, "probes", low=POLLED)
one("late_receiver", 2)
one("late_collective", 2)
one("late_collective", 4)
one("imbalance", 4)
end()
