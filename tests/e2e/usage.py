# timeout: 120
"""hpctop's manners: exit codes, one clear line on stderr, plain text into a pipe, damaged files read as far as whole."""
import os
import re
import shutil

from common import HPCTOP, check, end, hpctop, mpirun, report, run, traces, workload

ESCAPE = "\x1b"


def one_line(text):
    return len(text.strip().splitlines()) == 1


def wrong_usage():
    for name, arguments in {
        "unknown subcommand option": ["report", "--no-such-option", "trace"],
        "unknown option": ["--no-such-option"],
        "report without a folder": ["report", "--json"],
        "dump without a folder": ["dump"],
        "verdict without a folder": ["verdict", "--json"],
        "help on nothing there is": ["help", "nothing"],
        "a value that is missing": ["verdict", "--hang"],
        "verdict with a word for seconds": ["verdict", "--hang", "soon", "trace"],
    }.items():
        r = hpctop(*arguments, cwd="empty")
        check("64 for: " + name, r.code == 64 and r.err.strip() and not r.out, r)


def unreadable():
    os.makedirs("nothing", exist_ok=True)
    with open("text.hpctop", "w") as f:
        f.write("this is not a trace\n" * 1000)
    open("zero.hpctop", "w").close()
    for command in ("report", "dump", "verdict"):
        for name in ("no-such-folder", "nothing", "text.hpctop", "zero.hpctop"):
            r = hpctop(command, name)
            check("2 for: %s %s" % (command, name), r.code == 2 and one_line(r.err) and not r.out, r)
            check("%s %s: the message names it" % (command, name), os.path.basename(name) in r.err, r.err)


def no_argument():
    """The newest trace folder here; one line where there is none."""
    os.makedirs("several", exist_ok=True)
    for i, name in enumerate(("hpctop-1", "hpctop-2", "hpctop-3")):
        shutil.copytree("trace", os.path.join("several", name))
        for file in traces(os.path.join("several", name)):
            os.utime(file, (1000000 + i % 2, 1000000 + i % 2))  # the second is the newest
    r = hpctop(cwd="several")
    check("no argument: the newest folder here", r.code == 0 and r.out.startswith("hpctop  2 "), r)
    r = hpctop(cwd="empty")
    check("no argument and no trace here", r.code == 2 and one_line(r.err) and "record" in r.err and not r.out, r)
    r = hpctop("hpctop-1", "no-such-folder", cwd="several")
    check("one of two folders is missing: told", r.code == 0 and "no-such-folder: there is no such folder" in r.out, r)


def pipe():
    r = hpctop("trace")
    check("without a terminal hpctop prints the report", r.code == 0 and "MPI_Sendrecv" in r.out, r)
    check("without a terminal: no escapes", ESCAPE not in r.out + r.err, repr(r.out[:200]))
    r = run([HPCTOP, "report", "trace"])
    check("report: a page", r.code == 0 and 5 < len(r.out.splitlines()) < 120 and ESCAPE not in r.out, r)
    check("report: lines fit", max(len(line) for line in r.out.splitlines()) <= 120, r.out)
    r = hpctop("dump", "trace")
    check("dump: every record", r.code == 0 and r.out.count("MPI_Sendrecv") >= 6000 * 2, r.out[:300])
    r = run(["bash", "-c", "'%s' dump trace | head -n 1" % HPCTOP])
    check("a closed pipe is no trouble", r.code == 0 and r.err == "", r)
    r = run(["bash", "-c", "'%s' report trace > /dev/full" % HPCTOP])
    check("a full disk for the output is an error", r.code not in (0, None) and r.code < 128, r)


def help_texts():
    for arguments in (["help"], ["--help"], ["-h"], ["help", "environment"], ["help", "keys"], ["help", "views"], ["help", "man"],
                      ["help", "report"], ["report", "--help"], ["record", "-h"], ["--version"]):
        r = hpctop(*arguments)
        check("0 for: " + " ".join(arguments), r.code == 0 and r.out.strip() and ESCAPE not in r.out, r)
    check("COMMAND --help is help COMMAND", hpctop("verdict", "--help").out == hpctop("help", "verdict").out)
    text = hpctop("help", "environment").out
    for name in ("HPCTOP_DIR", "HPCTOP_LIMIT", "HPCTOP_DISABLE", "HPCTOP_VERBOSE"):
        check("help environment tells " + name, name in text, text)


def truncated():
    source = traces("trace")[0]
    size = os.path.getsize(source)
    whole = hpctop("dump", "trace").out.count("MPI_Sendrecv")
    for share in (0.99, 0.6, 0.3, 0.05):
        shutil.rmtree("cut", ignore_errors=True)
        shutil.copytree("trace", "cut")
        with open(os.path.join("cut", os.path.basename(source)), "r+b") as f:
            f.truncate(int(size * share))
        for command in (["report", "cut"], ["report", "--json", "cut"], ["dump", "cut"]):
            r = hpctop(*command)
            check("%s of a file cut to %d %%" % (" ".join(command[:-1]), share * 100), r.code in (0, 2), r)
            if command[0] == "dump" and r.code == 0:
                seen = r.out.count("MPI_Sendrecv")
                check("dump of a file cut to %d %%: the rest is read" % (share * 100), whole / 2 - 1 <= seen <= whole,
                      "%d of %d" % (seen, whole))
    shutil.rmtree("cut", ignore_errors=True)
    shutil.copytree("trace", "cut")
    os.remove(os.path.join("cut", os.path.basename(source)))
    r = hpctop("report", "cut")
    check("a missing rank is told", r.code == 0 and re.search(r"1 of 2|missing|without", r.out + r.err), r)


os.mkdir("empty")
done = mpirun(2, workload("many_sizes"), "trace")
if check("a trace to look at", done.code == 0 and len(traces("trace")) == 2, done):
    wrong_usage()
    unreadable()
    no_argument()
    pipe()
    help_texts()
    truncated()
end()
