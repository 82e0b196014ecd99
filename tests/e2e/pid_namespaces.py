# timeout: 120
"""Processes that count their pids from 1: a rank for each pid namespace, as containers have it, and a whole job with its
viewer in one.  Who is alive is decided by /proc where viewer and rank see the same pids, by the heartbeat elsewhere."""
import json
import os
import re
import shutil
import signal
import socket
import sys
import time

from common import check, descendants, end, hpctop, mpirun, report, run, skip_all, start, stop, traces, wait_for, workload
from compare import differences

OWN_PIDS = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
# Open MPI takes shared memory made by its own pid for its own: ranks that are all pid 1 crash in it, by themselves.
TCP = ["--mca", "btl", "self,tcp"]


def heads(folder):
    """pid and number of the pid namespace of each file, as `hpctop dump` prints them."""
    for path in traces(folder):
        text = hpctop("dump", path).out
        yield path, re.search(r"^pid: (\d+)", text, re.M).group(1), re.search(r"^namespaces:.* pid (\d+)", text, re.M).group(1)


def states(folder):
    rep = report(folder) if len(traces(folder)) == 2 else None
    return [r["state"] for r in rep["ranks"]] if rep else []


def each_its_own():
    done = mpirun(2, TCP + OWN_PIDS + [workload("ring")], "own", TRUTH=os.path.abspath("truth"))
    if not check("own: two ranks run", done.code == 0 and os.path.exists("truth"), done):
        return
    found = list(heads("own"))
    check("own: both are pid 1", [pid for _, pid, _ in found] == ["1", "1"], found)
    check("own: in two namespaces", len({space for _, _, space in found}) == 2, found)
    for path, pid, space in found:
        name = r"%s\.1\.\d+\.%s\.hpctop" % (re.escape(socket.gethostname()), space)
        check("own: the file's name carries the namespace's number", re.fullmatch(name, os.path.basename(path)), path)
    with open("truth") as f:
        wrong = differences(json.load(f), report("own"))
    check("own: every number of both", not wrong, "; ".join(wrong[:8]))


def crash():
    """What Open MPI does there in shared memory is its own affair: the same with us as without."""
    command = OWN_PIDS + [workload("ring")]
    plain, ours = mpirun(2, command, preload=False), mpirun(2, command, "shared")
    check("own: shared memory ends as it does without libtrace.so", ours.code == plain.code,
          "%s, without %s" % (ours.code, plain.code))


def from_outside():
    """Another process is pid 1 here, so that /proc would be wrong of both ranks."""
    job = start(2, TCP + OWN_PIDS + [workload("hang_recv")], "outside")
    if not check("outside: both are seen", wait_for(lambda: states("outside") == ["run", "wait"]), states("outside")):
        return
    time.sleep(5)  # longer than a process of this host without a pid may be silent
    check("outside: both stay alive by their heartbeat", wait_for(lambda: states("outside") == ["run", "wait"]), states("outside"))
    below = descendants(job.pid)  # ranks of Open MPI 5 have process groups of their own, and outlive mpirun for a while
    stop(job)
    for pid in below:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    check("outside: and are dead when it stops", wait_for(lambda: states("outside") == ["dead", "dead"]), states("outside"))


def ended(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def inside():
    """Run in a pid namespace of its own, with the viewer."""
    job = start(2, workload("hang_recv"), "inside")
    if not check("inside: both are seen", wait_for(lambda: states("inside") == ["run", "wait"]), states("inside")):
        end()
    found = list(heads("inside"))
    check("inside: in one namespace, which is ours",
          {space for _, _, space in found} == set(re.findall(r"\d+", os.readlink("/proc/self/ns/pid"))), found)
    pids = [r["pid"] for r in report("inside")["ranks"]]
    job.send_signal(signal.SIGSTOP)  # mpirun would end the other
    os.kill(pids[0], signal.SIGKILL)
    wait_for(lambda: ended(pids[0]))
    # Its first thread is a zombie before its last one is gone; by the heartbeat it would take ten seconds.
    check("inside: killed is dead at once, and the other is not",
          wait_for(lambda: states("inside") == ["dead", "wait"], 5), states("inside"))
    os.kill(pids[1], signal.SIGSTOP)
    time.sleep(5)  # no heartbeat for longer than one may be without: /proc knows better
    check("inside: stopped is not dead", states("inside") == ["dead", "wait"], states("inside"))
    os.kill(pids[1], signal.SIGKILL)
    end()


if sys.argv[1:] == ["inside"]:
    inside()
if os.geteuid():
    skip_all("needs root, to make pid namespaces")
if not shutil.which("unshare"):
    skip_all("no unshare (util-linux)")
trial = run(OWN_PIDS + ["true"])
if trial.code:
    skip_all("no pid namespace here: " + trial.err.strip())
each_its_own()
crash()
from_outside()
done = run(OWN_PIDS + [sys.executable, os.path.abspath(__file__), "inside"])
print(done.out, end="")
check("inside: to the end", done.code == 0, done)
end()
