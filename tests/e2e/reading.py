# timeout: 300
"""What reading a recorded call costs `hpctop report`, in instructions: by callgrind they do not depend on the machine's speed.
Two lengths of a trace are read without an index, so that start and end cancel.  The bounds are a twentieth above what was
counted when they were set, with gcc 12 on x86-64; a change that needs more says why here."""
import json
import os
import platform
import re
import shutil

from common import BUILD, HPCTOP, check, end, environment, run, skip_all, together

BOUNDS = {"one host": (2010, "--ranks 16 --hosts 1", 1000, 2000), "four hosts": (3440, "--ranks 200 --hosts 4", 40, 80)}

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("the bounds are those of x86-64")
HERE = environment(preload=False, HPCTOP_INDEX="no")


def cost(options, rounds):
    """(instructions, calls) of reading a made job of so many rounds."""
    folder = "made-" + "-".join(options.split()[1::2] + [str(rounds)])
    run([os.path.join(BUILD, "tests/many/many"), *options.split(), "--rounds", str(rounds), folder])
    done = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", HPCTOP, "report", "--json", "-j", "1", folder], HERE, 280)
    found = re.search(r"Collected : (\d+)", done.err)
    calls = sum(row["calls"] for row in json.loads(done.out)["calls"]) if done.code == 0 else 0
    return int(found.group(1)) if found else 0, calls


def judge(name):
    bound, options, short, long = BOUNDS[name]
    few, more = cost(options, short), cost(options, long)
    check(name + ": more rounds are more calls", more[1] > few[1] > 0, (few, more))
    if more[1] > few[1]:
        each = (more[0] - few[0]) / (more[1] - few[1])
        print("%s: %.0f instructions a call, at most %d" % (name, each, bound))
        check(name, bound / 2 < each <= bound, "%.0f, bound %d" % (each, bound))


together([lambda name=name: judge(name) for name in BOUNDS])
end()
