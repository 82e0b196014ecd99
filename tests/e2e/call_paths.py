# timeout: 200
"""The call path of every call against libunwind's: random walks through functions with frames of all kinds, compiled with
and without frame pointers and at each level, from the main thread, another thread and a callback of libc.  A path is
equal, or shorter and marked so; it is never wrong."""
import os
import subprocess

from common import LIBTRACE, end, environment, run, skip_all
from walks import SOURCE, compare

CALLS = 1000  # by each of two threads of each build
BUILDS = [("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-fno-omit-frame-pointer"), ("-Os",)]
# A glibc older than 2.35 lacks _dl_find_object: one that knows nothing stands for it.
OLD_GLIBC = "int _dl_find_object(void *at, void *found) { (void)at, (void)found; return -1; }"

if subprocess.run(["sh", "-c", "echo '#include <libunwind.h>' | gcc -E -"], capture_output=True, check=False).returncode:
    skip_all("no libunwind here")


def build(name, flags):
    subprocess.run(["mpicc", *flags, "-o", name, SOURCE, "-lunwind", "-lpthread"],
                   check=True)


with open("old.c", "w") as f:
    f.write(OLD_GLIBC + "\n")
subprocess.run(["gcc", "-shared", "-fPIC", "-o", "old.so", "old.c"], check=True)
for number, (flags, before) in enumerate([(flags, "") for flags in BUILDS] + [(BUILDS[2], os.path.abspath("old.so") + ":")]):
    title = " ".join(flags) + (", an old glibc" if before else "")
    build("graph", flags)
    folder = "trace%d" % number
    done = run(["./graph", str(CALLS), str(number + 1)], environment(folder, before + LIBTRACE), 100)
    compare(title, done, folder, 2 * CALLS)
end()
