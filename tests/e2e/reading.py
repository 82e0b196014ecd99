# timeout: 300
"""Instructions of `hpctop report` for each recorded call, by callgrind: they do not depend on the machine's speed.
Two lengths of a trace are read without an index, so that start and end cancel.  "before" and "after a window": the
calls that `--from --to` leaves out; reading ends where nothing more concerns the window.  The bounds are a twentieth
above the count when they were set, with gcc 12 on x86-64; a change that needs more says why here."""
import json
import os
import platform
import re
import shutil

from common import BUILD, HPCTOP, check, end, environment, run, skip_all, together

ONE, FOUR = "--ranks 16 --hosts 1", "--ranks 200 --hosts 4"
BOUNDS = {  # name: (instructions a call, options of the made job, options of report, rounds of both lengths)
    "one host": (2010, ONE, lambda rounds: [], 1000, 2000),
    "four hosts": (3440, FOUR, lambda rounds: [], 40, 80),
    "before a window": (640, ONE, lambda rounds: ["--from", "%g" % (rounds / 100 - 0.2)], 1000, 2000),
    "after a window": (1, ONE, lambda rounds: ["--from", "1", "--to", "1.1"], 1000, 2000),
}

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("the bounds are those of x86-64")
HERE = environment(preload=False, HPCTOP_INDEX="no")


def cost(folder, options, window, rounds):
    """(instructions, calls of the whole run) of reading a made job of so many rounds."""
    run([os.path.join(BUILD, "tests/many/many"), *options.split(), "--rounds", str(rounds), folder])
    report = [HPCTOP, "report", "--json", "-j", "1", folder]
    done = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *report, *window(rounds)], HERE, 280)
    found = re.search(r"Collected : (\d+)", done.err)
    calls = sum(row["calls"] for row in json.loads(run(report, HERE).out)["ranks"])
    return int(found.group(1)) if found and done.code == 0 else 0, calls


def judge(name):
    bound, options, window, *rounds = BOUNDS[name]
    few, more = (cost(name.replace(" ", "-") + "-" + str(n), options, window, n) for n in rounds)
    check(name + ": more rounds are more calls", more[1] > few[1] > 0, (few, more))
    if more[1] > few[1]:
        each = (more[0] - few[0]) / (more[1] - few[1])
        print("%s: %.0f instructions a call, at most %d" % (name, each, bound))
        check(name, (bound / 2 if bound > 1 else -1) < each <= bound, "%.0f, bound %d" % (each, bound))


together([lambda name=name: judge(name) for name in BOUNDS])
end()
