# timeout: 200
"""Corners that the recorder once did not get right: each of corners/*.c (its head says the known answer) runs with and
without libtrace.so, and the counts are held to exact numbers."""
import os
import re
import subprocess

from common import (BUILD, LIBTRACE, TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces,
                    workload)

HERE = os.path.join(TOP, "tests/e2e/corners")


def build(name, *flags, source=None, compiler="mpicc"):
    """Compiles corners/SOURCE to ./NAME."""
    source = os.path.join(HERE, source or name + ".c")
    subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-o", name, source] + list(flags), check=True)
    return "./" + name


def folder_of(what):
    return what.replace(" ", "-").replace("+", "p") + "-trace"


def both(what, ranks, command, **env):
    """Runs without and with the recorder: same output and exit status.  Returns the traced run."""
    command = ["--timeout", "150"] + ([command] if isinstance(command, str) else command)  # mpirun ends what hangs
    bare = mpirun(ranks, command, preload=False)
    traced = mpirun(ranks, command, folder_of(what), **env)
    same = bare.code == traced.code and sorted(bare.out.splitlines()) == sorted(traced.out.splitlines())
    check(what + ": runs as without", same, "%s, without %s" % (traced, bare))
    return traced


def dump(what):
    """`hpctop dump` of every file, as one text."""
    done = hpctop("dump", folder_of(what))
    if done.code != 0:
        print("hpctop dump %s: %s" % (what, done))
    return done.out


def total(text, title):
    """Sum over files of a number in the heads of a dump; None if it is not there."""
    found = re.findall(r"^%s: (\d+)$" % title, text, re.M)
    return sum(map(int, found)) if found else None


def counted(what, **expected):
    """Holds calls of a folder's report to what is expected: MPI_Name=(calls[, sent[, received]])."""
    rep = report(folder_of(what))
    if not check(what + ": the report can be made", rep is not None):
        return None
    seen = calls(rep)
    wrong = []
    for name, numbers in expected.items():
        row = seen.get(name, {"calls": 0, "bytes_sent": 0, "bytes_received": 0})
        got = (row["calls"], row["bytes_sent"], row["bytes_received"])[:len(numbers)]
        if got != numbers:
            wrong.append("%s %s, expected %s" % (name, got, numbers))
    check(what + ": the counts are exact", not wrong, "; ".join(wrong))
    return rep


def pairs(rep):
    return {(p["src"], p["dst"]): (p["messages"], p["bytes"]) for p in rep["pairs"]} if rep else {}


def ends(what):
    """Who received what, as the analysis has it: lines of corners/ends.c."""
    if not os.path.exists("ends"):
        build("ends", "-std=c11", "-D_GNU_SOURCE", "-I" + TOP, os.path.join(BUILD, "libana.a"), "-lzstd", "-lm", compiler="gcc")
    done = run(["./ends", folder_of(what)])
    return done.out.splitlines() if done.code == 0 else [str(done)]


def constructors():
    try:
        cpp = build("hello", "-Wno-cast-function-type", source="hello.cpp", compiler="mpicxx")
    except (OSError, subprocess.CalledProcessError) as e:
        skip("C++", "mpicxx does not work here: %s" % e)
    else:
        check("C++: goes through to its end", both("C++", 1, cpp).out == "in\nout\n")
        counted("C++", MPI_Init=(1,), MPI_Finalize=(1,))
    build("libearly.so", "-DLIBRARY", "-shared", "-fPIC", source="early.c")
    done = both("early library", 1, build("early", "-L.", "-learly", "-Wl,-rpath," + os.getcwd()))
    check("early library: was told the truth", done.out == "early flag 0\n", done)
    counted("early library", MPI_Init=(1,), MPI_Finalize=(1,))


def file_size():
    program = build("fsize")
    for when in ("before", "after"):
        done = both("file size limit set " + when, 1, [program, when])
        check("file size limit set %s: the program ends well" % when, done.code == 5 and done.out == "fine\n", done)


def refused():
    done = both("null type", 1, build("nulltype"))
    check("null type: an error code, no abort", done.code == 0 and done.out.count(": class 3\n") == 4, done)
    done = both("refused arguments", 1, build("refused"))
    check("refused arguments: to the end", done.code == 0 and done.out.startswith("Send of a null type: class 3\n") and
          len(done.out.splitlines()) == 9, done)


def variadic():
    program = build("pcontrol")
    tool = os.path.abspath(build("pcontrol.so", "-DTOOL", "-shared", "-fPIC", source="pcontrol.c"))
    done = mpirun(1, program, folder_of("pcontrol"), LIBTRACE + ":" + tool)
    check("Pcontrol: a tool gets all arguments", done.code == 0 and "level 1, text, 42\n" in done.err and
          "level -1, other, 43\n" in done.err, done)
    counted("pcontrol", MPI_Pcontrol=(2,))


def threads():
    done = both("threads", 1, build("threads", "-lpthread"))
    if done.code == 77:
        return skip("threads", "this MPI has no MPI_THREAD_MULTIPLE")
    rep = counted("threads", MPI_Isend=(160000, 3200000, 0), MPI_Irecv=(160000, 0, 3200000),
                  MPI_Wait=(320000,))
    check("threads: exact messages", pairs(rep) == {(0, 0): (160000, 3200000)}, pairs(rep))
    unknown = total(dump("threads"), "unknown requests")
    check("threads: every request is known", unknown == 0, unknown)


def handed():
    program = build("handed", "-lpthread")
    for what, command in (("handed", program), ("handed serialized", [program, "serialized"])):
        if both(what, 1, command).code == 77:
            skip(what, "this MPI has no such thread level")
            continue
        rep = counted(what, MPI_Isend=(3000, 24000, 0), MPI_Irecv=(3000, 0, 24000), MPI_Wait=(3000,))
        check(what + ": exact messages", pairs(rep) == {(0, 0): (3000, 24000)}, pairs(rep))
        text = dump(what)
        unknown = total(text, "unknown requests")
        check(what + ": every request is known", unknown == 0, unknown)
        completed = len(re.findall(r"\bcomplete\b", text))
        check(what + ": each is completed once", completed == 6000, completed)


def jumps():
    both("longjmp", 1, build("jump"))
    counted("longjmp", MPI_Allreduce=(3000,), MPI_Barrier=(1500,), MPI_Finalize=(1,))


def callbacks():
    both("callback", 2, build("callback"))
    rep = counted("callback", MPI_Sendrecv=(4, 1616, 1616))
    expected = {(0, 1): (1, 8), (1, 0): (1, 8), (0, 0): (1, 800), (1, 1): (1, 800)}
    check("callback: exact pairs", pairs(rep) == expected, pairs(rep))
    check("callback: each message is received", ends("callback")[-1] == "messages 4, unmatched 0 0", ends("callback"))


def aborts():
    both("abort in a handler", 1, build("abort"))
    text = dump("abort in a handler")
    check("abort in a handler: stands in the file", "state: aborted\n" in text and "abort code: 3\n" in text,
          text[:300])


def rows():
    size = 2 ** 19 - 1
    both("many rows", 1, build("rows"))
    names = ("Bcast", "Allreduce", "Reduce", "Scan", "Gather", "Alltoall")
    counted("many rows", MPI_Sendrecv=(20, size, size), MPI_Isend=(20, size, 0), MPI_Issend=(20, size, 0),
            MPI_Recv=(40, 0, 2 * size), MPI_Irecv=(20, 0, size), MPI_Send=(20, size, 0), MPI_Wait=(60,),
            MPI_Barrier=(1000,), MPI_Iprobe=(7,), MPI_Init=(1,), MPI_Finalize=(1,),
            **{"MPI_" + name: (20,) for name in names})


def late():
    both("late thread", 1, build("late", "-lpthread"), HPCTOP_LIMIT="1M")
    counted("late thread", MPI_Sendrecv=(60000, 210000, 210000), MPI_Allreduce=(100,), MPI_Comm_dup=(1,),
            MPI_Barrier=(50,))
    recycled = total(dump("late thread"), "recycled chunks")
    check("late thread: came when the file was full", recycled, recycled)


def duplicates():
    both("idup", 2, build("idup"))
    rep = counted("idup", MPI_Send=(2, 30, 0), MPI_Recv=(2, 0, 30))
    check("idup: exact pairs", pairs(rep) == {(0, 1): (2, 30)}, pairs(rep))
    names = {}
    for identity, name in re.findall(r"identity=(\w+) .*name=\"(first|second)\"", dump("idup")):
        names.setdefault(name, []).append(identity)
    check("idup: each is one communicator on both ranks", sorted(map(len, names.values())) == [2, 2] and
          all(len(set(v)) == 1 for v in names.values()) and names["first"] != names["second"], names)
    seen = ends("idup")
    check("idup: the messages find each other", seen == [
        "0 sent 10 tag 1 -> 1 MPI_Recv #1", "0 sent 20 tag 2 -> 1 MPI_Recv #0", "messages 2, unmatched 0 0"], seen)


def truncated():
    both("truncated", 2, build("truncated"))
    rep = counted("truncated", MPI_Send=(8, 383, 0), MPI_Recv=(5,), MPI_Sendrecv=(2, 48),
                  MPI_Irecv=(1, 0, 40), MPI_Mprobe=(2, 0, 0), MPI_Mrecv=(1, 0, 40), MPI_Imrecv=(1, 0, 40))
    check("truncated: exact pairs", pairs(rep) == {(0, 1): (8, 402), (1, 0): (2, 29)}, pairs(rep))
    seen = ends("truncated")
    check("truncated: the right ends", seen == [
        "0 sent 64 tag 7 -> 1 MPI_Recv #0", "0 sent 8 tag 7 -> 1 MPI_Recv #1", "0 sent 4 tag 7 -> 1 MPI_Recv #2",
        "0 sent 2 tag 7 -> 1 MPI_Recv #3", "0 sent 100 tag 7 -> 1 MPI_Irecv #0", "0 sent 100 tag 7 -> 1 MPI_Mprobe #0",
        "0 sent 100 tag 7 -> 1 MPI_Mprobe #1", "1 sent 5 tag 7 -> 0 MPI_Recv #0", "messages 10, unmatched 0 0"], seen)


def null_requests():
    both("proc null", 1, build("procnull"))
    rep = counted("proc null", MPI_Isend=(3001, 8, 0), MPI_Recv=(1, 0, 8), MPI_Waitall=(1,))
    check("proc null: exact pairs", pairs(rep) == {(0, 0): (1, 8)}, pairs(rep))
    unknown = total(dump("proc null"), "unknown requests")
    check("proc null: every request is known", unknown == 0, unknown)
    both("nothing", 1, build("nothing"))
    waits = re.findall(r" MPI_Wait( .*)? site=", dump("nothing"))
    check("MPI_Wait for MPI_REQUEST_NULL concerns nobody", len(waits) == 4 and "source=0 rtag=7" in waits[0] and
          not any(waits[1:]), waits)


def folders():
    long = os.path.join(os.getcwd(), *["%03d" % i + "x" * 96 for i in range(9)])[:700].rstrip("/")
    long += "y" * (700 - len(long))
    for name, folder in (("700 characters", long), ("a/b/c", "a/b/c")):
        done = mpirun(2, workload("ring"), folder)
        check("HPCTOP_DIR of %s: the traces lie there" % name, done.code == 0 and len(traces(folder)) == 2, done)
    strays = [f for f in os.listdir(".") if f.startswith("hpctop-")]
    check("HPCTOP_DIR: and nowhere else", not strays, strays)


def weak():
    program = build("weak", compiler="gcc")
    bare, traced = run([program], environment(None, False)), run([program], environment("weak-traces"))
    check("weak names without MPI: runs as without", bare.code == traced.code == 0 and
          bare.out == traced.out == "flag 0 0\n", "%s, without %s" % (traced, bare))
    check("weak names without MPI: no file", not os.path.exists("weak-traces"))


def churn():
    program = build("churn", "-lpthread")
    bare, traced = mpirun(1, program, preload=False), mpirun(1, program, folder_of("churn"))
    grown = [int(r.out) if r.code == 0 else None for r in (bare, traced)]
    check("300 threads: 500 more leave nothing behind", None not in grown and grown[1] <= grown[0] + 8192,
          "grew by %s kB (without, with); %s" % (grown, traced))


constructors()
file_size()
refused()
variadic()
threads()
handed()
jumps()
callbacks()
aborts()
rows()
late()
duplicates()
truncated()
null_requests()
folders()
weak()
churn()
end()
