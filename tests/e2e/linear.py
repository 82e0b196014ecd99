# timeout: 600
"""Instructions and memory of the commands grow as the number of ranks does, in jobs that ended, hang or lost a node: a
square shows at a few hundred ranks already, counted by callgrind.  Squares are found that cost 10,000 ranks seven times
as much."""
import os
import platform
import re
import shutil
import subprocess
import time

from common import BUILD, HPCTOP, check, end, environment, run, skip_all, together

MANY = os.path.join(BUILD, "tests/many/many")
SIZES, LARGE = (150, 300, 600), (1500, 3000, 6000)
JOBS = {"ended": [], "hang": ["--hang", "140", "--fault", "3"], "dead": ["--dead", "3", "--fault", "3"]}
COMMANDS = (("ended", "report --all"), ("ended", "report --html"), ("ended", "check"), ("ended", "metrics"),
            ("hang", "verdict"), ("hang", "report --json"), ("hang", "check"), ("dead", "verdict"))
MEMORY_OF = (("ended", "check"), ("hang", "verdict"), ("hang", "report --json"), ("hang", "check"), ("dead", "verdict"))
# From the second size to the third twice as much may be added as from the first to the second, and a share for sorting
# or for rooms that double; a square would add four times as much.
BOUND, BOUND_OF_MEMORY = 2.5, 3.0
FRESH_S = 70  # a job that hangs is looked at again while its last heartbeat is younger

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("counted on x86-64 only")
HERE = environment(preload=False, HPCTOP_INDEX="no")


def folder(job, ranks):
    return "%s-%d" % (job, ranks)


def instructions(command):
    done = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command], HERE, 280)
    found = re.search(r"Collected : (\d+)", done.err)
    return int(found.group(1)) if found else 0


def memory(command):
    """Largest resident set, in kB."""
    job = subprocess.Popen(command, env=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.wait4(job.pid, 0)[2].ru_maxrss


def judge(job, command, what, measure, sizes, bound):
    few, more, most = (measure([HPCTOP, *command.split(), folder(job, ranks)]) for ranks in sizes)
    times = (most - more) / max(more - few, 1)
    print("%s, %s: %d, %d and %d %s, %.2f times as many added" % (command, job, few, more, most, what, times))
    check("%s of %s, %s" % (what, command, job), 0 < few <= more <= most and times <= bound, (few, more, most))


def make(job, ranks):
    made = run([MANY, "--ranks", str(ranks), "--hosts", "6", "--rounds", "4", *JOBS[job], folder(job, ranks)])
    check("made %s" % folder(job, ranks), made.code == 0, made)


together([lambda j=job, n=ranks: make(j, n) for job in JOBS for ranks in SIZES + LARGE])
made = time.monotonic()
for group in [[c for c in COMMANDS if c[0] == "ended"], [c for c in COMMANDS if c[0] != "ended"]]:
    together([lambda j=job, c=command: judge(j, c, "instructions", instructions, SIZES, BOUND) for job, command in group])
    time.sleep(max(made + FRESH_S - time.monotonic(), 0))
for job, command in MEMORY_OF:
    judge(job, command, "kB", memory, LARGE, BOUND_OF_MEMORY)
end()
