# timeout: 300
# waits
"""How ranks end, under real Open MPI: each is named with its signal or code and its place, and what ended the others is
no cause.  Jobs that are ended from outside blame nobody."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
from functools import partial

from common import HPCTOP, check, end, together, wait_for, workload
from verdicts import kill_group, start, verdict, works

LOOP = 14  # calls of a rank of workloads/deaths.c that is in its last loop


def of_itself(how, class_name, words, place="end_here", evidence=""):
    """Rank 1 of 3 ends by itself, and the launcher ends the others."""
    p = start(3, [workload("deaths"), *how.split()], how.replace(" ", "-"))
    try:
        p.wait(timeout=90)
    finally:
        kill_group(p)
    code, v = verdict(how.replace(" ", "-"))
    good = code == 1 and v and (v["state"], v["class"], v["culprits"]) == ("aborted", class_name, [1])
    good = good and re.search(words, v["summary"]) and re.search(place, v["summary"])
    check("%s: rank 1 is named, with how it ended and where" % how, good and re.search(evidence, " ".join(v["evidence"])), v)
    shutil.rmtree(how.replace(" ", "-"))


def from_outside(name, how, act, words, confidence, **env):
    """Ends a job that is well by act(launcher's process, pids of its ranks)."""
    p = start(3, [workload("deaths"), *how.split()], name, **env)
    there = wait_for(lambda: works(name, 3, LOOP))
    time.sleep(1)
    if there:
        pids = [rank["pid"] for rank in there["ranks"]]
        act(p, pids)
        wait_for(lambda: not any(os.path.exists("/proc/%d/exe" % pid) for pid in pids), 20)
    kill_group(p)
    code, v = verdict(name)
    good = code == 1 and v and (v["state"], v["class"], v["culprits"]) == ("aborted", "killed", [])
    check("%s: nobody is blamed" % name, there and good and re.search(words, v["summary"]) and v["confidence"] in confidence, v)
    shutil.rmtree(name, ignore_errors=True)


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def one_by_one(number, seconds):
    def act(_, pids):
        for pid in pids:
            kill(pid, number)
            time.sleep(seconds)
    return act


def in_turn(p, pids):
    kill(p.pid, signal.SIGSTOP)  # it would end the others after the first, PRRTE by a SIGKILL that nobody can note
    one_by_one(signal.SIGTERM, 0.7)(p, pids)


def caught(cases):
    """Handlers of the program's own for signals that it causes itself: the error is the cause, and its place is named."""
    ways = {"exit": "", "_exit": "", "quick_exit": "", "again": "", "abort_mpi": r"called MPI_Abort\(9\) in its handler of "}
    rng = random.Random(31)
    for name, word in rng.sample([(n, w) for n in ("segv", "fpe", "abort") for w in ways], cases):
        how = "caught 1 %s %s%s" % (name, word, rng.choice(("", " info")))
        yield partial(of_itself, how, "dead-rank", (ways[word] or "crashed by ") + "SIG" + {"abort": "ABRT"}.get(name, name.upper()))
    yield partial(of_itself, "caught 1 alarm exit", "early-exit", r"left by exit\(9\) in its handler of SIGALRM", "leave_in_handler")


def seen():
    """hpctop record sees which process of this host ended first, where none of them could note it."""
    p = subprocess.Popen([HPCTOP, "record", "-q", "-o", "seen", "--", "mpirun", "-n", "3", workload("deaths"), "well"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    there = wait_for(lambda: works("seen", 3, LOOP))
    time.sleep(1)
    pids = [rank["pid"] for rank in there["ranks"]] if there else []
    launcher = [int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1]) for pid in pids[:1]]
    for pid in launcher:
        kill(pid, signal.SIGSTOP)
    for pid in pids[1:2] + pids[:1] + pids[2:]:
        kill(pid, signal.SIGKILL)
        time.sleep(0.15 if pid == pids[1] else 0)
    time.sleep(1)
    for pid in launcher:
        kill(pid, signal.SIGKILL)
    p.wait(timeout=30)
    code, v = verdict("seen")
    check("record saw rank 1 end before the others", code == 1 and v and v["culprits"] == [1] and v["class"] == "dead-rank" and
          "hpctop record saw its process end " in " ".join(v["evidence"]), v)
    shutil.rmtree("seen")


def everything(p, pids):
    kill(p.pid, signal.SIGKILL)  # the launcher first: it would tell the others
    one_by_one(signal.SIGKILL, 0.5)(p, pids)


def in_handlers(cases):
    """Handlers of the program's own, as chance has them: no stack needs to be taken to see that the rank was told to end."""
    rng = random.Random(16)
    for i in range(cases):
        number = rng.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2))
        how = "handler 1 %d %s%s" % (number, rng.choice(("exit", "_exit", "quick_exit")), rng.choice((" all", "")))
        yield partial(from_outside, "handler%d" % i, how, one_by_one(number, rng.choice((0, 0.1))), "told to end|gone at once", ("proven", "possible"),
                      HPCTOP_STACKS=rng.choice("001"))


together([
    partial(of_itself, "exit", "early-exit", r"left by exit\(3\)", r"deaths\.c:\d+ in end_here"),
    partial(of_itself, "_exit", "early-exit", r"left by _exit\(3\)"),
    partial(of_itself, "quick_exit", "early-exit", r"left by quick_exit\(3\)"),
    partial(of_itself, "return", "early-exit", r"returned 3 from main", ""),
    partial(of_itself, "thread_exit", "early-exit", r"left by exit\(3\)"),
    partial(of_itself, "error", "early-exit", "an error that MPI found ended rank 1|ended by the MPI library for an error", r"end_here \(inside MPI_Send"),
    partial(of_itself, "segv", "dead-rank", "crashed by SIGSEGV", r"deaths\.c:\d+ in end_here"),
    partial(of_itself, "thread_segv", "dead-rank", "crashed by SIGSEGV"),
    partial(of_itself, "stack", "dead-rank", "rank 1 is gone|its stack was full", "",
            "no signal: SIGKILL, or SIGSEGV without room left on its stack|in fill_stack"),
    partial(of_itself, "thread_stack", "dead-rank", "rank 1 is gone", "", "no signal: SIGKILL, or SIGSEGV without room left on its stack"),
    partial(of_itself, "room_stack", "dead-rank", "its stack was full", "fill_stack"),
    partial(of_itself, "fpe", "dead-rank", "crashed by SIGFPE"),
    partial(of_itself, "assert", "dead-rank", "crashed by SIGABRT", evidence="its last words: .*Assertion `zero == 1' failed"),
    partial(of_itself, "sys", "dead-rank", "crashed by SIGSYS"),
    partial(of_itself, "pipe", "dead-rank", "ended by SIGPIPE"),
    partial(of_itself, "alarm", "dead-rank", "ended by SIGALRM", "compute|now"),
    partial(of_itself, "cpu", "dead-rank", "used up its processor time", "compute|now"),
    partial(of_itself, "size", "dead-rank", "a file that it wrote passed its limit", "write_much"),
    partial(of_itself, "kill", "dead-rank", "rank 1 is gone", "", "the others were told to end .*SIGTERM from (mpirun|prterun)"),
    partial(from_outside, "term", "well", one_by_one(signal.SIGTERM, 0), "all 3 ranks were told to end: SIGTERM from python3", ("proven",)),
    partial(from_outside, "term-each", "well", in_turn, "all 3 ranks were told to end: SIGTERM", ("proven",)),
    partial(from_outside, "launcher", "well", lambda p, _: kill(p.pid, signal.SIGTERM), "told to end|gone at once", ("proven", "possible")),
    partial(from_outside, "lost", "well", lambda p, _: kill(p.pid, signal.SIGKILL), "ended by the MPI library", ("proven",)),
    partial(from_outside, "kill", "well", lambda p, q: kill_group(p), "killed from outside", ("likely", "possible")),
    partial(from_outside, "kill-each", "well", everything, "killed from outside|ended by the MPI library", ("likely", "possible", "proven")),
    partial(from_outside, "handler", "handler", lambda p, _: kill(p.pid, signal.SIGTERM), "told to end|gone at once", ("proven", "possible")),
    seen,
    *in_handlers(8),
    *caught(7),
])
end()
