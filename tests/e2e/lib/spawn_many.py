"""Worlds that are spawned one after another and at one time (workloads/spawn_many), told apart: for every MPI and launcher
alike (`launch` is called as common.mpirun)."""
import re

from common import check, hpctop, report, skip, traces, tried

PARENTS, CHILDREN, ROW = 2, 2, 3


def wanted(worlds):
    """Messages by (world, rank) of both ends; worlds are numbered as they are spawned, None: the parents'."""
    pairs = {}
    for k in range(worlds):
        root = max(k - ROW, 0)
        for i in range(CHILDREN):
            pairs[(None, root), (k, i)] = (1, 100 * (k + 1) + i)
            pairs[(k, i), (None, root)] = (1, i + 1)
        pairs[(k, 0), (k, CHILDREN - 1)] = (1, 1000 * (k + 1))
    return pairs


def spawned_many(label, launch, program):
    worlds, command = ROW + PARENTS, [program]
    bare = tried(launch, PARENTS, command)
    if bare.code != 0:  # not every MPI can spawn twice at one time
        worlds, command = ROW, [program, "row"]
        bare = tried(launch, PARENTS, command)
    if bare.code != 0:
        return skip(label, "does not run without libtrace.so either: exit %s " % bare.code + (bare.err or bare.out).strip()[-100:].replace("\n", " | "))
    folder = "trace-" + label.replace(" ", "-")
    done = tried(launch, PARENTS, command, folder)
    files = PARENTS + worlds * CHILDREN
    rep = report(folder)
    if not check(label + " runs", done.code == 0, done) or not check(label + ": the report can be made", rep):
        return None
    check(label + ": a file a process", len(traces(folder)) == files, traces(folder))
    check(label + ": %d worlds, and all processes in their own" % worlds,
          rep["job"]["ranks"] == files and {r["world"] for r in rep["ranks"]} == set(range(1 + worlds)),
          [(r["world"], r["rank"]) for r in rep["ranks"]])
    # Which of those that were spawned at one time came first is up to chance: what is sent inside a world says its number.
    number = {0: None}
    for p in rep["pairs"]:
        if p["src_world"] == p["dst_world"]:
            number[p["src_world"]] = p["bytes"] // 1000 - 1
    seen = {((number.get(p["src_world"]), p["src"]), (number.get(p["dst_world"]), p["dst"])): (p["messages"], p["bytes"]) for p in rep["pairs"]}
    want = wanted(worlds)
    # Two that were spawned at one time look alike to their parents: whose is which may stay unknown, but is never said wrongly.
    doubtful = {ends for ends in want if None in (ends[0][0], ends[1][0]) and (ends[0][0] or ends[1][0] or 0) >= ROW}
    page = hpctop("report", "--all", folder)
    text = page.out
    fits = all(want.get(ends) == moved for ends, moved in seen.items()) and set(want) - set(seen) <= doubtful
    said = re.search(r"partner has no trace or could not be told: (\d+)", text)
    check(label + ": messages inside and between them, exactly", fits, rep["pairs"])
    return check(label + ": it is said how many have an unknown partner", page.code == 0 and int(said.group(1) if said else 0) == len(set(want) - set(seen)), text)
