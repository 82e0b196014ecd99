# timeout: 180
# waits
"""The Horovod screen on jobs of the stand-in: marks of each rank while it hangs and from the files, who submitted a tensor
and when, in wide and narrow, UTF-8 and ASCII; and one line where there is no Horovod."""
import re

from common import check, end, environment, hpctop, mpirun, start, wait_for, workload
from hvd import HOLD, T, look
from verdicts import kill_group

STANDIN = workload("hvd_standin")


def screens(folder, keys, size, locale="C.UTF-8"):
    with open("keys", "w") as f:
        f.write("".join("key %s\nscreen\n" % k for k in keys))
    shown = hpctop("--script", "keys", "--size", size, folder, env=environment(preload=False, LC_ALL=locale))
    return shown.out.split("---- " + size + "\n")[1:] or [shown.out + shown.err] * len(keys)


def row(screen, name=T):
    """What stands before the tensor's name: waits, missing, marks."""
    found = re.search(r"^[> ]\s*(\S+)\s+(\S+)\s+(\S+)\s+%s" % re.escape(name), screen, re.M)
    return found.groups() if found else (None, None, None)


def until(folder, marks, what):
    shown = wait_for(lambda: (lambda s: s if row(s)[2] == marks else None)(screens(folder, ["9"], "80x24")[0]), 40)
    check(what + ": the marks are " + marks, shown, screens(folder, ["9"], "80x24")[0])


def missing():
    job = start(4, [STANDIN, "-f", "missing", "-r", "2", "-c", "4000"] + HOLD, "missing")
    until("missing", "**.*", "missing")
    wide, deep = screens("missing", ["9", "Enter"], "200x50")
    check("missing: one rank is waited for", row(wide)[1] == "1", wide)
    check("missing: the rank that misses comes first", re.search(r"LAST IN.*\n +2 .* 4 ", wide), wide)
    check("missing: who has not submitted it", re.search(r"^ +2 \. missing", deep, re.M), deep)
    for r in (0, 1, 3):
        check("missing: when rank %d did" % r, re.search(r"^ +%d \* submitted .* ago, \+\S+, cycle \d+" % r, deep, re.M), deep)
    narrow = screens("missing", ["9"], "60x20", "C")[0]
    check("missing: the same in 60 columns of ASCII", row(narrow)[1:] == ("1", "**.*") and narrow.isascii(), narrow)
    check("missing: the key bar has it", "9Hvd" in wide and "9Hvd" in narrow, narrow)

    def judged(hang):
        return wait_for(lambda: (lambda x: x if x and x["verdict"]["culprits"] == [2] else None)(look("missing", hang)), 40)

    check("missing: judged while it hangs", judged(4), look("missing", 4))
    kill_group(job)
    check("missing: judged afterwards", judged(30), look("missing", 30))
    why = screens("missing", ["8", "Enter", "Enter"], "80x24")[2]
    check("missing: from the verdict to the tensors, from the files", row(why)[1:] == ("1", "**.*"), why)
    found = screens("missing", ["9", "\\ l a y e r 1 Enter", "\\ Esc", "/ l a y e r 2 Enter"], "80x24")
    check("missing: filter", row(found[1], "allreduce.layer1.weight")[0] and not row(found[1])[0], found[1])
    check("missing: search", re.search(r"^>.*allreduce.layer2.weight", found[3], re.M), found[3])


def inside():
    job = start(3, [STANDIN, "-f", "inside", "-c", "4000"] + HOLD, "inside")
    until("inside", ">=>", "inside the operation")
    kill_group(job)


def healthy():
    job = mpirun(3, [STANDIN, "-s", "30"], "healthy")
    shown, deep = screens("healthy", ["9", "Enter"], "80x24")
    check("healthy: ends, and all is done", job.code == 0 and row(shown)[2] == "+++" and "data by MPI" in shown, shown)
    check("healthy: when it was submitted last", len(re.findall(r"\d \+ done .* ago, \+\S+, cycle \d+", deep)) == 3, deep)
    mpirun(2, [workload("hello")], "hello")
    shown = screens("hello", ["9"], "80x24")[0]
    check("none: one line says so", shown.rstrip().split("\n")[-1].startswith("no Horovod loop seen"), shown)
    check("none: no key in the bar", "9Hvd" not in screens("hello", ["1"], "80x24")[0])


missing()
inside()
healthy()
end()
