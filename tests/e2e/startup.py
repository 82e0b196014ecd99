# timeout: 300
"""What libtrace.so adds to the start of an MPI program, in instructions of the program's own thread, by callgrind: of one
that only starts and ends MPI, and of one that loads modules as an interpreter does.  The bounds are a tenth above what was
counted when they were set, with gcc 12 and Open MPI 4.1, or gcc 14 and 5.0, on x86-64; our own threads work as time passes, and are not counted."""
import glob
import os
import platform
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, check, end, environment, run, skip_all

HERE = os.path.join(TOP, "tests/e2e/startup")
# From the first instruction to the last, without modules; Open MPI 5 brings other objects.
START = 5600000 if re.search(r"Open MPI\) 4\.", run(["mpirun", "--version"]).out) else 6400000
MODULES, MODULE = (100, 400), 15000  # in the call of dlsym after a module was loaded, however many there are
TRIES = 2  # MPI and the loader sometimes need more, by themselves

if not shutil.which("valgrind"):
    skip_all("no valgrind here")
if platform.machine() != "x86_64":
    skip_all("the bounds are those of x86-64")
subprocess.run(["mpicc", "-O1", "-o", "loads", os.path.join(HERE, "loads.c"), "-ldl"], check=True)
subprocess.run(["cc", "-O1", "-w", "-fPIC", "-shared", "-o", "module.so", os.path.join(HERE, "module.c")], check=True)
for i in range(max(MODULES)):
    shutil.copy("module.so", "module%d.so" % i)


def collect(count, preload, options):
    """Instructions of the main thread."""
    done = run(["valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=seen.%p", *options, "./loads", str(count)],
               environment("trace", preload))
    found = [re.search(r"^totals: (\d+)$", open(path).read(), re.M) for path in glob.glob("seen.*-01")]
    for path in glob.glob("seen.*"):
        os.remove(path)
    shutil.rmtree("trace", ignore_errors=True)
    if done.code != 0 or len(found) != 1 or not found[0]:
        check("%d modules %s libtrace.so" % (count, "with" if preload else "without"), False, "%s, %d files" % (done, len(found)))
        end()
    return int(found[0].group(1))


def check_added(title, bound, count, *options):
    """Compares the instructions added, by the least of some tries each, with their bound."""
    bare, traced = (min(collect(count, preload, options) for _ in range(TRIES)) for preload in (False, LIBTRACE))
    print("%s: %d instructions, %d added" % (title, bare, traced - bare))
    check(title, traced - bare <= bound, "%d, bound %d" % (traced - bare, bound))


check_added("start", START, 0)
for count in MODULES:
    check_added("%d modules" % count, count * MODULE, count, "--toggle-collect=find_start")
end()
