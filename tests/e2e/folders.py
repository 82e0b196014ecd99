# timeout: 120
"""Several folders are one job, and a folder that is written through another mount (as another node's would be) is seen
live and complete afterwards."""
import atexit
import os
import shutil
import subprocess

from common import calls, check, end, mpirun, report, run, skip, start, stop, traces, wait_for, workload


def two_folders():
    # Not `mpirun A : B`, at which Open MPI 5.0.7's ends with a segmentation fault.
    done = mpirun(2, ["sh", "-c", 'test $OMPI_COMM_WORLD_RANK = 0 && d=a || d=b; HPCTOP_DIR=$d exec "$1"', "sh", workload("ring")])
    if not check("two folders: the job runs", done.code == 0 and len(traces("a")) == len(traces("b")) == 1, done):
        return
    rep = report("a", "b")
    if check("two folders: one report", rep is not None):
        check("two folders: two ranks", rep["job"]["ranks"] == 2 and sorted(r["rank"] for r in rep["ranks"]) == [0, 1], rep["job"])
        check("two folders: all calls", calls(rep)["MPI_Send"]["calls"] == 200, calls(rep)["MPI_Send"])
        pairs = {(p["src"], p["dst"]): p["messages"] for p in rep["pairs"]}
        check("two folders: pairs", pairs == {(0, 1): 100, (1, 0): 100}, pairs)
    alone = report("a")
    check("one of them alone can be read", alone is not None and alone["job"]["ranks"] == 1 and
          alone["job"]["world_size"] == 2, alone and alone["job"])


def two_mounts():
    if not shutil.which("bindfs") or not os.path.exists("/dev/fuse"):
        skip("two mounts", "needs bindfs and /dev/fuse")
        return
    for d in ("back", "writer", "reader"):
        os.mkdir(d)
    for d in ("writer", "reader"):
        if run(["bindfs", "back", d]).code != 0:
            skip("two mounts", "bindfs may not mount here")
            return
        atexit.register(lambda m=os.path.abspath(d): subprocess.run(["umount", "-l", m], check=False))
    job = start(2, [workload("stencil"), "600", "-1", "enough"], os.path.abspath("writer/trace"))
    seen = wait_for(lambda: (lambda r: r and calls(r).get("MPI_Allreduce", {}).get("calls", 0) > 0 and r)(
        report("reader/trace") if len(traces("reader/trace")) == 2 else None))
    if check("two mounts: seen through the other one", seen):
        count = calls(seen)["MPI_Allreduce"]["calls"]
        moved = wait_for(lambda: (lambda r: r and calls(r)["MPI_Allreduce"]["calls"] > count)(report("reader/trace")))
        check("two mounts: it goes on moving", moved, "%d calls, and no more" % count)
    open("enough", "w").close()
    job.wait()
    one, other = report("reader/trace"), report("back/trace")
    check("two mounts: finished", one and one["job"]["state"] == "finished", one and one["job"])
    same = one and other and {k: v["calls"] for k, v in calls(one).items()} == {k: v["calls"] for k, v in calls(other).items()}
    check("two mounts: complete in the end", same and one["pairs"] == other["pairs"], (one and one["pairs"], other and other["pairs"]))
    stop(job)


two_folders()
two_mounts()
end()
