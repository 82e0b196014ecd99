# timeout: 240
"""Several worlds that talk to each other: spawned ones, and jobs of their own that meet (MPI_Comm_accept and connect,
MPI_Comm_join).  Messages between them exactly, and who keeps whom waiting across them, live and from the files alone."""
import atexit
import glob
import os
import re
import shutil
import subprocess
import time

from common import calls, check, end, environment, hpctop, report, skip, stop, traces, wait_for, workload
from verdicts import kill_group, right, start, verdict

HERE = os.getcwd()


def judged(name, folder, want, culprits):
    code, v = verdict(folder)
    why = right(v, want) or ("" if [list(c) for c in zip(v["culprit_worlds"], v["culprits"])] == culprits
                             else "culprits %s of worlds %s, %s" % (v["culprits"], v["culprit_worlds"], v["summary"]))
    return why, v


def waited(name, folder, want, culprits, files=4):
    """Looks until the verdict is right; says what was wrong with the last one."""
    last = ["no files"]

    def look():
        if len(traces(folder)) != files:
            return False
        last[0] = judged(name, folder, want, culprits)[0]
        return not last[0]

    check(name + ", live", wait_for(look, 40, 0.3), last[0])


def hang(mode, class_name, culprits, words, live=True, state=("hung",)):
    """Two parents, two children; culprits as [world, rank]."""
    name, folder = "spawned, %s" % mode, "h-" + mode
    want = {"state": state, "class": class_name, "culprits": None}
    job = start(2, [workload("hang_worlds"), mode], folder)
    if live:
        waited(name, folder, want, culprits)
    else:
        job.wait(60)
    kill_group(job)
    wait_for(lambda: all(r["state"] != "run" for r in (report(folder) or {"ranks": []})["ranks"]), 5)
    why, v = judged(name, folder, want, culprits)
    check(name + ", post mortem", not why, why)
    check(name + ": it is said so", v and re.search(words, v["summary"]), v and v["summary"])
    check(name + ": the children's line is told", v and re.search(r"w1:0 and w1:1 are the children spawned at hang_worlds\.c:\d+", str(v["evidence"])), v)
    shutil.rmtree(folder, ignore_errors=True)


def slow():
    """The children come late to each barrier: nothing hangs."""
    job = start(2, [workload("hang_worlds"), "slow"], "slow")
    if check("late children: they start", wait_for(lambda: len(traces("slow")) == 4)):
        said = [verdict("slow", 4)[1] for _ in range(4)]
        check("late children are no hang", all(v and v["state"] in ("healthy", "slow") for v in said),
              [v and v["summary"] for v in said])
    kill_group(job)


def nobody_comes():
    job = start(2, [workload("hang_worlds"), "accept"], "accept")
    said = []

    def look():
        said.append(verdict("accept")[1] if len(traces("accept")) == 2 else None)
        return said[-1] and said[-1]["state"] == "hung"

    check("MPI_Comm_accept, and nobody comes", wait_for(look, 30), said[-1:])
    check("MPI_Comm_accept: it is said so", said[-1] and "2 ranks wait in MPI_Comm_accept" in said[-1]["summary"], said[-1])
    kill_group(job)


# ---- jobs of their own -------------------------------------------------------------------------------------------------


def name_server():
    """Open MPI up to 4 lets jobs find each other only by this; the option for mpirun, or None."""
    if not shutil.which("ompi-server"):
        return None
    p = subprocess.Popen(["ompi-server", "--no-daemonize", "-r", "uri"], start_new_session=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(stop, p)
    found = wait_for(lambda: os.path.exists("uri") and os.path.getsize("uri"), 20)
    return ["--ompi-server", "file:%s/uri" % HERE] if found else None


def two_jobs(server, folder, program, ranks, modes):
    """Starts both, recorded into one folder; folder None: each into its own, as it is without HPCTOP_DIR."""
    jobs = []
    for mode in modes:
        jobs.append(subprocess.Popen(["mpirun"] + server + ["-n", str(ranks), workload(program), mode, "%s/%s.port" % (HERE, folder or "apart")],
                                     env=environment(folder, True), start_new_session=True, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        atexit.register(kill_group, jobs[-1])
    return jobs


def meet(server, name, ranks, modes, pairs, apart=False):
    """Runs workloads/spawn as two jobs; pairs by (parent?, rank) of both ends."""
    jobs = two_jobs(server, None if apart else modes[0], "spawn", ranks, modes)
    limit = time.monotonic() + 60
    codes = [p.wait(max(1, limit - time.monotonic())) for p in jobs]
    if not check(name + ": both jobs run", codes == [0, 0], codes):
        return
    places = sorted(glob.glob("hpctop-*")) if apart else [modes[0]]
    check(name + ": folders", len(places) == 1 + apart, places)
    for place in places if apart else ():
        alone = report(place)
        check(name + ": one folder is one job", alone and alone["job"]["ranks"] == ranks, alone and alone["job"])
    rep = report(*places)
    if not check(name + ": one report of both", rep is not None and rep["job"]["ranks"] == 2 * ranks, rep and rep["job"]):
        return
    first = hpctop("dump", *places).out
    # Which of both worlds came first is up to chance: parents are those that sent 100 bytes.
    parents = {p["src_world"] for p in rep["pairs"] if p["bytes"] == 100}
    seen = {((p["src_world"] in parents, p["src"]), (p["dst_world"] in parents, p["dst"])): (p["messages"], p["bytes"])
            for p in rep["pairs"]}
    check(name + ": messages between the worlds, exactly", len(parents) == 1 and seen == pairs, rep["pairs"])
    check(name + ": calls of both", calls(rep)["MPI_Allreduce"]["calls"] == 2 * ranks, calls(rep)["MPI_Allreduce"])
    page = hpctop("report", "--all", *places)
    text = page.out
    check(name + ": each has its other end, and each collective all of its ranks",
          page.code == 0 and "MPI_Allreduce" in text and not re.search(r"not all ranks came to|without their other end|unmatched|uncertain|unknown partner|another run|different jobs",
                        text), text)
    check(name + ": the dump has both", first.count("MPI_Intercomm_merge") >= 2 * ranks, first[:200])


def met_and_hung(server):
    jobs = two_jobs(server, "met", "hang_worlds", 2, ("server", "client"))
    name = "two jobs that met, send"
    found = wait_for(lambda: len(traces("met")) == 4 and verdict("met")[1], 30)
    # The server's world is the one that is inside MPI_Recv.
    rep = wait_for(lambda: [r for r in (report("met") or {"ranks": []})["ranks"] if r["inside"] == "MPI_Recv"], 30)
    if check(name + ": they run", found and rep, found):
        mine = rep[0]["world"]
        waited(name, "met", {"state": ("hung",), "class": "unmatched-receive", "culprits": None},
               [[1 - mine, 1]])
    for p in jobs:
        kill_group(p)


hang("first", "missing-in-collective", [[1, 1]], r"rank w1:1 has not come to MPI_Intercomm_merge .*where 3 of 4 wait")
hang("send", "unmatched-receive", [[1, 1]], r"rank 0 waits for a message from rank w1:1 .*not sent it")
hang("tag", "unmatched-receive", [[0, 0], [1, 1]], r"rank w1:1 sent one with tag 8, which nobody receives")
hang("merged", "missing-in-collective", [[1, 1]], r"rank w1:1 has not come to MPI_Barrier .*where 3 of 4 wait")
hang("inter", "missing-in-collective", [[1, 1]], r"on an intercommunicator of 2 and 2 made at hang_worlds\.c:\d+, where 3 of 4 wait")
hang("split", "missing-in-collective", [[1, 1]], r"rank w1:1 has not come to MPI_Barrier")
hang("cycle", "wait-cycle", [[0, 0], [1, 0]], r"0 -> w1:0 -> 0")
hang("op", "mismatched-collective", [[1, 1]], r"rank w1:1 called MPI_Reduce where the other 3 called MPI_Barrier")
hang("die", "dead-rank", [[1, 1]], r"rank w1:1 is gone", live=False, state=("aborted", "hung"))
slow()
nobody_comes()
option = name_server()
if option is None:
    skip("two jobs that meet", "no ompi-server, by which jobs of Open MPI up to 4 find each other")
else:
    meet(option, "MPI_Comm_accept", 2, ("accept", "connect"),
         {((True, 0), (False, 0)): (1, 100), ((True, 0), (False, 1)): (1, 100), ((False, 0), (True, 0)): (1, 60),
          ((False, 1), (True, 0)): (1, 61), ((False, 1), (True, 1)): (1, 24)})
    meet(option, "MPI_Comm_accept, a folder each", 2, ("accept", "connect"),
         {((True, 0), (False, 0)): (1, 100), ((True, 0), (False, 1)): (1, 100), ((False, 0), (True, 0)): (1, 60),
          ((False, 1), (True, 0)): (1, 61), ((False, 1), (True, 1)): (1, 24)}, apart=True)
    meet(option, "MPI_Comm_join", 1, ("join", "joined"),
         {((True, 0), (False, 0)): (1, 100), ((False, 0), (True, 0)): (2, 84)})
    met_and_hung(option)
end()
