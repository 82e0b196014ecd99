# timeout: 3000
"""aarch64: libtrace.so and the unit tests compile with the cross compiler, need no newer glibc and no more libraries than
on x86-64, and the unit tests pass under qemu-user.  So do workloads with Debian's MPICH for aarch64: its own libraries, two
emulated ranks, started by the mpiexec of this machine; the trace is read here."""
import glob
import os
import re
import shutil

import common
from common import TOP, check, end, run, skip, skip_all
from results import record
from root import unpack
from truths import HYDRA_CODES, hold

COMPILER, READELF, QEMU = "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-readelf", "qemu-aarch64"
for needed in (COMPILER, READELF, QEMU):
    if not shutil.which(needed):
        skip_all(needed + " is missing (tests/setup.sh matrix)")
root = unpack("bookworm/arm64", "arm64",
              ["libc6-dev", "libncurses-dev", "libcjson-dev", "libdw-dev", "libxxhash-dev", "libmpich-dev"])
build = "build/aarch64"
library = os.path.join(TOP, build, "libtrace.so")
made = run(["make", "-C", TOP, "-j2", "CC=%s --sysroot=%s" % (COMPILER, root), "BUILD=" + build,
            "LIBTRACE=%s/libtrace.so" % build, "HPCTOP=%s/hpctop" % build, "all", "unit"], timeout=1200)
if not check("libtrace.so, hpctop and the unit tests compile", made.code == 0, made):
    end()

dynamic = run([READELF, "-dW", library]).out
needed = sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
check("DT_NEEDED is libc and libdl", needed == ["libc.so.6", "libdl.so.2"], needed)
versions = re.findall(r"GLIBC_([0-9.]+)", run([READELF, "-VW", library]).out)
newest = max((tuple(map(int, v.split("."))) for v in versions), default=None)
check("glibc 2.17 is enough", newest and newest <= (2, 17), newest)

sources = glob.glob(os.path.join(TOP, "tests/unit/**/*.c"), recursive=True)
programs = {os.path.basename(s)[:-2]: os.path.join(TOP, build, os.path.relpath(s, TOP)[:-2]) for s in sources}
for name, program in sorted(programs.items()):
    done = run([QEMU, "-L", root, program], dict(os.environ, LC_ALL="C.UTF-8"), timeout=300)
    if done.code != 77:
        check("unit " + name, done.code == 0, done)
    else:
        print("skip unit %s: %s" % (name, (done.out + done.err).strip().split("\n")[-1]))
program = programs["encode"]
bare, preloaded = (run([QEMU, "-L", root, "-E", "LD_PRELOAD=" + what, program]) for what in ("", library))
check("it loads", (bare.code, bare.out, bare.err) == (preloaded.code, preloaded.out, preloaded.err), preloaded)

LIBRARIES = os.path.join(root, "usr/lib/aarch64-linux-gnu")
PROGRAMS = ["ring", "p2p_blocking", "p2p_nonblocking", "p2p_persistent", "p2p_mprobe", "collectives_blocking",
            "collectives_nonblocking", "collectives_vw", "neighborhood", "communicators", "threads_multiple", "many_sizes"]


def mpiexec(ranks, command, folder=None, preload=True, **env):
    recorded = ["-E", "LD_PRELOAD=" + library, "-E", "HPCTOP_DIR=" + os.path.abspath(folder)] if preload else []
    emulated = [QEMU, "-L", root] + recorded
    return run(["mpiexec.hydra", "-n", str(ranks)] + emulated + command, dict(os.environ, **env), timeout=900)


if not shutil.which("mpiexec.hydra"):
    skip("workloads", "mpiexec.hydra is missing (tests/setup.sh check)")
    end()
before, held, mpi = common.failures(), 0, None
for name in PROGRAMS:
    built = run([COMPILER, "--sysroot=" + root, "-std=gnu11", "-w", "-O1", "-g", "-I%s/mpich/include" % LIBRARIES,
                 "-I%s/usr/include/aarch64-linux-gnu/mpich" % root, "-o", name, os.path.join(TOP, "workloads", name + ".c"),
                 "-L" + LIBRARIES, "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-lmpich", "-lpthread", "-lm"])
    if built.code:
        check("builds " + name, False, built)
        continue
    both = hold(name, [], 2, mpiexec, os.path.abspath, HYDRA_CODES, brief=True)
    if both:
        held, mpi = held + 1, both[1]["job"]["mpi"]
check("the trace names MPICH", (mpi or "").startswith("MPICH"), mpi)
record("matrix", mpi or "mpich", "C, aarch64", "-", "mpiexec", "bookworm", "passed" if common.failures() == before else "failed",
       "%d programs" % held)
end()
