# timeout: 120
# waits
"""A running job, looked at from outside: who is inside what, and what becomes of it when it is killed."""
import os
import re
import signal

from common import calls, check, end, hpctop, report, start, stop, traces, wait_for, workload


def hang():
    job = start(3, workload("hang_recv"), "live")

    def waiting():
        if len(traces("live")) < 3:
            return None
        rep = report("live")
        inside = [r["inside"] for r in rep["ranks"]] if rep else []
        return rep if inside == [None, "MPI_Recv", None] else None  # the others have left the barrier

    rep = wait_for(waiting)
    if check("running: rank 1 is seen inside MPI_Recv", rep is not None, report("live")):
        ranks = {r["rank"]: r for r in rep["ranks"]}
        check("running: the job runs (or is called hung)", rep["job"]["state"] in ("running", "hung"), rep["job"])
        check("running: three ranks", rep["job"]["ranks"] == 3 and len(ranks) == 3, rep["job"])
        check("running: the others are outside MPI", ranks[0]["inside"] is None and ranks[2]["inside"] is None, rep["ranks"])
        check("running: states", ranks[1]["state"] == "wait" and ranks[0]["state"] == "run", rep["ranks"])
        check("running: since when", isinstance(ranks[1]["inside_s"], (int, float)) and ranks[1]["inside_s"] >= 0, ranks[1])
        check("running: the barrier is counted", calls(rep).get("MPI_Barrier", {}).get("calls") == 3, list(calls(rep)))
        later = wait_for(lambda: (lambda r: r and {x["rank"]: x for x in r["ranks"]}[1]["inside_s"] > ranks[1]["inside_s"])(
            report("live")))
        check("running: the time inside grows", later)
        text = hpctop("dump", "live")
        check("running: the bytes of a datatype that the program made are known at its first use",
              re.search(r"inside since \S+ sequence=0 MPI_Recv .*received=64 ", text.out), text)
        text = hpctop("report", "--all", "live")
        check("running: the page says it", text.code == 0 and "MPI_Recv" in text.out, text)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    for rank in (report("live") or {"ranks": []})["ranks"]:  # mpirun's death ends them too, but at its leisure
        try:
            os.kill(rank["pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass

    def dead():
        rep = report("live")
        return rep if rep and all(r["state"] == "dead" for r in rep["ranks"]) else None

    rep = wait_for(dead)
    if check("killed: all ranks are dead", rep is not None, report("live")):
        inside = {r["rank"]: r["inside"] for r in rep["ranks"]}
        check("killed: rank 1 died inside MPI_Recv", inside[1] == "MPI_Recv", inside)
        check("killed: the job is not called running", rep["job"]["state"] != "running", rep["job"])


def growing():
    job = start(4, [workload("stencil"), "600", "-1", "enough"], "stencil")
    first = wait_for(lambda: (lambda r: r and calls(r).get("MPI_Allreduce", {}).get("calls", 0) > 0 and r)(
        report("stencil") if len(traces("stencil")) == 4 else None))
    if check("growing: calls are seen while it runs", first is not None and first):
        count = calls(first)["MPI_Allreduce"]["calls"]
        more = wait_for(lambda: (lambda r: r and calls(r)["MPI_Allreduce"]["calls"] > count)(report("stencil")))
        check("growing: and more of them later", more)
    open("enough", "w").close()
    job.wait()
    rep = report("stencil")
    check("growing: finished in the end", rep is not None and rep["job"]["state"] == "finished", rep and rep["job"])
    check("growing: all ranks are done", rep is not None and [r["state"] for r in rep["ranks"]] == ["done"] * 4, rep and rep["ranks"])
    stop(job)


hang()
growing()
end()
