# timeout: 240
# waits
"""Jobs that hang in MPI_Init, in MPI_Finalize or after it: who is named; in MPI_Finalize also where its threads are.  Before
MPI_Init has returned and after MPI_Finalize no thread of ours runs, which could take stacks."""
import glob
import os
import re
import shutil
import struct
import subprocess
import time
from functools import partial

from common import TOP, check, end, environment, hpctop, mpirun, skip, together, traces, wait_for, workload
from verdicts import hung, kill_group, right, start, verdict


def stacks(name, folder, frames):
    """What `hpctop stacks` says, asked while it hangs or read afterwards."""
    r = hpctop("stacks", folder)
    missing = [f for f in frames if not re.search(f, r.out)]
    check(name, r.code == 0 and not missing, (missing, r.out[-1500:], r.err))


def case(mode, ranks, files, want, frames, words, post=None):
    """`frames`: in the stacks, on demand and, without asking, at the limit; none: there are no stacks.  `words`: in the summary."""
    p = start(ranks, [workload("hang_ends"), mode], mode, HPCTOP_HANG=2)
    seen, states = [], set()

    def look():
        seen[:] = verdict(mode)
        states.add(seen[1] and seen[1]["state"])
        return len(traces(mode)) == files and not right(seen[1], want) and words in seen[1]["summary"]

    check("%s: named while it hangs" % mode, wait_for(look, 90), seen)
    if frames:
        at_limit = wait_for(lambda: (lambda r: all(re.search(f, r.out) for f in frames) and r)(hpctop("stacks", "--no-ask", mode)), 30)
        check("%s: stacks at the limit" % mode, at_limit, hpctop("stacks", "--no-ask", mode).out[-1500:])
        stacks("%s: stacks on demand" % mode, mode, frames)
    if mode == "init":
        check("init: a slow start is waited for before that", "waiting" in states, states)
        text = hpctop("verdict", mode).out
        check("init: the process that is missing is found, and where it is",
              re.search(r"rank 2, process \d+ on this host, is at hang_ends\.c:\d+ in", text), text)
    kill_group(p)
    time.sleep(0.2)
    code, v = verdict(mode)
    check("%s: afterwards, from the files" % mode, not right(v, post) if post else v["state"] == "healthy", v)
    if frames:
        stacks("%s: stacks afterwards" % mode, mode, frames)
    shutil.rmtree(mode)


def alone():
    """Ranks that never met: MPICH's processes, started by Open MPI's launcher."""
    if not shutil.which("mpicc.mpich"):
        skip("alone", "no mpicc.mpich")
        return
    subprocess.run(["mpicc.mpich", "-o", "alone", os.path.join(TOP, "workloads/ring.c"), "-I" + os.path.join(TOP, "workloads")], check=True)
    r = subprocess.run(["mpirun", "-n", "3", os.path.abspath("alone")], env=environment("alone.d", True), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    code, v = verdict("alone.d")
    def good():
        code, v = verdict("alone.d")
        said = v and re.match(r"3 jobs of one rank each: the launcher does not fit this MPI library \(MPICH \S+\), it is mpirun of Open MPI$", v["summary"])
        return code == 1 and said and v["state"] == "unknown"
    check("alone: launcher and MPI that do not fit", r.returncode == 0 and good(), (r, verdict("alone.d")))
    r = hpctop("report", "--all", "alone.d")
    check("alone: the report says so first", "3 jobs of one rank each" in r.out.split("\n\n")[1], r.out[:500])
    check("alone: each process has a name of its own", not re.search(r"ranks 0, 0", hpctop("verdict", "alone.d").out), hpctop("verdict", "alone.d").out)
    shutil.rmtree("alone.d")
    with open("aborts.c", "w") as f:
        f.write("#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) {\n    MPI_Init(0, 0);\n"
                "    while (system(\"touch inited.$PPID; test $(ls | grep -c ^inited) -ge 3\")) usleep(10000);\n"
                "    return MPI_Abort(MPI_COMM_WORLD, 1);\n}\n")
    subprocess.run(["mpicc.mpich", "-o", "aborts", "aborts.c"], check=True)
    subprocess.run(["mpirun", "-n", "3", os.path.abspath("aborts")], env=environment("alone.d", True), stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check("alone: it precedes the end", good(), verdict("alone.d"))


LAST = 25400  # bytes: some events are left, and a part of the live page

# Files that are cut off: what they do not say is not known, and nobody is blamed for it.
def cut(name, folder, which, want):
    """`want`: of (state, culprits), at every length."""
    files = sorted(traces(folder))
    wrong = []
    for size in (4096, 5000, 8200, 10000, 20000, LAST):
        shutil.rmtree("cut", ignore_errors=True)
        shutil.copytree(folder, "cut")
        for f in files:
            path = os.path.join("cut", os.path.basename(f))
            if which in (None, rank_of(f)) and os.path.getsize(path) > size:
                os.truncate(path, size)
        code, v = verdict("cut")
        if code != 1 or not v or not want(size, v) or "cut off" not in " ".join([v["summary"]] + v["evidence"]):
            wrong.append((size, code, v))
    check("cut off: " + name, not wrong, wrong)


def rank_of(path):
    with open(path, "rb") as f:
        return struct.unpack_from("<i", f.read(64), 48)[0]


def cut_off():
    r = mpirun(3, [workload("ring")], "whole")
    check("cut off: the program ran, and is no trouble", r.code == 0 and verdict("whole")[1]["state"] in ("healthy", "slow"), r)
    for name, which in ("all files of a job that was well", None), ("one file of it", 1):  # the last has events: somebody may be slow
        cut(name, "whole", which, lambda size, v: v["state"] == "unknown" and v["culprits"] == [] or size == LAST and v["state"] == "slow")
    p = start(3, [workload("hang_modes"), "missing"], "missing")
    named = wait_for(lambda: not right(verdict("missing")[1], hung("missing-in-collective", [2])), 60)
    kill_group(p)
    time.sleep(0.2)
    check("cut off: a job that hung", named and not right(verdict("missing")[1], hung("missing-in-collective", [2])), verdict("missing"))
    cut("of a job that hung, one that waits", "missing", 0, lambda size, v: not right(v, hung("missing-in-collective", [2])))
    cut("of a job that hung, the one that is waited for", "missing", 2,
        lambda size, v: v["state"] == "unknown" and v["culprits"] == [] or size >= 20000 and v["culprits"] == [2])


def afterwards():
    """One that still computes after MPI_Finalize is no trouble."""
    p, seen = start(2, [workload("hang_ends"), "afterwards"], "afterwards"), []
    wait_for(lambda: len(traces("afterwards")) == 2, 20)
    while p.poll() is None:
        code, v = verdict("afterwards")
        seen.append((code, v and v["state"]))
    check("afterwards: computing after MPI_Finalize is no hang", len(seen) > 3 and all(s == (0, "healthy") for s in seen), seen)


def computes():
    """A function that MPI_Finalize calls back and that computes is waited for, with its line, and no alarm."""
    p, seen = start(3, [workload("hang_ends"), "computes"], "computes", HPCTOP_HANG=2), []
    said = r"rank 2 computes at hang_ends\.c:\d+ in computing_callback, in a function of the program that MPI_Finalize calls back"
    wait_for(lambda: seen.append(verdict("computes")) or seen[-1][1] and seen[-1][1]["culprits"] == [2], 60)
    v = seen[-1][1]
    facts = [f for f in glob.glob("computes/*.hpctop") if "perf_event_open is not allowed" in hpctop("dump", f).out]
    if facts:
        skip("computes", "perf_event_open is not allowed")
    else:
        check("computes: waited for, with its line", v["state"] == "waiting" and v["culprits"] == [2] and re.match(said, v["summary"]), v)
        check("computes: no alarm before", not [one for _, one in seen if one and one["state"] == "hung"], seen)
    kill_group(p)
    code, v = verdict("computes")
    said = [fact for fact in [v["summary"]] + v["evidence"] if re.match(said, fact)]
    check("computes: no hang afterwards", facts or v["state"] == "aborted" and v["class"] == "killed" and said, v)


# For how long they had been in MPI_Init nothing tells any more.
KILLED = dict(state="aborted", **{"class": "missing-in-collective"}, culprits=[2])
INIT = hung("missing-in-collective", [2])
LIVES_ON = "rank 1 has called MPI_Finalize, and its process does not end"
together([
    partial(case, "init", 3, 2, INIT, [], "rank 2 has not called MPI_Init, where 2 of 3 wait", KILLED),
    computes,
    partial(case, "finalize", 3, 3, hung("inside-operation", [2]), ["sleeping_callback", "(?i)mpi_finalize"],
            "all 3 ranks are inside MPI_Finalize", hung("inside-operation", None)),  # who is killed last may come out of it
    partial(case, "handler", 2, 2, hung("lives-on", [1]), [], LIVES_ON),
    partial(case, "thread", 2, 2, hung("lives-on", [1]), [], LIVES_ON),
    alone, cut_off, afterwards])
end()
