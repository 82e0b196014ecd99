# timeout: 120
"""What the recorder does with MPI's objects (buffers, communicators, requests, datatypes, errors) that could hurt the
program or put wrong words into the trace.  Each of guest_objects/*.c says what is right."""
import os
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip

HERE = os.path.join(TOP, "tests/e2e/guest_objects")


def build(name, *flags, out=None, compiler="mpicc"):
    """Compiles guest_objects/NAME.c to ./OUT."""
    out = out or name
    source = os.path.join(HERE, name + ".c")
    subprocess.run([compiler, "-O1", "-Wall", "-o", out, source, "-lpthread"] + list(flags), check=True)
    return "./" + out


def dump(folder):
    done = hpctop("dump", folder)
    return done.out if done.code == 0 else "hpctop dump: %s" % done


def device():
    """Buffers of collectives are read only by reads that may fail."""
    program = build("device")
    build("device", "-DTOOL", "-shared", "-fPIC", out="device.so")
    bare = mpirun(2, ["env", "LD_PRELOAD=./device.so", program], preload=False)
    traced = mpirun(2, ["env", "LD_PRELOAD=%s:./device.so" % LIBTRACE, program], "device-trace", preload=False)
    check("memory of a device: without", bare.code == 0 and bare.out == "done\n" * 2, bare)
    if not check("memory of a device: runs as without", (traced.code, traced.out) == (0, bare.out), traced):
        return
    seen = calls(report("device-trace"))
    got = {name: seen.get(name, {}).get("calls") for name in ("MPI_Allreduce", "MPI_Gatherv", "MPI_Bcast")}
    check("memory of a device: all is counted", got == {"MPI_Allreduce": 12, "MPI_Gatherv": 6, "MPI_Bcast": 12}, got)


device()
end()
