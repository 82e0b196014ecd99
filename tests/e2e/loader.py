# timeout: 120
"""The dynamic loader and our threads: modules that are loaded while communicators are made, a constructor that waits for
MPI, a dlopen that hangs, functions of libc that the program has itself, a main thread that leaves."""
import os
import re
import signal
import subprocess

from common import LIBTRACE, TOP, calls, check, end, environment, hpctop, report, run, traces, wait_for

HERE = os.path.join(TOP, "tests/e2e/loader")
LOADS = 300


def build(out, source, *flags, compiler="mpicc"):
    subprocess.run([compiler, "-w", "-O1", "-o", out, os.path.join(HERE, source)] + list(flags) + ["-ldl", "-lpthread"], check=True)


for how in ("lazy", "now"):
    build(how + ".so", "part.c", "-shared", "-fPIC", "-Wl,-z," + how, compiler="cc")
build("waits.so", "part.c", "-shared", "-fPIC", "-DWAITS", compiler="cc")
build("race", "race.c")
build("slow", "race.c", "-DSLOW", "-rdynamic")
for name in ("deadlock", "hangs"):
    build(name, name + ".c", "-rdynamic")
build("leaves", "leaves.c")
build("forks", "forks.c", "-rdynamic")
build("own", "own.c", compiler="cc")


def both(what, command, folder=None):
    """The same without and with libtrace.so."""
    bare, traced = run(command, environment(preload=False), 60), run(command, environment(folder), 60)
    check(what, bare.code == 0 and (bare.code, bare.out) == (traced.code, traced.out), "%s, without %s" % (traced, bare))


# What is being loaded is not touched, and what has been loaded loses no call.
for how in ("lazy", "now"):
    for program in ("slow", "race"):
        name = "%s, %s" % (program, how)
        both("loads while communicators are made: " + name, ["./" + program, str(LOADS), "./%s.so" % how], name)
        rep = report(name)
        seen = calls(rep).get("MPI_Address", {}).get("calls") if rep else None
        # Open MPI alone has that name still.
        check("calls of what was loaded: " + name, seen == LOADS or not rep["job"]["mpi"].startswith("Open MPI"), seen)
both("a constructor waits for a communicator", ["./deadlock", "./waits.so"], "deadlock-trace")
both("a fork while objects are looked at", ["./forks", "./now.so"], "forks-trace")
both("without MPI: functions of libc that the program has itself", ["./own"])
both("the main thread leaves after MPI_Finalize", ["./leaves"], "leaves-trace")


def beats():
    done = hpctop("dump", *traces("hangs-trace")) if traces("hangs-trace") else None
    found = re.search(r"^heartbeats: (\d+)$", done.out, re.M) if done else None
    return int(found.group(1)) if found else 0


# Signs of life go on while a dlopen hangs, and places get their names.
p = subprocess.Popen(["./hangs", "./waits.so"], env=environment("hangs-trace"), stdout=subprocess.PIPE, text=True)
inside = p.stdout.readline()
begin = beats()
check("a dlopen hangs: signs of life go on", inside == "inside\n" and wait_for(lambda: beats() >= begin + 30, 60), (inside, begin, beats()))
check("a dlopen hangs: places are named", wait_for(lambda: re.search(r"MPI_Barrier .*site=main\+", hpctop("dump", *traces("hangs-trace")).out), 30),
      hpctop("dump", *traces("hangs-trace")).out[-300:])
p.send_signal(signal.SIGUSR1)
check("a dlopen hangs: it goes on", p.communicate(timeout=60)[0] == "loaded\n" and p.returncode == 0, p.returncode)
end()
