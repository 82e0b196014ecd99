"""A workload's own truth (workloads/truth.h) against `hpctop report --json`."""
from common import calls

# Calls that a tracer need not see: clocks, addresses, handles, queries that move nothing and may come before MPI_Init.
UNSEEN = ("MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff")


def same(where, want, seen, wrong):
    for key, value in want.items():
        if seen.get(key) != value:
            wrong.append("%s %s is %s, truth %s" % (where, key, seen.get(key), value))


def differences(truth, rep):
    wrong = []
    if rep["job"]["ranks"] != truth["ranks"]:
        wrong.append("ranks %s, truth %s" % (rep["job"]["ranks"], truth["ranks"]))
    seen = calls(rep)
    for name, want in truth["calls"].items():
        if name in seen:
            same(name, want, seen[name], wrong)
        else:
            wrong.append("%s is missing" % name)
    for name in sorted(set(seen) - set(truth["calls"]) - set(UNSEEN)):
        wrong.append("%s was not called, but %d are shown" % (name, seen[name]["calls"]))
    ranks = {r["rank"]: r for r in rep["ranks"]}
    for want in truth["ranks_detail"]:
        same("rank %d" % want["rank"], want, ranks.get(want["rank"], {}), wrong)
    pairs = {(p["src"], p["dst"]): p for p in rep["pairs"] if p["messages"]}
    for want in truth["pairs"]:
        same("pair %d->%d" % (want["src"], want["dst"]), want, pairs.pop((want["src"], want["dst"]), {}), wrong)
    for pair in sorted(pairs):
        wrong.append("pair %d->%d has no messages in truth" % pair)
    if rep["job"]["lost_records"] != 0:
        wrong.append("%s records lost" % rep["job"]["lost_records"])
    if rep["job"]["unknown_requests"] != 0:
        wrong.append("%s requests not followed" % rep["job"]["unknown_requests"])
    return wrong
