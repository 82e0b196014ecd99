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


def openmpi(ranks, command, folder):
    return mpirun(ranks, command, folder, folder is not None)


def mpich(ranks, command, folder):
    return run(["mpirun.mpich", "-n", str(ranks)] + command, environment(folder, folder is not None))


def nobody():
    """MPI_Imrecv of MPI_MESSAGE_NO_PROC starts a request like any other."""
    build("nobody")
    done = mpirun(1, ["./nobody"], "nobody-trace")
    text = dump("nobody-trace")
    check("a message of nobody: no request is unknown", done.code == 0 and "unknown requests: 0\n" in text,
          re.findall("unknown requests.*", text) or done)
    starts = re.findall(r" MPI_Imrecv .*source=null.*flags=start", text)
    check("a message of nobody: starts a request", len(starts) == 3, starts)


def refused(ranks, command, folder, what):
    """What MPI refuses at once is not counted among the collectives of a communicator."""
    mpirun_of = mpich if what == "MPICH" else mpirun
    done = mpirun_of(ranks, command, folder)
    text = [dump(path) for path in traces(folder)]
    numbers = [re.findall(r"^\d+ .* (MPI_\w+) comm=1\S* .*flags=coll\S* .*sequence=(\d+)", t, re.M) for t in text]
    check("refused collectives, %s: numbers are the same" % what, done.code == 0 and len(numbers) == 2 and
          numbers[0] == numbers[1] and len(numbers[0]) >= 5, "%s; %s" % (numbers, done))
    failed = re.findall(r" (MPI_\w+) comm=1.*flags=\S*failed", text[-1])
    check("refused collectives, %s: they are there" % what, len(failed) == 12, failed)
    check("refused collectives, %s: nothing is in doubt" % what, not any("doubt=" in t for t in text), text[0][:300])


def doubtful():
    """Where it cannot be told whether a failed collective counts, the trace says so."""
    build("refused", "-DTOOL", "-shared", "-fPIC", out="doubtful.so")
    done = mpirun(2, ["env", "LD_PRELOAD=%s:./doubtful.so" % LIBTRACE, "./refused"], "doubtful", preload=False)
    doubts = [re.findall(r"^comm (\d+): .* doubt=(\d+)", dump(path), re.M) for path in traces("doubtful")]
    check("a collective that failed somehow: the order is in doubt", done.code == 0 and doubts == [[], [("1", "0")]], (doubts, done))


def freed():
    """The program's error handler is called once for each of its errors."""
    build("freed", out="freed-mpich", compiler="mpicc.mpich")
    bare, traced = mpich(1, ["./freed-mpich"], None), mpich(1, ["./freed-mpich"], "freed")
    check("a freed communicator, a wrong datatype: the error handler is called as without", bare.out == traced.out == "called 8\n",
          "%s, without %s" % (traced, bare))


def coroutines(start, what, compiler):
    """A call that was left may have had its stack unmapped since."""
    program = build("coroutine", out="coroutine-" + what, compiler=compiler)
    bare, traced = start(1, [program], None), start(1, [program], "left-" + what)
    check("calls left by coroutines, %s: runs as without" % what, (bare.code, bare.out) == (traced.code, traced.out) == (0, "done\n"),
          "%s, without %s" % (traced, bare))
    seen = calls(report("left-" + what) or {"calls": []})
    got = {name: seen.get(name, {}).get("calls") for name in ("MPI_Allreduce", "MPI_Barrier")}
    check("calls left by coroutines, %s: all others are counted" % what, got == {"MPI_Allreduce": 300, "MPI_Barrier": 1}, got)
    doubts = re.findall(r"^comm (\d+): .* doubt=(\d+)", dump("left-" + what), re.M)
    check("calls left by coroutines, %s: a collective's number is in doubt" % what, doubts == [("1", "0")], doubts)


def moves(start, what, compiler):
    """A call that ends on another thread: refused, and said."""
    program = build("moves", out="moves-" + what, compiler=compiler)
    bare, traced = start(1, [program], None), start(1, [program], "moved-" + what)
    check("a call that moves to another thread, %s: runs as without" % what, (bare.code, bare.out) == (traced.code, traced.out) == (0, "done\n"),
          "%s, without %s" % (traced, bare))
    said = hpctop("report", "--all", "moved-" + what)
    check("a call that moves to another thread, %s: it is said" % what,
          "ended on another thread than it began on" in " ".join(said.out.split()), said)


def types(start, what, compiler):
    """Sizes of datatypes: whoever frees them, and when a message is cut off."""
    program = build("types", out="types-" + what, compiler=compiler)
    done = start(1, [program], "sizes-" + what)
    seen = calls(report("sizes-" + what) or {"calls": []})
    got = [(seen.get(name, {}).get("bytes_sent"), seen.get(name, {}).get("bytes_received"))
           for name in ("MPI_Sendrecv", "MPI_Isend", "MPI_Recv")]
    check("sizes of datatypes, " + what, done.code == 0 and got == [(440, 440), (80, 0), (0, 40)], (got, done))


def isendrecv():
    """MPICH says nothing of what an MPI_Isendrecv received: then what was posted holds, not rank 0."""
    build("isendrecv", compiler="mpicc.mpich")
    done = mpich(3, ["./isendrecv"], "isendrecv-trace")
    text = dump("isendrecv-trace")
    came = re.findall(r"MPI_Isendrecv .*source=(\S+) rtag=(\S+) .*received=(\d+) .*flags=sub.*complete", text)
    known = came.count(("2", "7", "40"))
    check("MPI_Isendrecv: what was posted", done.code == 0 and known == 4, (came, done))
    check("MPI_Isendrecv: nobody is made up", all(c[0] in ("-", "2") for c in came) and len(came) == 6, came)


device()
nobody()
build("refused")
refused(2, ["./refused"], "refused-trace", "Open MPI")
doubtful()
build("loop", "-rdynamic")
loop(openmpi, "Open MPI", "./loop")
coroutines(openmpi, "openmpi", "mpicc")
moves(openmpi, "openmpi", "mpicc")
types(openmpi, "openmpi", "mpicc")
if shutil.which("mpicc.mpich"):
    build("loop", "-rdynamic", out="loop-mpich", compiler="mpicc.mpich")
    loop(mpich, "MPICH", "./loop-mpich")
    isendrecv()
    coroutines(mpich, "mpich", "mpicc.mpich")
    moves(mpich, "mpich", "mpicc.mpich")
    types(mpich, "mpich", "mpicc.mpich")
    freed()
    build("refused", out="refused-mpich", compiler="mpicc.mpich")
    refused(2, ["./refused-mpich"], "refused-mpich-trace", "MPICH")
else:
    skip("MPICH", "it is not here")
identities()
late()
end()
