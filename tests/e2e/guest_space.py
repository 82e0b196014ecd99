# timeout: 240
"""The trace file's space, and a correct program: threads that are to be cancelled, a file system that stalls, a busy node,
programs that read all memory, a daemon that closes its descriptors, seccomp filters."""
import collections
import os
import re
import subprocess
import sys

from common import LIBTRACE, TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces

HERE = os.path.join(TOP, "tests/e2e/guest_space")


def build(name, *flags):
    subprocess.run(["mpicc", "-O1", "-pthread", "-o", name, os.path.join(HERE, name + ".c")] + list(flags), check=True)


def both(what, command, folder, ranks=1):
    """The same without and with libtrace.so."""
    bare, traced = mpirun(ranks, command, preload=False), mpirun(ranks, command, folder)
    check(what, bare.code == 0 and (bare.code, bare.out) == (traced.code, traced.out) and traces(folder),
          "%s, without %s" % (traced, bare))


def cancellation():
    """A pending pthread_cancel acts at no call of MPI and at no fork, as without us."""
    build("cancelled", "-ldl")
    library = os.path.abspath("part.so")
    subprocess.run(["cc", "-shared", "-o", library, "-xc", "/dev/null"], check=True)
    for what in ("calls", "forks"):
        both("cancelled: " + what, ["./cancelled", what, library], what)


def head(folder, name):
    """A number of the head, of all ranks."""
    return sum(int(n) for n in re.findall("^%s: (\\d+)$" % name, hpctop("dump", *traces(folder)).out, re.M))


def stalled():
    """While our thread waits for a network file system, the program goes on; its own thread asks nothing of it."""
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "network.so", os.path.join(HERE, "network.c"), "-ldl"], check=True)
    env = environment("stalled", LIBTRACE + ":" + os.path.abspath("network.so"), HPCTOP_LIMIT="16M")
    preload = env.pop("LD_PRELOAD")
    done = run(["strace", "-f", "-o", "log", "-e", "trace=getppid,fallocate,pwrite64,ftruncate,msync",
                "-e", "inject=fallocate:delay_enter=2000000", "-E", "LD_PRELOAD=" + preload, "./marks", "1", "400"], env)
    if not check("stalled: the program ends", done.code == 0, done):
        return
    with open("log") as f:
        lines = [line.split(None, 1) for line in f]
    callers = collections.Counter(pid for pid, call in lines if call.startswith("getppid("))
    mine = callers.most_common(1)[0][0]  # the first in the log may be a daemon, which Open MPI 5 starts
    began = next(i for i, (pid, call) in enumerate(lines) if pid == mine and call.startswith("getppid("))
    asked = [call for pid, call in lines[began:] if pid == mine and not re.match(r"getppid|\+\+\+|<\.\.\.|---", call)]
    check("stalled: the program's thread asks nothing of the file system", not asked, asked[:5])
    most = marks = waits = 0
    for pid, call in lines[began:]:
        if pid != mine and call.startswith("fallocate("):
            waits, marks = 1, 0
        elif pid != mine and "fallocate resumed" in call:
            waits = 0
        elif pid == mine and waits:
            marks += 1
            most = max(most, marks)
    check("stalled: it goes on while ours waits", most > 100, "%d of 400 batches" % most)
    counted = calls(report("stalled"))["MPI_Comm_rank"]["calls"]
    check("stalled: counters stay exact", counted == 400 * 20000, counted)
    check("stalled: what has no room is told", head("stalled", "recycled chunks") > 0)


def busy():
    """On a node with more to do than it has processors nothing is lost."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        done = mpirun(1, ["./marks", "4", "60"], "busy")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    lost = {name: head("busy", name) for name in ("lost records", "recycled chunks")}
    check("busy: nothing is lost", done.code == 0 and not any(lost.values()), "%s %s" % (lost, done))
    print("# allocated by the program's threads: %d times" % head("busy", "inline growths"))


def address_space():
    """No page of ours has no file behind it: leak searches, checkpoints and collectors read all pages."""
    bare, done = mpirun(1, ["./marks", "1", "20", "look"], preload=False), mpirun(1, ["./marks", "1", "20", "look"], "mapped")
    check("address space: each page can be read", done.code == 0 and done.out == bare.out, "%s, without %s" % (done, bare))
    counted = calls(report("mapped"))["MPI_Comm_rank"]["calls"]
    check("address space: the trace is whole", counted == 400000 and "healthy" in hpctop("verdict", "mapped").out,
          "%d calls, %s" % (counted, hpctop("verdict", "mapped").out))
    if run(["valgrind", "--version"]).code != 0:
        skip("valgrind", "it is not installed")
        return
    for how in ("finalize", "exit"):
        done = run(["valgrind", "-q", "--leak-check=full", "./leaves", how], environment("valgrind-" + how))
        faults = len(re.findall(r"SIGBUS|Bus error", done.err))
        check("valgrind: its leak search ends, %s" % how, done.code == 0 and not faults, done)


def daemon():
    """A trace that is whole is not told to be cut off because its descriptor is closed later."""
    build("daemon")
    done = mpirun(2, ["./daemon"], "daemon")
    said = hpctop("report", "--all", "daemon").out
    check("daemon: no complaint", done.code == 0 and "closed the trace" not in said and "newest" not in said, said)
    check("daemon: nor in the file", "closed" not in "".join(re.findall("^error: .*$", hpctop("dump", *traces("daemon")).out, re.M)))


def filters():
    """A seccomp filter: the program lives as without us, its calls are counted, and what is not recorded is told."""
    for how in ("all", "thread", "early"):
        for what in ("kill", "errno"):
            name = "filter %s, %s" % (how, what)
            command = ["./filter", how, what]  # early: the daemon of a process without mpirun would have the filter, too
            launch = (lambda folder: mpirun(1, command, folder, folder is not None)) if how == "early" else \
                lambda folder: run(command, environment(folder, folder is not None))
            bare = launch(None)
            if bare.out != "filter\n":
                skip(name, "no filter can be installed here")
                continue
            done = launch(name)
            check(name + ": the same end", (done.code, done.out) == (bare.code, bare.out), "%s, without %s" % (done, bare))
            counted = calls(report(name))["MPI_Comm_rank"]["calls"] if done.code == 0 else 0
            lost = head(name, "lost records") + head(name, "recycled chunks")
            check(name + ": the trace is whole", counted == 1000000 and (not lost or how == "thread"), (counted, lost))
            said = hpctop("report", "--all", name).out
            check(name + ": no complaint of space", "no more space" not in said, said)
    done = run(["./filter", "unseen", "errno"], environment("unseen"))
    said = " ".join(hpctop("report", "--all", "unseen").out.split())
    check("filter unseen, errno: the reason is named", done.code == 0 and "no more space" not in said and "seccomp" in said,
          "%s %s" % (done, said))


for program in ("marks", "leaves", "filter"):
    build(program)
cancellation()
stalled()
busy()
address_space()
daemon()
filters()
end()
