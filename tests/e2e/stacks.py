# timeout: 240
# waits
"""Stacks of ranks that wait, compute or crash; the program none the wiser."""
import os
import re
import signal
import time
from functools import partial

from common import check, end, environment, hpctop, pids, report, run, start, stop, together, traces, wait_for, workload


def snapshots(folder):
    """{rank: [snapshot ..]}; a snapshot is {"reason", "why", "threads": [..]} once it is complete."""
    found = {}
    dump = hpctop("dump", folder)
    rank, stacks, stack = None, [], None
    for line in dump.out.splitlines():
        m = re.match(r"rank: (-?\d+) of", line)
        if m:
            rank, stacks = int(m.group(1)), []
        m = re.match(r"stack (\d+): \S+ tid=(\d+) reason=(\w+) state=(.) flags=(\S+)(.*)", line)
        if m:
            stack = {"tid": int(m.group(2)), "reason": m.group(3), "state": m.group(4), "flags": m.group(5).split("+"),
                     "rest": m.group(6), "native": [], "python": [], "on": ""}
            if "closing" not in stack["flags"]:
                stacks.append(stack)
        elif stack and line.startswith("  ") and "\t" in line:
            kind, _, rest = line.strip().partition("\t")
            if kind == "native":
                stack["native"].append(rest.split("\t")[0].split("+")[0])
            elif kind == "python":
                stack["python"].append(rest.split("\t"))
            elif kind == "why":
                found.setdefault(rank, []).append({"reason": stack["reason"], "why": rest, "threads": stacks})
                stacks = []
            else:
                stack[kind] = rest
        else:
            stack = None
    return found


def kill_all(folder, job):
    for pid in pids(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    stop(job)


def main_thread(snapshot):
    return next((t for t in snapshot["threads"] if "main" in t["flags"]), {"native": [], "on": "", "flags": [], "state": "?"})


def those_in(function, seen):
    """Snapshots of a rank that are no earlier than that it got there: on a busy machine MPI_Init, too, takes its time."""
    return [s for s in seen if function in main_thread(s)["native"]]


def waiting(mode, function, on, state, flags="", unwind="own"):
    job = start(2, [workload("where_blocked"), mode], mode + "-" + unwind, HPCTOP_HANG="1", HPCTOP_UNWIND=unwind)
    mode += "-" + unwind

    def there():
        seen = snapshots(mode) if len(traces(mode)) == 2 else {}
        return those_in(function, seen.get(0, [])) and those_in("wait_for_zero", seen.get(1, []))

    wait_for(there)
    loaded = {"/libunwind-" in open("/proc/%d/maps" % pid).read() for pid in pids(mode)}
    check("%s: libunwind is loaded where it unwinds, and only there" % mode, loaded == {unwind == "libunwind"}, loaded)
    kill_all(mode, job)  # what follows is read after kill -9 of all ranks
    seen = snapshots(mode)
    if not check("%s: both ranks left stacks" % mode, sorted(seen) == [0, 1], seen):
        return
    first = (those_in(function, seen[0]) or seen[0])[0]
    check("%s: why" % mode, first["reason"] == "hang" and first["why"].startswith("no call completed for"), first["why"])
    main = main_thread(first)
    check("%s: rank 0 is in %s, called by main" % (mode, function),
          function in main["native"] and "main" in main["native"] and
          main["native"].index("main") == main["native"].index(function) + 1, main)
    check("%s: and waits for %s" % (mode, on), re.match(on, main["on"]) and main["state"] in state, main)
    check("%s: flags" % mode, (flags in main["flags"]) if flags else "running" not in main["flags"] or "in_call" in main["flags"] or "short" not in main["flags"], main["flags"])
    lock = [t for t in first["threads"] if "take_lock" in t["native"]]
    check("%s: its other thread waits for the mutex" % mode, len(lock) == 1 and
          lock[0]["on"] == "futex(), a lock held by thread %d" % main["tid"], first["threads"])
    other = main_thread((those_in("wait_for_zero", seen[1]) or seen[1])[0])
    check("%s: rank 1 is in MPI_Recv, called by wait_for_zero" % mode,
          "wait_for_zero" in other["native"] and ("short" not in other["flags"] or "in_call" in other["flags"]), other)
    shown = hpctop("stacks", mode)
    check("%s: hpctop stacks shows them" % mode, shown.code == 0 and function in shown.out and "rank 0" in shown.out, shown)


def samples():
    """Whether the kernel lets a process sample its own threads."""
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        return int(f.read()) <= 2


def computing():
    """A thread that runs outside recorded calls has the stack that the kernel samples; else none: what would interrupt it
    might interrupt a system call."""
    job = start(2, [workload("where_blocked"), "compute"], "compute", HPCTOP_HANG="1")

    def there():
        seen = snapshots("compute") if len(traces("compute")) == 2 else {}
        return those_in("wait_for_zero", seen.get(1, [])) and [s for s in seen.get(0, []) if "take_lock" in str(s["threads"])]

    wait_for(there)
    shown = hpctop("stacks", "--no-ask", "compute")
    kill_all("compute", job)
    code = hpctop("verdict", "compute")
    main = main_thread((there() or [{"threads": []}])[-1])
    check("compute: it runs", "running" in main["flags"] and main["state"] == "R" and main["on"] == "running", main)
    if samples():
        check("compute: where", main["native"][:2] == ["compute", "main"] and "short" not in main["flags"], main)
        check("compute: hpctop stacks says so", re.search(r"where_blocked\.c:\d+ in compute", shown.out) and "wait_for_zero" in shown.out, shown)
    else:
        check("compute: no more is known", "short" in main["flags"] and not main["native"], main)
        check("compute: hpctop stacks says so", "running outside recorded calls: no stack" in shown.out and "wait_for_zero" in shown.out, shown)
    check("compute: the verdict has its last call", "outside MPI, after MPI_Barrier" in code.out and
          re.search(r"where_blocked\.c:\d+", code.out), code)


def undisturbed():
    """Whoever waits in a system call goes on waiting."""
    done = run([workload("where_blocked"), "sleep"], environment("sleep", HPCTOP_HANG="0.5"))
    check("sleep: not interrupted, though its stack was taken", done.code == 0, done)
    seen = those_in("sleep_once", snapshots("sleep").get(0, []))
    quiet = [float(re.search(r"for ([\d.]+) s", s["why"]).group(1)) for s in seen]
    check("sleep: taken again at growing intervals", len(seen) >= 2 and all(q >= 0.5 * 2**i for i, q in enumerate(quiet)), quiet)
    main = main_thread(seen[0]) if seen else {"native": [], "on": ""}
    check("sleep: in sleep_once", "sleep_once" in main["native"] and main["on"] == "sleep()", main)


def overdue():
    """A call that takes much longer than it ever did is looked at before HPCTOP_HANG is over; a slow job stays a slow one."""
    done = run(["mpirun", "-n", "2", workload("where_blocked"), "late"], environment("late"))
    seen = snapshots("late")
    check("late: rank 1's barrier took too long", done.code == 0 and
          any("MPI_Barrier takes more than 50 times" in s["why"] for s in seen.get(1, [])), seen)
    check("late: once", all(len(s) == 1 for s in seen.values()), {r: [x["why"] for x in s] for r, s in seen.items()})


def caught(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(line.split()[1] for line in f if line.startswith("SigCgt"))


def ranks_below(job):
    """Processes of a program that leaves no trace: those of mpirun's session that are not mpirun."""
    def session(pid):
        try:
            return os.getsid(int(pid))
        except ProcessLookupError:
            return None
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and session(pid) == job.pid and int(pid) != job.pid]


def asked():
    job = start(3, [workload("where_blocked"), "read"], "asked", HPCTOP_HANG="0")
    if not check("asked: three ranks are there", wait_for(lambda: len(traces("asked")) == 3)):
        return stop(job)
    shown = wait_for(lambda: (lambda r: r if re.search("^ranks 1 and 2 ", r.out, re.M) and "did not answer" not in r.out and
                              all(f in r.out for f in ("read_batch", "wait_for_zero")) and
                              "take_lock" in hpctop("stacks", "--threads", "--no-ask", "asked").out else None)(
        hpctop("stacks", "asked")), step=1)
    if check("asked: all answer", shown is not None, hpctop("stacks", "asked")):
        lines = shown.out.splitlines()
        check("asked: the odd one out comes first", [x for x in lines if x.startswith("rank")][0].startswith("rank 0 "), lines)
        check("asked: equal ones together", any(x.startswith("ranks 1 and 2 ") for x in lines), lines)
        tree = shown.out.split("where they part:\n")[-1].splitlines()
        check("asked: as a tree, who goes the same way and where they part, the odd one first",
              len(tree) >= 3 and re.match(r"  3 ranks  \S", tree[0]) and re.match(r"    rank 0  \S", tree[1]) and
              any(re.match(r"    2 ranks  \S", line) for line in tree[2:]), tree)
        threads = hpctop("stacks", "--threads", "--no-ask", "asked")
        check("asked: threads", threads.code == 0 and "take_lock" in threads.out, threads)
    ours = pids("asked")
    check("asked: no real-time signal is left caught", all(int(caught(p), 16) >> 34 == 0 for p in ours), [caught(p) for p in ours])
    one = max(ours)
    os.kill(one, signal.SIGSTOP)
    shown = hpctop("stacks", "asked")
    check("asked: a stopped rank is said to be", "did not answer: the process is stopped" in shown.out and shown.code == 0, shown)
    os.kill(one, signal.SIGCONT)
    kill_all("asked", job)
    shown = hpctop("stacks", "asked")
    check("asked: afterwards the last ones are shown", shown.code == 0 and "read_batch" in shown.out, shown)
    seen = snapshots("asked")
    check("asked: HPCTOP_HANG=0 takes none by itself", {s["reason"] for r in seen.values() for s in r} == {"demand"}, seen)


def demands(folder):
    return sum(s["reason"] == "demand" for seen in snapshots(folder).values() for s in seen)


def beats(folder):
    found = re.search(r"^heartbeats: (\d+)$", hpctop("dump", *traces(folder)).out, re.M) if traces(folder) else None
    return int(found.group(1)) if found else 0


def of_others():
    """What is no request: not a plain file, another user's, in a folder that others may write to; and a flood of them."""
    job = start(1, [workload("where_blocked"), "read"], "others", HPCTOP_HANG="0")
    if not check("requests: a rank is there", wait_for(lambda: beats("others") > 1)):
        return stop(job)
    path = "others/stacks.request"

    def touch(name=path):
        open(name, "w").close()

    def link():
        touch("elsewhere")
        os.symlink("../elsewhere", path)

    def other_users():
        touch()
        os.chown(path, 4711, 4711)

    def in_open_folder():
        os.chmod("others", 0o777)
        touch()

    kinds = [("a pipe", lambda: os.mkfifo(path)), ("a link", link), ("a folder", lambda: os.mkdir(path)),
             ("a file with a second name", lambda: (touch("another"), os.link("another", path))),
             ("in a folder that others may write to", in_open_folder)]
    for name, make in kinds + ([("another user's", other_users)] if os.geteuid() == 0 else []):
        made, old = beats("others"), demands("others")
        make()
        wait_for(lambda: beats("others") >= made + 30)  # ten times a second; requests are looked at twice
        check("requests: %s is none" % name, demands("others") == old, (old, demands("others")))
        (os.rmdir if os.path.isdir(path) else os.remove)(path)
        os.chmod("others", 0o755)
    old = demands("others")
    touch()
    check("requests: a true one is answered", wait_for(lambda: demands("others") > old), old)
    old, began = demands("others"), time.monotonic()
    last = began + 5
    while time.monotonic() < last:
        touch()
        time.sleep(0.01)
    taken, most = demands("others") - old, (time.monotonic() - began) / 2 + 1
    check("requests: a flood is served once in two seconds", 0 < taken <= most, "%d, at most %.1f" % (taken, most))
    kill_all("others", job)


def off():
    job = start(2, [workload("where_blocked"), "read"], "off", HPCTOP_HANG="0.5", HPCTOP_STACKS="0")
    wait_for(lambda: len(traces("off")) == 2)
    # Handlers are installed in MPI_Init: both are behind the barrier that follows.
    wait_for(lambda: (lambda r: r and [k["calls"] >= 3 for k in r["ranks"]] == [True, True])(report("off")))
    shown = hpctop("stacks", "off")
    with_us = {caught(p) for p in pids("off")}
    kill_all("off", job)
    plain = start(2, [workload("where_blocked"), "read"], preload=False)
    without = wait_for(lambda: (lambda masks: masks if masks == with_us else None)({caught(p) for p in ranks_below(plain)}), 30)
    stop(plain)
    check("off: none", snapshots("off") == {} and shown.code == 0 and "did not answer" in shown.out, shown)
    check("off: no handler of ours", with_us and without == with_us, with_us)


def crashes():
    for how, number in [("segv", 11), ("abort", 6), ("fpe", 8), ("ill", 4), ("raise", 11), ("kill", 7), ("stack", 11)]:
        folder = "crash-" + how
        plain = run([workload("crash"), how], environment(None, False))
        done = run([workload("crash"), how], environment(folder))
        check("crash %s: ends by the same signal" % how, done.code == plain.code == -number, "%s, without %s" % (done.code, plain.code))
        check("crash %s: prints as much" % how,
              done.out == plain.out and done.err.count("\n") == plain.err.count("\n"), "%s, without %s" % (done, plain))
        if how == "stack":
            continue  # no room for a handler, unless the MPI library made some
        seen = snapshots(folder).get(0, [])
        thread = next((t for s in seen for t in s["threads"] if "crashed" in t["flags"]), None)
        check("crash %s: the stack is there" % how, thread and "crash_here" in thread["native"] and
              "signal=%d" % number in thread["rest"] and seen[0]["reason"] == "fatal", seen)
    plain = run([workload("crash"), "segv", "own"], environment(None, False))
    done = run([workload("crash"), "segv", "own"], environment("own"))
    check("own handler: it runs, and nothing else", done.code == plain.code == 7 and done.out == plain.out == "own handler\n", done)
    left = snapshots("own").get(0, [])
    check("own handler: only its _exit has left a stack", [s["reason"] for s in left] == ["exit"] and
          "in_handler" in left[0]["threads"][0]["flags"], left)
    done = run([workload("crash"), "segv", "fork"], environment("fork"))
    check("a child's crash is the child's", done.code == 11 and snapshots("fork") == {}, done)


together([of_others, asked, partial(waiting, "read", "read_batch", r"read\(\) on pipe:", "S"),
          partial(waiting, "test", "spin_in_test", "running|sched_yield|poll|epoll|", "RS"),
          partial(waiting, "read", "read_batch", r"read\(\) on pipe:", "S", unwind="libunwind"), computing, undisturbed, off, crashes])
overdue()  # by itself: it is about how long calls take
end()
