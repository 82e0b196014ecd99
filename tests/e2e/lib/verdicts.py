"""Programs that hang (or only seem to) under real Open MPI, and what `hpctop verdict` says of them: while they run, and
from the files alone after kill -9 of every process.  Everything that was started is killed at the end of the test."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import time

from common import check, environment, hpctop, traces, wait_for, workload

HANG = 2  # seconds without progress that count as hung here

_started = []


def ranks_of(folder):
    """Process ids of the ranks, from the names of their files' heads as the report has them."""
    r = hpctop("report", "--json", folder)
    try:
        return [rank["pid"] for rank in json.loads(r.out)["ranks"]]
    except (ValueError, KeyError):
        return []


def stat(pid):
    """Fields of /proc/PID/stat from the state on; none of a process that is gone."""
    try:
        with open("/proc/%s/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def kill_group(p):
    """Everything below mpirun: its ranks have process groups of their own, but its session.  Returns when they are dead,
    the last of their threads, too."""
    killed = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if stat(pid)[3:4] == [str(p.pid)]]
    above = {stat(pid)[1] for pid in killed if stat(pid)} & set(killed)
    # Launchers last, and without a word to the ranks before: a stopped rank whose launcher goes has a SIGHUP from the kernel.
    for number, pids in ((signal.SIGSTOP, above), (signal.SIGKILL, set(killed) - above), (signal.SIGKILL, above)):
        for pid in pids:
            try:
                os.kill(int(pid), number)
            except OSError:
                pass
    p.wait()
    wait_for(lambda: all(not s or (s[0] == "Z" and int(s[17]) <= 1) for s in map(stat, killed)), 60)


@atexit.register
def kill_all():
    for p in _started:
        kill_group(p)


def start(ranks, command, folder, launcher="mpirun", **env):
    p = subprocess.Popen([launcher, "-n", str(ranks)] + command, env=environment(folder, True, **env),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    _started.append(p)
    return p


def verdict(folder, hang=HANG):
    """(exit code, verdict) of `hpctop verdict --json`; None when it is no JSON."""
    r = hpctop("verdict", "--json", "--hang", str(hang), "--look", "0.6", folder)
    try:
        return r.code, json.loads(r.out)
    except ValueError:
        return r.code, None


def says(v, want):
    return want.get("says", "") in " ".join([v["summary"]] + v["evidence"])


def right(v, want):
    """What is wrong with a verdict, or an empty text."""
    if v is None:
        return "no verdict"
    if v["state"] not in want["state"]:
        return "state %s, %s" % (v["state"], v["summary"])
    if v["class"] != want["class"]:
        return "class %s, %s" % (v["class"], v["summary"])
    if want["culprits"] is not None and v["culprits"] != want["culprits"]:
        return "culprits %s, %s" % (v["culprits"], v["summary"])
    if not says(v, want):
        return "does not say %r: %s, %s" % (want["says"], v["summary"], v["evidence"])
    return ""


class Count:
    def __init__(self):
        self.cases = self.right = self.healthy = self.alarms = 0
        self.delays = []

    def show(self):
        print("hung or broken: %d cases, %d right verdicts; healthy look-alikes: %d cases, %d false alarms"
              % (self.cases, self.right, self.healthy, self.alarms))
        if self.delays:
            self.delays.sort()
            print("time to verdict: median %.1f s, at most %.1f s after the last rank got stuck, with --hang %d"
                  % (self.delays[len(self.delays) // 2], self.delays[-1], HANG))


count = Count()


def starved():
    """More processes want a core than a limit of two seconds makes sense for."""
    return os.getloadavg()[0] > 3 * len(os.sched_getaffinity(0))


def hang(name, ranks, want, command=None, **more):
    """One program that hangs: looked at until a verdict comes, then killed and looked at again.  Again on a machine that
    lets ranks stand still for seconds: their heartbeats, by which the files tell how long it lasted, do too."""
    for again in range(3):
        judged = hangs(name, ranks, want, command, **more)
        wrong = [j for j in judged if j[1]]
        if not wrong or not starved():
            break
        print("%s on %d: looked at again, the machine has a load of %.0f: %s" % (name, ranks, os.getloadavg()[0], wrong))
    for what, why, since, code in judged:
        count.cases += 1
        count.right += not why
        check("%s on %d, %s" % (name, ranks, what), not why, why)
        if since is not None and not why:
            count.delays.append(since)
            check("%s on %d, %s exit" % (name, ranks, what), code == want.get("exit", 1), code)


def hangs(name, ranks, want, command=None, live=True, post=True, seconds=100, linger=0.0, program="hang_modes", **env):
    """(live or post mortem, what is wrong or "", since when, exit code) of each look at it.  It is killed `linger` seconds
    after it was named, and not before it lasted for HANG."""
    judged = []
    folder = "h-" + name
    p = start(ranks, command or [workload(program), name], folder, **env)
    v, named, limit = None, None, time.monotonic() + seconds
    while time.monotonic() < limit:
        if len(traces(folder)) == ranks:
            code, v = verdict(folder)
            if v and v["state"] in want["state"] and v["class"] == want["class"] and says(v, want):
                named = named or (code, v)
                if not (v["since_s"] or 0) < HANG:
                    break
        if p.poll() is not None:
            break
        time.sleep(0.2)
    if live:
        code, v = named or (None, v)
        judged.append(("live", right(v, want), v and v["since_s"], code))
    else:  # the job ends by itself
        try:
            p.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass
    time.sleep(linger)
    kill_group(p)
    time.sleep(0.2)
    if post:
        code, v = verdict(folder)
        judged.append(("post mortem", right(v, dict(want, state=want.get("post", want["state"]))), None, code))
    shutil.rmtree(folder, ignore_errors=True)
    return judged


def healthy(name, ranks, states=("healthy",), command=None, seconds=6, program="hang_not", files=0, limit=HANG):
    """One that does not: looked at all the while, and once more when it has finished.  Again on a machine that lets ranks
    stand still for seconds."""
    for again in range(3):
        alarms, finished, looks = watched(name, files or ranks, ranks, states, command or [workload(program), name, str(seconds)], seconds, limit)
        if (not alarms and looks > 2) or not starved():
            break
        print("%s on %d: looked at again, the machine has a load of %.0f: %d looks, %s" %
              (name, ranks, os.getloadavg()[0], looks, alarms))
    count.healthy += 1
    count.alarms += bool(alarms)
    check("%s on %d is no hang" % (name, ranks), not alarms and finished and looks > 2,
          alarms or "finished %s, %d looks" % (finished, looks))


def watched(name, files, ranks, states, command, seconds, most):
    """What was said of it that is wrong, whether it came to its end, how often it was looked at."""
    folder = "n-" + name
    p = start(ranks, command, folder)
    alarms, looks = [], 0
    limit = time.monotonic() + 6 * seconds + 20
    while p.poll() is None and time.monotonic() < limit:
        if len(traces(folder)) >= files:
            code, v = verdict(folder, most)
            looks += 1
            if v and starved() and "MPI_Init" in v["summary"]:
                continue  # on such a machine it takes longer than the limit to start
            if v is None or v["state"] not in states + ("healthy", "waiting"):
                alarms.append(v and v["summary"])
        time.sleep(0.3)
    finished = p.poll() == 0
    kill_group(p)
    code, v = verdict(folder)
    if v is None or v["state"] not in states + ("healthy", "slow"):
        alarms.append("afterwards: %s" % (v and v["summary"]))
    shutil.rmtree(folder, ignore_errors=True)
    return alarms, finished, looks


def works(folder, ranks, calls=3):
    """The report, once all ranks are at work, with more than so many calls."""
    r = hpctop("report", "--json", folder)
    rep = json.loads(r.out) if r.code == 0 else {"ranks": []}
    return len(rep["ranks"]) == ranks and all(rank["calls"] > calls for rank in rep["ranks"]) and rep


def killed(name, ranks, seconds=1):
    """A healthy one that is killed in the middle: aborted, and never said to have hung."""
    folder = "k-" + name
    p = start(ranks, [workload("hang_not"), name, "60"], folder)
    check("%s on %d is at work" % (name, ranks), wait_for(lambda: works(folder, ranks), 60))
    time.sleep(seconds)
    kill_group(p)
    time.sleep(0.2)
    code, v = verdict(folder)
    wrong = v is None or v["state"] != "aborted"
    count.healthy += 1
    count.alarms += wrong
    check("%s on %d, killed in the middle, is no hang" % (name, ranks), not wrong, v and (v["state"], v["summary"]))
    shutil.rmtree(folder, ignore_errors=True)


def hung(class_name, culprits, **more):
    return dict({"state": ("hung",), "class": class_name, "culprits": culprits}, **more)


def aborted(class_name, culprits):
    """The launcher ends the others: at once, or late enough for them to have hung first."""
    return {"state": ("aborted", "hung"), "class": class_name, "culprits": culprits}
