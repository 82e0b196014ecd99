# timeout: 400
"""Twice as much costs the recorder twice as much: requests, threads and objects of all kinds, one after the other or
many at a time.  Counted are instructions, by callgrind: those of libtrace.so, and of the C library below it."""
import collections
import glob
import os
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, check, end, environment, run, skip_all, together

HERE = os.path.join(TOP, "tests/e2e/doubling")
MOST = 2.3  # times as many instructions for twice as much
REQUESTS = ["shared_forward", "shared_reverse", "shared_scattered", "shared_apart", "shared_copied", "shared_left",
            "receives_forward", "receives_reverse", "receives_scattered", "persistent", "null"]
THREADS = ["elsewhere", "elsewhere_copied", "threads_joined", "threads_alive",
           "threads_many"]
OBJECTS = [kind + how for kind in ("comms", "types", "windows", "files", "groups", "infos") for how in ("_one", "_alive")]


def costs(path):
    """Of a file of callgrind: what was counted, and the instructions of the recorder."""
    names, title, total = {}, None, 0
    ours = called = False  # the function is the recorder's; the next line is a call of it into the C library
    with open(path) as f:
        for line in f:
            found = re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line)
            if found:
                name = names.setdefault(found.group(2), found.group(3) or "")
                if found.group(1) == "ob":
                    ours = "libtrace" in name
                    below = ""
                else:
                    below = name
            elif line.startswith("desc: Trigger:"):
                title = line.split("Client Request: ")[-1].strip()
            elif line.startswith("calls="):
                called = True
            elif line[:1].isdigit() or line[:1] in "+-*":
                if ours and (not called or "libc." in below):
                    total += int(line.split()[1])
                called = False
                below = ""
    return title, total


def measure(name, modes, **more):
    """The instructions of each mode, by how much of it was done."""
    seen = collections.defaultdict(dict)
    out = os.path.abspath("out." + name)
    done = run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--max-threads=2000", "--callgrind-out-file=" + out,
                os.path.abspath("doubling")] + modes, environment("trace." + name, HPCTOP_STACKS="0", **more), 380)
    for path in glob.glob(out + ".*"):
        title, total = costs(path)
        mode, times = title.split()
        seen[mode][int(times)] = total
    check(name + ": runs", done.code == 0 and "done" in done.out, done)
    return seen


def grows(name, modes, **more):
    seen = measure(name, modes, **more)
    for mode in modes:
        one, two, four = (seen[mode].get(n, 0) for n in (1, 2, 4))
        ratio = max(two / one, four / two) if one and two else 0
        print("%s, %s: %d %d %d, %.2f" % (name, mode, one, two, four, ratio), flush=True)
        check("%s, %s" % (name, mode), 0 < ratio <= MOST, "%.2f times as much for twice as much: %d %d %d" % (ratio, one, two, four))


if not shutil.which("valgrind") or not os.path.exists("/usr/include/valgrind/callgrind.h"):
    skip_all("no valgrind here")
subprocess.run(["mpicc", "-O1", "-Wall", "-o", "doubling", os.path.join(HERE, "doubling.c"), "-lpthread"], check=True)
together([lambda: grows("one thread", REQUESTS, ONE="1"),
          lambda: grows("threads may overlap", REQUESTS + THREADS),
          lambda: grows("objects", OBJECTS, ONE="1")], 2)
end()
