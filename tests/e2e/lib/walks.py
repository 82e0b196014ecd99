"""Recorded call paths beside what libunwind told the program itself (tests/e2e/paths/graph.c)."""
import os
import re

from common import TOP, check, hpctop

SOURCE = os.path.join(TOP, "tests/e2e/paths/graph.c")
LEAST_WHOLE = 0.95  # of the paths; the others are shorter


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


def compare(title, done, folder, least, least_whole=LEAST_WHOLE):
    """Holds the paths in `folder` to what the program printed, more than `least` calls: a path is equal, or shorter and
    marked so; it is never wrong."""
    truth = [line.split()[1:] for line in done.out.splitlines() if line.startswith("callers")]
    names, seen = recorded(folder)
    if not check(title + ": every call has a path", done.code == 0 and len(seen) == len(truth) > least,
                 "exit %s, %d of %d: %s" % (done.code, len(seen), len(truth), done.err)):
        return
    wrong = whole = 0
    for (sites, cut), callers in zip(seen, truth):
        expected = [names.get(caller, caller) for caller in callers]
        wrong += sites != expected[:len(sites)] or (len(sites) < len(expected) and not cut)
        whole += sites == expected
    check(title + ": no path is wrong", wrong == 0, "%d of %d" % (wrong, len(seen)))
    check(title + ": nearly all are whole", whole >= least_whole * len(seen), "%d of %d" % (whole, len(seen)))
