# timeout: 200
"""The call path of every call against libunwind's: random walks through functions with frames of all kinds, compiled with
and without frame pointers and at each level, from the main thread, another thread and a callback of libc.  A path is
equal, or shorter and marked so; it is never wrong."""
import os
import re
import subprocess

from common import LIBTRACE, TOP, check, end, environment, hpctop, run, skip_all

CALLS = 1000  # by each of two threads of each build
BUILDS = [("-O0",), ("-O1",), ("-O2",), ("-O3",), ("-O2", "-fno-omit-frame-pointer"), ("-Os",)]
# A glibc older than 2.35 lacks _dl_find_object: one that knows nothing stands for it.
OLD_GLIBC = "int _dl_find_object(void *at, void *found) { (void)at, (void)found; return -1; }"
LEAST_WHOLE = 0.95  # of the paths; the others are shorter

if subprocess.run(["sh", "-c", "echo '#include <libunwind.h>' | gcc -E -"], capture_output=True, check=False).returncode:
    skip_all("no libunwind here")


def build(name, flags):
    subprocess.run(["mpicc", *flags, "-o", name, os.path.join(TOP, "tests/e2e/paths/graph.c"), "-lunwind", "-lpthread"],
                   check=True)


def recorded(folder):
    """The sites above the first of each MPI_Comm_rank, and whether the path is marked as shortened; by thread and time."""
    out = hpctop("dump", folder).out
    names = {at: place if name == "-" else name
             for at, name, place in re.findall(r"^site (0x[0-9a-f]+): (\S+) (\S+)", out, re.M)}
    calls = {}
    for line in out.splitlines():
        found = re.match(r"(\d+) .*MPI_Comm_rank .*?path=(\S+)", line)
        if found:
            sites = found.group(2).split("<")
            cut = sites[-1].startswith(("..", "?"))
            calls.setdefault(found.group(1), []).append((sites[1:-1] if cut else sites[1:], cut))
    return names, [call for thread in sorted(calls) for call in calls[thread]]


with open("old.c", "w") as f:
    f.write(OLD_GLIBC + "\n")
subprocess.run(["gcc", "-shared", "-fPIC", "-o", "old.so", "old.c"], check=True)
for number, (flags, before) in enumerate([(flags, "") for flags in BUILDS] + [(BUILDS[2], os.path.abspath("old.so") + ":")]):
    title = " ".join(flags) + (", an old glibc" if before else "")
    build("graph", flags)
    folder = "trace%d" % number
    done = run(["./graph", str(CALLS), str(number + 1)], environment(folder, before + LIBTRACE), 100)
    truth = [line.split()[1:] for line in done.out.splitlines() if line.startswith("callers")]
    names, seen = recorded(folder)
    if not check(title + ": every call has a path", done.code == 0 and len(seen) == len(truth) > 2 * CALLS,
                 "exit %s, %d of %d: %s" % (done.code, len(seen), len(truth), done.err)):
        continue
    wrong = whole = 0
    for (sites, cut), callers in zip(seen, truth):
        expected = [names.get(caller, caller) for caller in callers]
        wrong += sites != expected[:len(sites)] or (len(sites) < len(expected) and not cut)
        whole += sites == expected
    check(title + ": no path is wrong", wrong == 0, "%d of %d" % (wrong, len(seen)))
    check(title + ": nearly all are whole", whole >= LEAST_WHOLE * len(seen), "%d of %d" % (whole, len(seen)))
end()
