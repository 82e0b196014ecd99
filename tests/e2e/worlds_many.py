# timeout: 300
"""Several worlds that one program spawns one after another, side by side and each by the one before: which is whose is
told for all of them, so that messages between them are exact and a verdict names the right world."""
import re

from common import check, end, hpctop, mpirun, report, traces, wait_for, workload
from verdicts import kill_group, start, verdict

PARENTS = 2


def pairs_of(worlds, children, nest):
    """Messages by (world, rank) of both ends; world 0 is the first."""
    pairs = {}
    for k in range(worlds):
        above = k if nest else 0
        for i in range(children):
            pairs[(above, 0), (k + 1, i)] = (1, 100 * (k + 1) + i)
            pairs[(k + 1, i), (above, 0)] = (1, i + 1)
    return pairs


def exact(mode, worlds, children):
    label, folder = "%s of %d" % (mode, worlds), "%s-%d" % (mode, worlds)
    done = mpirun(PARENTS, [workload("spawn_chain"), mode, str(worlds), str(children)], folder)
    rep = report(folder)
    if not check(label + " runs", done.code == 0 and rep, done):
        return
    seen = {((p["src_world"], p["src"]), (p["dst_world"], p["dst"])): (p["messages"], p["bytes"]) for p in rep["pairs"]}
    check(label + ": every message, and no other", seen == pairs_of(worlds, children, mode == "nest"), rep["pairs"])
    page = hpctop("report", "--all", folder)
    text = page.out
    check(label + ": each collective has all of its ranks", page.code == 0 and "MPI_" in text and not re.search("not all ranks came to|could not be told|unmatched", text), text)
    code, said = verdict(folder)
    check(label + ": nothing hung", code == 0 and said["state"] == "healthy", said)


def stuck(worlds, children):
    """One child of the second world does not come: it is named, and nobody else."""
    label = "stuck, %d worlds" % worlds
    job = start(PARENTS, [workload("spawn_chain"), "stuck", str(worlds), str(children)], "stuck")
    last = [None]

    def named():
        if len(traces("stuck")) == PARENTS + worlds * children:
            last[0] = verdict("stuck")[1]
        v = last[0]
        return v and v["state"] == "hung" and (v["class"], v["culprit_worlds"], v["culprits"]) == ("missing-in-collective", [2], [0]) and "has not come" in v["summary"]

    check(label + ", live", wait_for(named, 60, 0.3), last)
    check(label + ": where it is missed", last[0] and "rank w2:0 has not come to MPI_Barrier on an intercommunicator of" in last[0]["summary"], last)
    kill_group(job)
    code, said = verdict("stuck")
    check(label + ", post mortem", said and (said["class"], said["culprit_worlds"], said["culprits"]) == ("missing-in-collective", [2], [0]), said)


for count in (2, 3, 5):
    exact("row", count, 2)
    exact("nest", count, 1)
stuck(3, 2)
end()
