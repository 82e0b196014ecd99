"""Jobs with a Horovod loop and one fault: what `hpctop horovod` says of them, while they hang and afterwards."""
import json
import time

from common import check, hpctop, start, wait_for, workload
from verdicts import kill_group

T = "allreduce.layer0.weight"
# fault: class while it hangs and afterwards, culprit (None: nobody), tensor ("": none is named), words in the summary (one
# of them, over MPI and over Gloo)
FAULTS = {
    "missing": ("not-submitted", 1, T, "has not submitted"),
    "metric": ("not-submitted", 1, "allreduce.val_loss", "only rank 1 submitted allreduce.val_loss"),
    "name": ("name-mismatch", 1, "allreduce.layer0_1.weight", "under two names"),
    "loopdead": ("loop-dead", 1, "", "still outside MPI"),
    "inside": ("inside-operation", 1, "", "inside MPI_Allreduce|inside gloo::allreduce"),
    "barrier": ("wait-cycle", 1, T, "MPI_Barrier|gloo::barrier"),
    "alone": ("not-submitted", 1, "", "only rank 1 has joined"),
    "stop": ("loop-dead", 1, "", "rank 1 st"),
}


def look(folder, hang):
    r = hpctop("horovod", "--json", "--hang", str(hang), folder)
    try:
        return json.loads(r.out) if r.code == 0 else None
    except ValueError:
        return None


def verdict(folder, hang):
    """None of a command that fails, or whose exit code says something else than what it printed."""
    r = hpctop("verdict", "--json", "--hang", str(hang), folder)
    try:
        found = json.loads(r.out)
    except ValueError:
        return None
    codes = {"healthy": (0,), "waiting": (0, 3)}.get(found["state"], (1,))
    return found if r.code in codes else None


def is_said(words, rank, summary):
    return any(w.replace("rank 1", "rank %d" % rank) in summary for w in words.split("|"))


def right_verdict(found, fault, rank):
    """What users ask first says the same.  A stopped process may be found stopped, or gone before the others."""
    kind, _, _, words = FAULTS[fault]
    kinds, words = (kind, "dead-rank") if fault == "stop" else (kind,), "rank 1" if fault == "stop" else words
    return (found and found["state"] == "hung" and found["class"] in kinds and found["culprits"] == [rank]
            and is_said(words, rank, found["summary"]))


def right(found, fault, rank):
    kind, _, tensor, words = FAULTS[fault]
    if not found or not found["sets"]:
        return False
    f = found["verdict"]
    kinds = (kind, "dead-rank") if fault == "stop" else (kind,)
    words = "rank 1" if fault == "stop" else words
    return (f["class"] in kinds and f["culprits"] == [rank] and f["state"] == "hung" and is_said(words, rank, f["summary"])
            and (not tensor or tensor in (f["facts"][0].get("name"), f["facts"][0].get("other_name"))))


HOLD = ["-s", "1000", "-x", "200000"]  # until the test has seen enough


class Hung:
    """A job that will hang; three looks at it: before, while, after."""

    def __init__(self, name, fault, ranks, rank, *options, program=None, launcher=("mpirun",)):
        self.name, self.fault, self.ranks, self.rank = name, fault, ranks, rank
        self.job = start(ranks, [program or workload("hvd_standin"), "-f", fault, "-r", str(rank)] + HOLD + list(options), name,
                         launcher=launcher)

    def notable(self):
        """Long before it counts as hung the first line says what is waited for."""
        rank = "rank %d" % self.rank
        def first_line():
            said = " ".join(hpctop("report", "--all", self.name).out.split())
            return rank in said and "submitted" in said and " for " in said and "a step usually takes" in said and \
                "hung for" not in said
        check("%s: the first line, long before it counts as hung" % self.name, wait_for(first_line, 20),
              hpctop("report", "--all", self.name).out[:600])

    def live(self, hang, timeout):
        began = time.monotonic()
        found = wait_for(lambda: (lambda x: x if right(x, self.fault, self.rank) else None)(look(self.name, hang)), timeout)
        check("%s: named while it hangs" % self.name, found, self.last(hang))
        found = wait_for(lambda: (lambda x: x if right_verdict(x, self.fault, self.rank) else None)(verdict(self.name, hang)), 20)
        check("%s: by hpctop verdict, too" % self.name, found, verdict(self.name, hang))
        return time.monotonic() - began

    def last(self, hang):
        found = look(self.name, hang)
        if found:
            return json.dumps(found["verdict"])
        self.job.said.seek(0)
        return "%s; the job: exit %s, %r" % (hpctop("horovod", "--hang", str(hang), self.name), self.job.poll(),
                                             self.job.said.read()[-600:])

    def over(self):
        kill_group(self.job)
        if self.fault == "stop" and (verdict(self.name, 30) or {}).get("state") == "aborted":
            # It was killed without being continued first: then it ended long before the others, which is told.
            told = " ".join(verdict(self.name, 30)["evidence"])
            check("stop: who was gone first is told", "rank %d: gone first" % self.rank in told, told)
            return
        found = wait_for(lambda: (lambda x: x if right_verdict(x, self.fault, self.rank) else None)(verdict(self.name, 30)), 8)
        check("%s: by hpctop verdict from the files, too" % self.name, found, verdict(self.name, 30))
        found = wait_for(lambda: (lambda x: x if right(x, self.fault, self.rank) else None)(look(self.name, 30)), 8)
        if check("%s: named afterwards, from the files" % self.name, found, self.last(30)) and self.fault == "missing":
            who = {t["name"]: t["submitted"] for t in found["sets"][0]["tensors"] if t["pending"]}
            others = [r for r in range(self.ranks) if r != self.rank]
            check("%s: and who has submitted it" % self.name, who.get(T) == others, who)
