# timeout: 180
"""Our unwinder beside libunwind at random moments of a real program, and both beside the program's own account.

unwind/moments.c holds its threads and takes each stack twice, from the same registers, memory and tables: by our reader of
tables, and by libunwind as HPCTOP_UNWIND=libunwind uses it.  They work in recursion, leaves, PLT stubs, libc, signal handlers and C++ exceptions; or they wait in a
system call, and then only stack pointer and pc are known, as of a rank that hangs.  Prints the figures of docs/stacks.md."""
import ctypes.util
import os
import subprocess
import sys

from common import TOP, check, end, run, skip_all

CC, CXX = os.environ.get("CC", "gcc").split(), os.environ.get("CXX", "g++").split()
HERE = os.path.join(TOP, "tests/e2e/unwind")
MOMENTS = 250  # of each kind in each build
BUILDS = {"without frame pointers": ["-O2", "-fomit-frame-pointer"], "with frame pointers": ["-O1", "-fno-omit-frame-pointer"]}
OURS = ["unwind/unwind.c", "unwind/cfi.c", "unwind/expression.c", "unwind/libunwind.c", "base/dlsym.c", "base/elf.c", "stacks/registers.c", "base/procfs.c", "load/modules.c",
        "base/safe_read.c", "../trace/writer/quiet.c"]


def compile_with(flags):
    """./moments, and ./libwork.so with these flags."""
    warn, hooks = ["-Wall", "-Wextra", "-g"], ["-fPIC", "-fno-inline", "-finstrument-functions"]
    subprocess.run(CC + ["-std=c11", "-D_GNU_SOURCE", "-c", "-o", "work.o", HERE + "/work.c"] + warn + hooks + flags, check=True)
    subprocess.run(CXX + ["-c", "-o", "throw.o", HERE + "/throw.cpp"] + warn + hooks + flags, check=True)
    subprocess.run(CXX + ["-shared", "-o", "libwork.so", "work.o", "throw.o", "-lm", "-lpthread"], check=True)
    subprocess.run(CC + ["-std=c11", "-D_GNU_SOURCE", "-O2", "-I" + TOP, "-include", "trace/writer/quiet.h", "-o", "moments", HERE + "/moments.c", HERE + "/hold.c"] +
                   [os.path.join(TOP, "interpose", f) for f in OURS] + warn +
                   ["-L.", "-lwork", "-Wl,-rpath,.", "-Wl,-z,lazy", "-lpthread", "-ldl"], check=True)


def figures(text):
    """{kind: {name: number}}"""
    found = {}
    for line in text.splitlines():
        kind, name, number = line.split()
        found.setdefault(kind, {})[name] = int(number)
    return found


def hold_to(what, n):
    """Where nothing was guessed, ours is never worse than libunwind; a guess may err, which is why it is marked, but rarely.

    Both may miss frames together: in the last instructions of libgcc's exception handling its tables are wrong."""
    ours, theirs, guess = ({k: n[who + k] for k in ("frames", "whole", "missed", "wrong")}
                           for who in ("ours.", "libunwind.", "ours_guessed."))
    moments = n["moments"]
    check(what + ": %d moments" % MOMENTS, moments == MOMENTS, n)
    check(what + ": no wrong frame, none missing", ours["wrong"] == 0 and ours["missed"] <= theirs["missed"], n)
    check(what + ": as many frames as libunwind, as many whole stacks",
          ours["frames"] >= theirs["frames"] - theirs["wrong"] and ours["whole"] >= theirs["whole"], n)
    check(what + ": libunwind finds the same, where nothing is guessed", theirs["wrong"] == 0 and
          abs(theirs["frames"] - ours["frames"]) <= 0.01 * ours["frames"], n)
    check(what + ": up to the thread's first function", ours["whole"] + guess["whole"] >= 0.98 * moments, n)
    check(what + ": of guessed stacks, too, nearly every frame is right",
          guess["wrong"] + guess["missed"] <= 0.02 * (ours["frames"] + guess["frames"]), n)
    print("%s: %d moments, %d frames that the program confirms, %d stacks guessed" % (what, moments, n["confirmed"], n["guessed"]))
    for who in ("ours", "libunwind"):
        total = {k: n["%s.%s" % (who, k)] + n["%s_guessed.%s" % (who, k)] for k in ("frames", "whole", "missed", "wrong", "ns")}
        print("  %-9s %6d frames, %4d whole stacks, %5d frames missed, %3d wrong, %7.1f us a stack" %
              (who, total["frames"], total["whole"], total["missed"], total["wrong"], total["ns"] / 1000 / max(moments, 1)))


if not ctypes.util.find_library("unwind-" + os.uname().machine):
    skip_all("libunwind is not installed (tests/setup.sh check)")
for name, flags in BUILDS.items():
    compile_with(flags)
    done = run(["./moments", str(MOMENTS), str(len(name))])
    sys.stdout.write(done.err)
    if check(name + ": the program ends well", done.code == 0, done):
        for kind, numbers in figures(done.out).items():
            hold_to("%s, %s" % (kind, name), numbers)
end()
