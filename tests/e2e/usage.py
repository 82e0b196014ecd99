# timeout: 120
"""hpctop's manners: exit codes, one clear line on stderr, plain text into a pipe, damaged files read as far as whole."""
import csv
import json
import os
import re
import shutil
import subprocess
import unicodedata

from common import HPCTOP, check, end, hpctop, mpirun, report, run, start, stop, traces, wait_for, workload

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
        "check without a folder": ["check", "--json"],
        "demo into two folders": ["demo", "a", "b"],
        "diff of one folder": ["diff", "trace"],
        "diff with a word for percent": ["diff", "--fail-over", "much", "trace", "trace"],
        "diff with half a part": ["diff", "trace@3", "trace"],
        "help on nothing there is": ["help", "nothing"],
        "a value that is missing": ["verdict", "--hang"],
        "verdict with a word for seconds": ["verdict", "--hang", "soon", "trace"],
    }.items():
        r = hpctop(*arguments, cwd="empty")
        check("64 for: " + name, r.code == 64 and r.err.strip() and not r.out, r)
    r = hpctop("verdict", "--json=1", "trace", cwd="empty")
    check("64 for: a value that is not taken", r.code == 64 and "--json takes no value" in r.err, r)
    r = hpctop("verdict", "--hang", cwd="empty")
    check("a value that is missing is asked for", "--hang needs a value" in r.err, r)


def statuses():
    """Help and manual page name each exit status, in the same words, and 1 with all that ends so."""
    said = hpctop("help").out.split("Exit status", 1)[-1]
    rows = dict(re.findall(r"^  (\d+) +(.+)$", said, re.M))
    page = re.findall(r"^\.TP\n\.B (\d+)\n(.*)$", hpctop("help", "man").out.split(".SH EXIT STATUS")[-1].replace("\\-", "-"), re.M)
    check("exit statuses: help and manual page say the same", set(rows) == {"0", "1", "2", "3", "64"} and dict(page) == rows, (rows, page))
    check("exit status 1: who ends so is named", all(word in rows.get("1", "") for word in ("verdict", "check", "watch", "diff", "doctor")), rows)


def unreadable():
    os.makedirs("nothing", exist_ok=True)
    with open("text.hpctop", "w") as f:
        f.write("this is not a trace\n" * 1000)
    open("zero.hpctop", "w").close()
    for command in ("report", "dump", "verdict", "check"):
        for name in ("no-such-folder", "nothing", "text.hpctop", "zero.hpctop"):
            r = hpctop(command, name)
            check("2 for: %s %s" % (command, name), r.code == 2 and one_line(r.err) and not r.out, r)
            if command == "report":
                r = hpctop("diff", "trace", name)
                check("2 for: diff trace %s" % name, r.code == 2 and one_line(r.err) and not r.out, r)
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
    check("no argument and no trace here", r.code == 2 and "hpctop record" in r.err.splitlines()[0] and not r.out, r)
    r = hpctop("hpctop-1", "no-such-folder", cwd="several")
    check("one of two folders is missing: told", r.code == 0 and "no-such-folder: there is no such folder" in r.out, r)


def demo():
    """The recorded job that hpctop brings along."""
    os.makedirs("temporary", exist_ok=True)
    r = run([HPCTOP, "demo"], dict(os.environ, TMPDIR=os.path.abspath("temporary")))
    said = " ".join(r.out.split())
    check("demo: the answer of its job", r.code == 0 and "rank 2 is late: spends 10 ms in read rim" in said, r)
    check("demo: nothing stays", os.listdir("temporary") == [], os.listdir("temporary"))
    r = hpctop("demo", "sample")
    check("demo DIR: a trace as others are", r.code == 0 and r.out == "hpctop sample\n" and len(traces("sample")) == 4 and
          hpctop("verdict", "sample").code == 1, r)
    r = hpctop("report", "sample")
    check("report: the answer in 60 lines, the culprit first", r.code == 0 and len(r.out.splitlines()) <= 60 and
          all(word in r.out for word in ("rank 2 is late", "WHAT TO MEND", "rank 2 comes last for 3 ranks: ", "records lost: 0")) and
          re.search(r"^RANKS.*\n.*\n +2 ", r.out, re.M), r)
    whole = hpctop("report", "--all", "sample")
    check("report --all: all tables", whole.code == 0 and "\nWHERE\n" in whole.out and len(whole.out) > 1.3 * len(r.out), whole)
    plain = hpctop("--no-color", "report", "sample")
    check("an option of the screens before a command", plain.code == 0 and plain.out == r.out, plain)
    r = hpctop("report", "--table", "ranks", "sample")
    check("report --table: one table, and no more", r.code == 0 and r.out.startswith("\nRANKS ") and len(r.out.splitlines()) == 7, r)
    r = hpctop("report", "--table", "rank", "sample")
    check("report --table: a wrong name gets the right ones", r.code == 64 and "ranks" in r.err and "places" in r.err, r)
    r = hpctop("report", "--table", "calls", "--csv", "sample")
    rows, calls = list(csv.DictReader(r.out.splitlines())), json.loads(hpctop("report", "--json", "sample").out)["calls"]
    check("report --csv: the rows and numbers of --json", [row["name"] for row in rows] == [call["name"] for call in calls] and
          all(float(row["time_s"]) == call["time_s"] for row, call in zip(rows, calls)), r)
    r = hpctop("report", "--table", "prices", "--csv", "sample")
    check("report --csv: prices, without sentences", r.out.startswith("region,kind,") and "WHAT TO MEND" not in r.out and
          "segment" in r.out, r)
    for wrong in (["--csv"], ["--csv", "--table", "iterations"]):
        r = hpctop("report", *wrong, "sample")
        check(f"report {wrong}: refused", r.code == 64 and one_line(r.err) and "table" in r.err, r)
    r = hpctop("show", "--json", "sample")
    brief = json.loads(r.out)
    check("show --json: at most 4 kB with the answer", r.code == 0 and len(r.out) <= 4000 and "rank 2 is late" in brief["answer"] and
          brief["verdict"] == "slow" and brief["prices"][0]["saves_s"] > 0.5, r)
    same = hpctop("report", "--json", "--brief", "sample")
    check("report --json --brief: the same", same.out == r.out, same)
    alone = hpctop("report", "--brief", "sample")
    check("report --brief without --json is refused", alone.code == 64 and "--json" in alone.err, alone)
    for command in brief["next"]:
        r = hpctop(*command.split()[1:])
        check(command + ": evidence", r.code in (0, 1) and len(r.out.splitlines()) > 1 and not r.err, r)
    r = hpctop("show", "sample", "price-99")
    check("show: an id that is not there", r.code == 2 and one_line(r.err), r)
    run([os.path.join(os.environ["BUILD"], "tests/many/many"), "--ranks", "1000", "--hosts", "4", "--late-rank", "748", "crowd"])
    r = hpctop("report", "crowd")
    check("report of 1,000 ranks", r.code == 0 and 30 < len(r.out.splitlines()) <= 60 and "rank 748 is late" in r.out and
          re.search(r"^RANKS.*\n.*\n +748 ", r.out, re.M) and re.search(r"rank 748 comes last for 999 ranks: ", r.out), r)
    r = hpctop("report", "--table", "ranks", "crowd")
    check("report --table of 1,000 ranks: all of them", len(r.out.splitlines()) == 1003, r.out[:500])
    r = hpctop("demo", "sample")
    check("demo DIR: a folder that is there stays", r.code == 2 and one_line(r.err), r)


def pipe():
    r = hpctop("trace")
    check("without a terminal hpctop prints the report", r.code == 0 and "MPI_Sendrecv" in r.out, r)
    check("without a terminal: no escapes", ESCAPE not in r.out + r.err, repr(r.out[:200]))
    r = run([HPCTOP, "report", "--all", "trace"])
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
    lines = hpctop("help").out.split("\nExit status")[0].splitlines()
    check("help: whole, in 80 columns", max(len(line) for line in lines) <= 80 and "[-j N] DIR.." in " ".join(" ".join(lines).split()) and
          not any(line.endswith(" ") for line in lines), lines)
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
    r = hpctop("report", "--all", "cut")
    check("a missing rank is told", r.code == 0 and "no trace file here of rank 0 of 2" in r.out, r)


def text_alone(name, command, terminal=False, **env):
    """What a command prints is UTF-8 (on a terminal of another locale ASCII) without any control character."""
    ours, theirs = os.openpty()
    to = theirs if terminal else subprocess.PIPE
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=to, stderr=to, env=dict(os.environ, **env))
    os.close(theirs)
    out = b""
    while terminal:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        out += part
    os.close(ours)
    if not terminal:
        out = b"".join(p.communicate())
    p.wait()
    bad = []
    try:
        bad = [c for c in out.decode("ascii" if terminal else "utf-8") if unicodedata.category(c)[0] == "C" and c not in "\n\t\r"]
    except UnicodeDecodeError as e:
        bad = [str(e)]
    check("nothing but text: " + name, not bad and out, "%s in %s" % (bad[:5], out[:2000]))
    return out


def hostile_text():
    """Names of folders and arguments that are escapes to a terminal, or no UTF-8."""
    folder = b"esc\x1b]0;owned\x07\x1b[31m\xc2\x9b31m\x9b\xff\xe2\x80\xae"
    r = mpirun(1, [workload("many_sizes"), b"caf\xe9", b"\xc2\x9b31m\x9b31m\x1b[31m", "Grüße".encode()], "text")
    if not check("a job with such arguments", r.code == 0 and traces("text"), r):
        return
    os.rename("text", folder)
    for arguments in (["report"], ["report", "--json"], ["verdict"], ["verdict", "--json"], ["dump"], ["stacks", "--no-ask"],
                      ["horovod", "--json"]):
        out = text_alone(" ".join(arguments), [HPCTOP] + arguments + [folder], LC_ALL="C.UTF-8")
        if "--json" in arguments:
            try:
                told = json.loads(out.decode())
                check(" ".join(arguments) + ": letters stay as they are", arguments[0] != "report" or "Grüße" in told["job"]["command"], told)
            except ValueError as e:
                check("JSON: " + " ".join(arguments), False, e)
    text_alone("no such folder", [HPCTOP, "report", "--all", folder + b"/no"], LC_ALL="C.UTF-8")
    text_alone("no such option", [HPCTOP, "report", "--all", b"--" + folder], LC_ALL="C.UTF-8")
    text_alone("record --dry-run", [HPCTOP, "record", "-n", "--", "./" + os.fsdecode(folder)], LC_ALL="C.UTF-8")
    text_alone("report on a terminal of another locale", [HPCTOP, "report", "--all", folder], terminal=True, LC_ALL="C")


def asks_safely():
    """What lies where requests for stacks are written is not what it should be."""
    job = start(2, [workload("where_blocked"), "read"], "live")
    if not check("a job that runs", wait_for(lambda: traces("live")), "no trace"):
        return
    with open("other", "w") as f:
        f.write("of somebody")
    os.utime("other", (1000000, 1000000))
    request = "live/stacks.request"
    for name, make in (("a pipe", os.mkfifo), ("a link", lambda path: os.symlink("../other", path)),
                       ("another file", lambda path: os.link("other", path))):
        make(request)
        r = hpctop("stacks", "live", timeout=30)
        check("stacks.request is %s: told, not touched" % name, "cannot ask for stacks" in r.err and os.stat("other").st_mtime == 1000000, r)
        os.remove(request)
    stop(job)


os.mkdir("empty")
done = mpirun(2, workload("many_sizes"), "trace")
if check("a trace to look at", done.code == 0 and len(traces("trace")) == 2, done):
    wrong_usage()
    statuses()
    unreadable()
    no_argument()
    demo()
    pipe()
    help_texts()
    truncated()
hostile_text()
asks_safely()
end()
