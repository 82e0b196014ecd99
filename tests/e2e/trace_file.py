# timeout: 240
"""What others do to the trace file: the program closes its descriptor and has that number for a file of its own; somebody
cuts or removes the file, or plants one.  The program's results and its life are never touched, and what is left says so."""
import os
import shutil
import stat

from common import HPCTOP, LIBTRACE, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces
from trace_file_programs import BAD_DISK, FAULTS, TAKES, build

# What is left of the file (nothing, the head, no live page, a live page), and when the program installs its own handler.
CUTS = [("0", "none"), ("0", "before"), ("0", "after"), ("4096", "after"), ("300000", "none"), ("900000", "before"),
        ("removed", "none")]


def said(folder):
    return " ".join(hpctop("report", "--all", folder).out.split())


def taken():
    """A stale close of the trace's descriptor; then the program's result has that number."""
    build("takes", TAKES)
    for how in ("reused", "closed"):
        done = mpirun(2, ["./takes", how], how)
        check("%s descriptor: the program runs" % how, done.code == 0 and not done.err, done)
        sizes = [os.path.getsize("result.%s.%d" % (how, r)) for r in range(2)]
        check("%s descriptor: results are whole" % how, sizes == [8 << 20] * 2, sizes)
        check("%s descriptor: the report says so" % how, "closed the trace file" in said(how), said(how))
        rep = report(how)
        if check("%s descriptor: there is a report" % how, rep is not None):
            check("%s descriptor: counters stay exact" % how, calls(rep)["MPI_Allreduce"]["calls"] == 2 * 400000,
                  calls(rep)["MPI_Allreduce"])


def cut():
    """The file is cut under the recorder: to nothing, behind its head, in its last chunk; or removed."""
    build("faults", FAULTS)
    for size, handler in CUTS:
        name = "cut-%s-%s" % (size, handler)
        done = mpirun(2, ["./faults", "cut", size, handler], name)
        lives = check("cut to %s, own handler %s: the program lives" % (size, handler),
                      done.code == 0 and done.out.count("alive") == 2 and not done.err, done)
        if lives and size != "removed":
            check("cut to %s: what is left says so" % size,
                  said(name).count("the trace file was cut while it was written") >= 2, said(name))


def own_faults():
    """A SIGBUS of the program's own reaches its handler, or ends it, as it would without us."""
    for handler in ("before", "after", "both", "restored", "reset", "python", "sigset", "interrupt"):
        plain = mpirun(1, ["./faults", "own", "0", handler], preload=False)
        done = mpirun(1, ["./faults", "own", "0", handler], "own-" + handler)
        check("own SIGBUS, handler %s: as without us" % handler,
              (plain.code, plain.out) == (done.code, done.out) and "mine" in plain.out, "%s, without %s" % (done, plain))
    for handler in ("none", "default"):
        plain = mpirun(1, ["./faults", "own", "0", handler], preload=False)
        done = mpirun(1, ["./faults", "own", "0", handler], "own-" + handler)
        check("own SIGBUS, handler %s: the same end" % handler, plain.code == done.code, "%s, without %s" % (done, plain))


def full_without_a_word():
    """A file system that reserves nothing says only when pages are written back that its disk is full."""
    build("bad_disk.so", BAD_DISK, "-shared", "-fPIC")
    done = mpirun(2, ["./faults", "wait", "0", "none"], "bad-disk", preload="./bad_disk.so:" + LIBTRACE)
    check("write-back fails: the program lives", done.code == 0 and done.out.count("alive") == 2, done)
    check("write-back fails: the report says so", "could not be written back" in said("bad-disk"), said("bad-disk"))


def planted():
    """Files are the user's alone; a folder of somebody else's, or that anyone may write to, is not used."""
    done = mpirun(1, ["./faults", "plain"], "modes")
    modes = [stat.S_IMODE(os.stat(f).st_mode) for f in traces("modes")]
    check("files are 0600", done.code == 0 and modes == [0o600], modes)
    for who, mode in (("all", 0o777), ("a group", 0o770)):
        os.mkdir(who)
        os.chmod(who, mode)
        done = mpirun(1, ["./faults", "plain"], who, HPCTOP_VERBOSE="1")
        check("a folder that %s may write to is refused" % who, done.code == 0 and not os.listdir(who) and
              done.err.count("\n") == 1 and "others may write" in done.err, done)
    before = os.umask(0o002)  # as where each user has a group of his own
    for folder, command in (("made/by/libtrace", []), ("made/by/record", [HPCTOP, "record", "-o", "made/by/record", "--"])):
        done = run(command + ["./faults", "plain"], environment(folder, preload=not command))
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (folder, "made/by", "made")]
        check("a folder that %s makes is the user's alone" % os.path.basename(folder),
              done.code == 0 and len(traces(folder)) == 1 and modes == [0o700, 0o755, 0o755], (modes, done))
    os.umask(before)
    os.mkdir("ours", 0o755)
    done = mpirun(1, ["./faults", "plain"], "ours")
    check("a folder of ours is used", done.code == 0 and len(traces("ours")) == 1, done)
    if os.geteuid() != 0:
        skip("a folder of another user", "needs root to make one")
        return
    for folder, user in (("theirs", 1234), ("mine", 4321), ("tmp", 4321)):
        os.mkdir(folder, 0o755)
        os.chown(folder, user, user)
    os.chmod(".", 0o755)
    shutil.copy(LIBTRACE, "readable.so")  # the sources may lie where that user sees nothing
    os.chmod("readable.so", 0o755)
    for folder, used in (("theirs", False), ("mine", True)):
        env = environment(os.path.abspath(folder), HPCTOP_VERBOSE="1", TMPDIR=os.path.abspath("tmp"))
        env["LD_PRELOAD"] = os.path.abspath("readable.so")
        for name in [n for n in env if n.endswith("backing_directory")]:  # the test's own, which is not that user's
            del env[name]
        done = run(["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", os.path.abspath("faults"), "plain"], env, cwd="/tmp")
        if "setpriv" in done.err:
            skip("a folder of another user", done.err)
            return
        check("a folder of %s user is %s" % (("another", "refused"), ("this", "used"))[used],
              done.code == 0 and len(traces(folder)) == used and ("another user" in done.err) == (not used), done)


taken()
cut()
own_faults()
full_without_a_word()
planted()
end()
