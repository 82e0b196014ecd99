# timeout: 900
# long
"""Windows, files, topologies, intercommunicators, threads: who hangs there and why; and more healthy programs in which
somebody waits for as long as the job lasts."""
import ctypes
import os
import shutil
import subprocess

from common import TOP, check, end, skip, wait_for, workload
from verdicts import aborted, count, hang, healthy, hung, kill_group, ranks_of, start, verdict, works

MISSING, MISMATCH, UNMATCHED, CYCLE = "missing-in-collective", "mismatched-collective", "unmatched-receive", "wait-cycle"

PTRACE_ATTACH, PTRACE_DETACH, WALL = 16, 17, 0x40000000


def debugger():
    """One rank in a debugger, which holds all of its threads; then let go."""
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request, tid):
        return libc.ptrace(request, tid, None, None)

    p = start(3, [workload("hang_not"), "uneven", "100"], "debug")
    wait_for(lambda: works("debug", 3), 60)
    tids = [int(t) for t in os.listdir("/proc/%d/task" % ranks_of("debug")[1])]
    if any([ptrace(PTRACE_ATTACH, tid) for tid in tids]):
        kill_group(p)
        return skip("debugger", "no other process may be traced here: errno %d" % ctypes.get_errno())
    for tid in tids:
        os.waitpid(tid, WALL)
    seen = []

    def named():
        seen[:] = verdict("debug")
        return seen[1] and seen[1]["culprits"] == [1] and "rank 1 is stopped by a debugger" in seen[1]["summary"]

    check("debugger: named", wait_for(named, 30), seen)
    for tid in tids:
        ptrace(PTRACE_DETACH, tid)
    check("debugger: healthy again", wait_for(lambda: verdict("debug")[1]["state"] == "healthy", 30))
    kill_group(p)


for name, ranks, want in (
        ("win_lock", 4, hung(CYCLE, [1], says="rank 1 called MPI_Win_lock (MPI_LOCK_EXCLUSIVE) on a window of 4 made at hang_more.c:")),
        ("win_shared", 4, hung(CYCLE, [1], says="rank 1 called MPI_Win_lock (MPI_LOCK_SHARED) on a window of 4 made at hang_more.c:")),
        ("win_lock_order", 4, hung(CYCLE, [1], says="rank 1 has not called MPI_Win_unlock")),
        ("win_fence", 4, hung(MISSING, [2], says="on that window")),
        ("win_post", 4, hung(CYCLE, [0, 1], says="rank 0 has not called MPI_Win_post")),
        ("file_all", 4, hung(MISSING, [2], says="MPI_File_write_at_all on file ")),
        ("file_close", 4, hung(MISSING, [2], says="rank 2 has left out MPI_File_close on file ")),
        ("split", 4, hung(MISSING, [2])),
        ("inter_root", 4, hung(MISMATCH, [0, 1], says="nobody gave MPI_ROOT")),  # whom the others name as root
        ("neighbor", 4, hung(MISSING, [2])),
        ("neighbor_other", 4, hung(MISSING, [2])),
        ("ssend_self", 4, hung(CYCLE, [0])),
        ("lock_order", 2, hung(CYCLE, [0, 1])),
        ("taken_by_any", 4, hung(UNMATCHED, [0, 1], says="of 1 that rank 0 sent, its receives from any source or of any tag took 1"))):
    hang(name, ranks, want, program="hang_more")
hang("truncate", 4, aborted(UNMATCHED, [0, 1]), live=False, program="hang_more")

for name, ranks, states in (("file", 4, ("slow",)), ("io_server", 4, ()), ("idle_workers", 4, ()), ("idle_group", 4, ()), ("alone", 3, ()),
                            ("spawned", 3, ()), ("ibarrier", 4, ()), ("win_lock", 3, ()), ("win_wait", 3, ()), ("file_all", 4, ()),
                            ("types", 4, ()), ("neighbor", 4, ()), ("asleep", 3, ("healthy", "waiting"))):
    healthy(name, ranks, states, program="hang_not_more", files=ranks + (name == "spawned"))
healthy("late_init", 3, (), program="hang_not_more", files=2)  # a slow start

# Partitions came with MPI 4, which Debian 12 has in MPICH only.
if shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich"):
    subprocess.run(["mpicc.mpich", "-g", "-pthread", "-o", "mpich", os.path.join(TOP, "workloads/hang_more.c")], check=True)
    hang("partition", 3, hung(UNMATCHED, [0, 1]), command=[os.path.abspath("mpich"), "partition"], launcher="mpirun.mpich")
else:
    skip("partition", "no MPICH")
debugger()
count.show()
end()
