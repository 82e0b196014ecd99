# timeout: 100
"""A rank that does little has a small file: ended, while it runs, and where it was killed.  A busy one has no more room
than what it wrote, and one chunk."""
import os

from chunks import committed
from common import calls, check, end, hpctop, mpirun, report, start, stop, traces, wait_for, workload

RANKS = 4
SMALL = 64 << 10    # bytes of a rank's file
CHUNK = 256 << 10   # the largest
ALL = range(1, 8)   # kinds of chunks


def on_disk(folder):
    return [os.stat(path).st_blocks * 512 for path in traces(folder)]


def small(name, folder):
    sizes = on_disk(folder)
    check(name + ": at most 64 KiB a rank", len(sizes) == RANKS and max(sizes) <= SMALL, sizes)


def ended():
    done = mpirun(RANKS, workload("ring"), "ended")
    if not check("ended: runs", done.code == 0, done):
        return
    small("ended", "ended")
    rep = report("ended")
    seen = {name: calls(rep).get(name, {}).get("calls") for name in ("MPI_Init", "MPI_Send", "MPI_Recv")}
    check("ended: with all its calls", seen == {"MPI_Init": RANKS, "MPI_Send": 100 * RANKS, "MPI_Recv": 100 * RANKS}, seen)


def running():
    job = start(RANKS, workload("hang_recv"), "running")
    blocked = wait_for(lambda: any(r["inside"] == "MPI_Recv" for r in (report("running") or {"ranks": []})["ranks"]), timeout=60)
    check("running: it hangs", blocked, hpctop("report", "--all", "running"))
    small("running", "running")
    stop(job)
    small("killed", "running")


def busy():
    done = mpirun(2, [workload("pingpong"), "300000"], "busy")
    if not check("busy: runs", done.code == 0, done):
        return
    for path, size in zip(traces("busy"), on_disk("busy")):
        used = committed(path, ALL)
        check("busy: no more room than what it wrote, and a chunk", CHUNK < used < size < used * 1.05 + CHUNK + SMALL, (used, size))


ended()
running()
busy()
end()
