# timeout: 120
"""What the recorder does with MPI's objects (buffers, communicators, requests, datatypes, errors) that could hurt the
program or put wrong words into the trace.  Each of guest_objects/*.c says what is right."""
import os
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces

HERE = os.path.join(TOP, "tests/e2e/guest_objects")


def build(name, *flags, out=None, compiler="mpicc"):
    """Compiles guest_objects/NAME.c to ./OUT."""
    out = out or name
    source = os.path.join(HERE, name + ".c")
    subprocess.run([compiler, "-O1", "-Wall", "-o", out, source, "-lpthread"] + list(flags), check=True)
    return "./" + out


def dump(folder):
    done = hpctop("dump", folder)
    return done.out if done.code == 0 else "hpctop dump: %s" % done


def device():
    """Buffers of collectives are read only by reads that may fail."""
    program = build("device")
    build("device", "-DTOOL", "-shared", "-fPIC", out="device.so")
    bare = mpirun(2, ["env", "LD_PRELOAD=./device.so", program], preload=False)
    traced = mpirun(2, ["env", "LD_PRELOAD=%s:./device.so" % LIBTRACE, program], "device-trace", preload=False)
    check("memory of a device: without", bare.code == 0 and bare.out == "done\n" * 2, bare)
    if not check("memory of a device: runs as without", (traced.code, traced.out) == (0, bare.out), traced):
        return
    seen = calls(report("device-trace"))
    got = {name: seen.get(name, {}).get("calls") for name in ("MPI_Allreduce", "MPI_Gatherv", "MPI_Bcast")}
    check("memory of a device: all is counted", got == {"MPI_Allreduce": 12, "MPI_Gatherv": 6, "MPI_Bcast": 12}, got)


def loop(start, what, program):
    """Loops of communicators cost no memory and no system calls, and their identities never meet."""
    n = 20000
    bare, traced = start(1, [program, str(n)], None), start(1, [program, str(n)], what + "-loop")
    number = re.compile(r"maps (\d+) grown (-?\d+)")
    if check("loop of communicators, %s: runs" % what, number.match(bare.out) and number.match(traced.out), traced):
        maps, grown = (int(b) - int(a) for a, b in zip(number.match(bare.out).groups(), number.match(traced.out).groups()))
        check("loop of communicators, %s: system calls" % what, maps < 100, "%d mmap and munmap for %d" % (maps, 2 * n))
        check("loop of communicators, %s: memory" % what, grown < 6000, "%d kB for %d" % (grown, 2 * n))
        lost = re.findall(r"^lost records: (\d+)", dump(what + "-loop"), re.M)
        check("loop of communicators, %s: nothing is lost" % what, lost == ["0"], lost)


def identities():
    """All differ, also when there are more than a table holds; and are the same on all ranks."""
    def of(folder):
        return [re.findall(r"^comm \d+: identity=(\w+) .*by=MPI_Comm_dup", dump(path), re.M) for path in traces(folder)]
    n = 17000
    done = mpirun(1, ["./loop", str(n), "used"], "used-1")
    many = (of("used-1") + [[]])[0]
    check("%d communicators: each is defined" % (2 * n), done.code == 0 and len(many) >= 2 * n, "%d; %s" % (len(many), done))
    check("%d communicators: no identity twice" % (2 * n), len(set(many)) == len(many), (len(set(many)), len(many)))
    done = mpirun(2, ["./loop", "100", "used"], "used-2")
    both = of("used-2")
    check("communicators: the same on both ranks", len(both) == 2 and both[0] == both[1] and len(both[0]) == 300, done)


def late():
    done = mpirun(2, ["./loop", "5000", "late"], "late")
    rep = report("late")
    wrong = [p for p in rep["pairs"] if (p["src"], p["dst"]) != (1, 0)]
    check("a receive on a communicator freed long ago: no wrong source", done.code == 0 and not wrong, wrong or done)


def mpich(ranks, command, folder):
    return run(["mpirun.mpich", "-n", str(ranks)] + command, environment(folder, folder is not None))


device()
build("loop", "-rdynamic")
loop(lambda ranks, command, folder: mpirun(ranks, command, folder, folder is not None), "Open MPI", "./loop")
if shutil.which("mpicc.mpich"):
    build("loop", "-rdynamic", out="loop-mpich", compiler="mpicc.mpich")
    loop(mpich, "MPICH", "./loop-mpich")
else:
    skip("MPICH", "it is not here")
identities()
late()
end()
