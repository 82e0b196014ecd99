#!/usr/bin/env python3
"""A real Horovod trains under libtrace.so with one thing wrong at a time: does hpctop name it, rank and tensor, while
the job hangs and from its files, and does it keep quiet about what is healthy?

  tests/horovod/run.py [-q] [mpi|gloo] [CASE..]      -q: does not wait for Horovod's own stall inspector
  tests/horovod/run.py hosts                         run_hosts.py alone, which else comes before the last
  tests/horovod/run.py keras [CASE..]                run_keras.py alone, which else comes last

Each case runs over MPI and over Gloo.

One line a part, as in other tests; then a table: what each said and when, beside Horovod's stall inspector, which is set
to HOROVOD_STALL_CHECK_TIME_SECONDS=4 (as installed: 60).  Times are from the fault, seconds."""
import copy
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/e2e/lib")]
import run as runner  # noqa: E402

os.environ.update(runner.environment(os.path.join(TOP, "build/plain")))
WHERE = tempfile.mkdtemp(prefix="hpct-")
for product in ("LIBTRACE", "HPCTOP"):  # a build in these ten minutes must not disturb
    os.environ[product] = shutil.copy(os.environ[product], WHERE)
from chunks import KEPT, committed  # noqa: E402
from common import LIBTRACE, check, failures, hpctop, skip, skip_all  # noqa: E402

HANG, STALL, PATIENCE = 3, 4, 90
IDLE = 45  # seconds: stacks are taken after 30
GRADIENT = re.compile(r"allreduce\.[02]\.(weight|bias)$")


def exactly(text):
    return re.compile(re.escape(text) + "$")


class Case:
    """fault and guilty rank; classes that are right; tensor; live: it hangs until it is killed.  slow: seconds after
    which it goes on by itself, healthy in the end."""

    def __init__(self, name, fault, rank=1, classes=(), tensor=None, live=True, slow=0, steps=100000, ranks=3):
        self.name, self.fault, self.rank, self.classes, self.tensor = name, fault, rank, classes, tensor
        self.live, self.slow, self.steps, self.ranks = live, slow, steps, ranks


CASES = [
    Case("rank-0-only work", "alone", 0, ("not-submitted",), GRADIENT),
    Case("uneven batches", "uneven", 1, ("not-submitted",), exactly("allreduce.val_accuracy")),
    Case("different names", "name", 1, ("name-mismatch",), exactly("allreduce.loss/val"), ranks=4),
    Case("metric on one rank", "metric", 1, ("not-submitted",), exactly("allreduce.val_loss")),
    Case("exception", "exception", 2, ("early-exit",), GRADIENT, live=False),
    Case("sys.exit", "exit", 0, ("early-exit",), GRADIENT, live=False),
    Case("SIGSTOP", "stop", 1, ("loop-dead",)),
    Case("SIGKILL", "kill", 1, ("dead-rank",), live=False),
    Case("out of memory", "oom", 2, ("dead-rank",), live=False),
    Case("data loader in read()", "read", 2, ("not-submitted",), GRADIENT),
    Case("GIL held", "gil", 1, ("not-submitted", "loop-dead")),
    Case("barrier of another library", "barrier", 1, ("wait-cycle",), GRADIENT),
    Case("straggler of 50 ms", "straggler", 2, ("straggler",), live=False, steps=60),
    Case("join with uneven data", "join", 1, ("healthy",), live=False, steps=200),
    Case("join of rank 0", "join", 0, ("healthy",), live=False, steps=200),
    Case("checkpoint on rank 0", "checkpoint", 0, ("not-submitted",), GRADIENT, slow=6, steps=120),
    Case("plain training", "none", 1, ("healthy",), live=False, steps=150),
]
LAUNCHERS = {"mpi": [os.path.join(TOP, "tests/start"), "mpirun", "-n"], "gloo": ["horovodrun", "--gloo", "-np"]}


def over(case, controller):
    case = copy.copy(case)
    case.controller = controller
    case.name += " over " + controller
    return case


class Job:
    def __init__(self, python, case):
        self.case, self.lines, self.fault_at, self.stall = case, [], None, None
        command = LAUNCHERS[case.controller] + [str(case.ranks), python, os.path.join(TOP, "tests/horovod/train.py"),
                                                "--fault", case.fault, "--rank", str(case.rank), "--steps", str(case.steps)]
        if case.slow:
            command += ["--seconds", str(case.slow)]
        self.folder = "trace"
        shutil.rmtree(self.folder, ignore_errors=True)
        env = dict(os.environ, PATH=os.path.dirname(python) + ":" + os.environ["PATH"], LD_PRELOAD=LIBTRACE,
                   HPCTOP_DIR=self.folder, OMP_NUM_THREADS="1", HOROVOD_STALL_CHECK_TIME_SECONDS=str(STALL))
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for raw in self.process.stdout:
            now, line = time.time(), raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            if "train: fault" in line and self.fault_at is None:
                self.fault_at = now
            if self.fault_at and not self.stall and re.search(r"Stalled ops|missing ranks", line, re.I):
                self.stall = now - self.fault_at

    def ended(self):
        return self.process.poll() is not None

    def kill(self):
        """All at once, as a batch system does, the ranks first."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not self.ended():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(5)

    def pids(self):
        return [int(pid) for pid in re.findall(r"train: rank \d+ pid (\d+)", "\n".join(self.lines))]


def ask(command, folder, hang):
    r = hpctop(command, "--json", "--hang", str(hang), folder)
    try:
        return json.loads(r.out)
    except ValueError:
        return None


def said(found):
    return json.dumps(found["verdict"] if found and "verdict" in found else found)[:500]


STOPPED = {"stop": ("dead-rank",), "gil": ("dead-rank",)}  # a stopped process may be called so


def is_right(case, found):
    f = (found or {}).get("verdict") or {}
    if f and "healthy" in case.classes:  # on a busy machine somebody may really be late
        return bool(found["sets"]) and f["state"] != "hung" and f["class"] in (None, "straggler")
    if f.get("class") not in case.classes + STOPPED.get(case.fault, ()):
        return False
    tensors = [fact.get(k) or "" for fact in f["facts"] for k in ("name", "other_name")]
    return f["culprits"] == [case.rank] and (not case.tensor or any(map(case.tensor.match, tensors)))


def dead_rank(case):
    """Which rank died first is the verdict's business, not of Horovod's loops."""
    v = ask("verdict", "trace", HANG) or {}
    return v.get("class") == "dead-rank" and v.get("culprits") == [case.rank], v


def verdict_agrees(case):
    """What users ask first names the same, while it hangs."""
    classes = case.classes + STOPPED.get(case.fault, ())
    v = {}
    for _ in range(20):
        v = ask("verdict", "trace", HANG) or {}
        hung = v.get("state") == "hung" or case.fault == "stop"  # Gloo ends the others after 30 s
        if hung and v.get("class") in classes and v["culprits"] == [case.rank]:
            return True, v
        time.sleep(0.3)
    return False, v


def follow(case, job, quick):
    """While the job runs.  Returns when it was named (s), and how many alarms were false."""
    began, named, alarms, slow_seen = time.time(), None, 0, False
    while not job.ended() and time.time() - began < PATIENCE:
        found = ask("horovod", "trace", HANG if case.live and not case.slow else 30)
        f = (found or {}).get("verdict") or {}
        hung = f.get("state") == "hung"
        right_rank = job.fault_at and not case.slow and f.get("culprits") == [case.rank]
        if hung and not right_rank and (not job.fault_at or case.slow or not case.live):
            alarms += 1
            print("    false alarm: " + said(found))
        if case.slow and f.get("class") != "straggler" and is_right(case, found):
            slow_seen = slow_seen or time.time() - job.fault_at
        if case.live and not case.slow and hung:
            if is_right(case, found):
                named = time.time() - job.fault_at
                break
            alarms += 1
            if alarms == 1:
                print("    wrong: " + said(found))
        time.sleep(0.3)
    if named:
        right, found = verdict_agrees(case)
        check("%s: by hpctop verdict, too" % case.name, right, said(found))
    if named and (not quick or case.fault == "stop"):  # who is killed with the others seconds later looks like them
        limit = time.time() + 7 * STALL
        while not job.stall and not job.ended() and time.time() < limit:
            time.sleep(0.3)
    return named or slow_seen, alarms


def agrees(case, found):
    """Who came last, step by step, by the ranks' own clocks (one host) and by hpctop: the same in 95% of the steps.  On
    a busy machine that is not always the one that is made late; steps in which it is a close thing do not count.  Nor do,
    where Horovod's cycles are that long for want of a core, those in which two came in one cycle, which hpctop says."""
    came = {}
    for path in glob.glob("came.*"):
        with open(path) as f:
            came[int(path.split(".")[1])] = [float(x) for x in f.read().split()]
    said_last = found["sets"][0]["last_by_step"] if found and found["sets"] else []
    if not check("straggler: as many steps as there were", len(came) == 3 and all(len(c) == len(said_last) for c in came.values()),
                 (len(said_last), {r: len(c) for r, c in came.items()})):
        return False
    clear = same = made = tied = 0
    starved = os.getloadavg()[0] > 3 * len(os.sched_getaffinity(0))
    for step, last in enumerate(said_last):
        order = sorted(came, key=lambda r: came[r][step])
        if came[order[-1]][step] - came[order[-2]][step] < 0.01:
            continue
        if last is None and starved:
            tied += 1
            continue
        clear += 1
        same += last == order[-1]
        made += order[-1] == case.rank
    print("    of %d clear steps the one made late was last in %d; hpctop agrees in %d; %d more in one cycle"
          % (clear, made, same, tied))
    return check("straggler: the right rank in 95% of the steps", clear >= 30 and same >= 0.95 * clear, (clear, made, same))


def one(case, python, quick):
    job = Job(python, case)
    named, alarms = follow(case, job, quick)
    if case.live and not case.slow:
        check("%s: named while it hangs" % case.name, named, said(ask("horovod", "trace", HANG)) + str(job.lines[-3:]))
    if case.slow:
        check("%s: slow while it lasts, and who" % case.name, named, job.lines[-3:])
        check("%s: it ends well" % case.name, job.process.wait() == 0, job.lines[-3:])
        case.classes = ("healthy",)
    check("%s: no false alarm" % case.name, alarms == 0, alarms)
    job.kill()
    for group in glob.glob("/sys/fs/cgroup/hpctop-test-*") + glob.glob("/sys/fs/cgroup/memory/hpctop-test-*"):
        os.rmdir(group)
    if any("SIGKILL instead" in line for line in job.lines):
        skip("%s: by the kernel" % case.name, "no memory group can be had here; killed by a signal")
    if "dead-rank" in case.classes:
        right, found = dead_rank(case)
    else:
        found = ask("horovod", "trace", 30)
        right = is_right(case, found)
    check("%s: named from the files" % case.name, right, said(found))
    if case.live and not case.slow:
        agreed, v = verdict_agrees(case)
        right = check("%s: from the files by hpctop verdict, too" % case.name, agreed, said(v)) and right
    if case.fault == "straggler":
        right = agrees(case, found) and right
    summary = ((found.get("verdict") or found).get("summary") or "healthy") if found else "no answer"
    return {"case": case.name, "live": named, "right": right, "alarms": alarms, "own": job.stall, "says": summary}


def idle(python):
    """A job that does nothing for a while, with all evidence on, the stacks at 30 s among it: what does it write?"""
    job = Job(python, over(Case("idle", "idle", 0, slow=IDLE + 15, steps=30), "mpi"))
    limit = time.time() + PATIENCE
    while job.fault_at is None and not job.ended() and time.time() < limit:
        time.sleep(0.2)
    time.sleep(3)
    files, began = sorted(glob.glob("trace/*.hpctop")), time.monotonic()
    before = [committed(path, KEPT) for path in files]
    time.sleep(IDLE)
    rates = [(committed(path, KEPT) - was) / (time.monotonic() - began) for path, was in zip(files, before)]
    check("idle: less than 1 KB a second and rank", len(rates) == 3 and not job.ended() and max(rates) < 1024, rates)
    asked = hpctop("stacks", "--no-ask", "trace")
    check("idle: with the stacks that were taken meanwhile", "stacks of 3 of 3 ranks" in asked.out, asked)
    print("    %s bytes a second by rank" % ", ".join("%.0f" % rate for rate in rates))
    check("idle: it goes on and ends", job.process.wait() == 0, job.lines[-3:])
    job.kill()


def main():
    words = [a for a in sys.argv[1:] if a != "-q"]
    keras = [os.path.join(TOP, "tests/horovod/run_keras.py")]
    if words[:1] == ["keras"]:
        sys.exit(subprocess.call(keras + words[1:]))
    setup = subprocess.run([os.path.join(TOP, "tests/horovod/setup.sh")], stdout=subprocess.PIPE)
    if setup.returncode:
        skip_all("no Horovod: see above")
    python = setup.stdout.decode().split()[-1]
    os.chdir(WHERE)
    hosts = [sys.executable, os.path.join(TOP, "tests/horovod/run_hosts.py"), python]
    if words == ["hosts"]:
        sys.exit(subprocess.call(hosts))
    controllers = [w for w in words if w in LAUNCHERS] or list(LAUNCHERS)
    words = [w for w in words if w not in LAUNCHERS]
    rows = [one(over(case, controller), python, "-q" in sys.argv) for controller in controllers for case in CASES
            if not words or any(w in case.name for w in words)]
    if not words or "idle" in words:
        idle(python)
    on_hosts = bool(words) or subprocess.call(hosts) == 0
    os.chdir("/")
    shutil.rmtree(WHERE, ignore_errors=True)
    print("\n%-30s %-6s %-9s %-7s %-12s %s" % ("case", "right", "live, s", "alarms", "Horovod's, s", "hpctop says"))
    for r in rows:
        print("%-30s %-6s %-9s %-7d %-12s %s" % (r["case"], "yes" if r["right"] else "NO", "%.1f" % r["live"] if r["live"] else "-",
                                                r["alarms"], "%.1f" % r["own"] if r["own"] else "silent", r["says"][:110]))
    right, alarms = sum(bool(r["right"]) for r in rows), sum(r["alarms"] for r in rows)
    print("%d cases, %d right, %d false alarms" % (len(rows), right, alarms))
    trained = bool(words) or subprocess.call(keras) == 0
    sys.exit(0 if right == len(rows) and alarms == 0 and on_hosts and trained and not failures() else 1)


if __name__ == "__main__":
    main()
