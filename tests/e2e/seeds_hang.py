# timeout: 1800
# long
"""random_mix by many seeds, with one rank that stands still somewhere: whatever the others are at, it is the one who is
named (with the one who waits for it, where that is for a message), live and from the files."""
import shutil

from common import check, end, wait_for, workload
from verdicts import HANG, kill_group, start, verdict

for seed in range(1, 17):
    ranks, step = 3 + seed % 4, 50 + 7 * seed % 100
    rank, folder, seen = seed % ranks, "seed-%d" % seed, []
    p = start(ranks, [workload("random_mix"), str(seed), "300", "1", str(rank), str(step)], folder)

    def hangs():
        seen[:] = verdict(folder)
        return seen[1] and seen[1]["state"] == "hung" and seen[1]["since_s"] > 2 * HANG

    def named(v):
        return v and v["state"] == "hung" and rank in v["culprits"] and len(v["culprits"]) <= 2

    check("seed %d, rank %d of %d at step %d, live" % (seed, rank, ranks, step), wait_for(hangs, 100) and named(seen[1]), seen)
    kill_group(p)
    v = verdict(folder)[1]
    check("seed %d, rank %d of %d at step %d, post mortem" % (seed, rank, ranks, step), named(v), v)
    shutil.rmtree(folder)
end()
