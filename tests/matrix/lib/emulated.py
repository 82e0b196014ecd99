"""Another processor: libtrace.so and the unit tests compile with the cross compiler, need no newer glibc and no more libraries
than on x86-64, and the unit tests pass under qemu-user.  So do workloads with Debian's MPICH for it: its own libraries, two
emulated ranks, started by the mpiexec of this machine; the trace is read here.  Call paths are libunwind's; stacks of ranks that
poll or crash are right, whoever unwinds.  Open MPI's mpirun and Debian's mpi4py for that processor do the same."""
import glob
import os
import re
import shutil
import signal

import common
from common import TOP, calls, check, end, hpctop, pids, report, run, skip, skip_all, start, stop, wait_for
from results import record
from root import unpack
from truths import HYDRA_CODES, OPENMPI_CODES, hold
from walks import SOURCE, compare

# name of the processor in compilers: in emulators, in Debian, share of paths that are whole, environment of its ranks
PROCESSORS = {"aarch64": ("aarch64", "arm64", 0.85, {}),
              "powerpc64le": ("ppc64le", "ppc64el", 0.95, {"UCX_TLS": "posix,self"})}
PACKAGES = ["libc6-dev", "libncurses-dev", "libcjson-dev", "libdw-dev", "libxxhash-dev", "libzstd-dev", "libmpich-dev", "libunwind-dev",
            "libopenmpi-dev", "python3-mpi4py"]
PROGRAMS = ["ring", "p2p_blocking", "p2p_nonblocking", "p2p_persistent", "p2p_mprobe", "collectives_blocking",
            "collectives_nonblocking", "collectives_vw", "neighborhood", "communicators", "threads_multiple", "many_sizes"]
OPENMPI_PROGRAMS = ["ring", "p2p_nonblocking", "collectives_blocking"]
SCRIPT = """from mpi4py import MPI
for i in range(7):
    MPI.COMM_WORLD.Barrier()
"""
# Unit tests that an emulator cannot run, and why.
ELSEWHERE = {"children": "/proc shows system calls by this machine's numbers", "procfs": "/proc shows system calls by this machine's numbers",
             "slots": "it builds libraries with this machine's compiler", "torn": "no ptrace of emulated processes",
             "memory": "the emulator's own memory counts", "memory_ranks": "the emulator's own memory counts",
             "pages": "the emulator's page faults count"}
PATHS = 200  # calls by each of two threads of each build


class Processor:
    def __init__(self, gnu):
        self.name, self.debian, self.least_whole, self.env = PROCESSORS[gnu]
        self.compiler, self.readelf, self.qemu = gnu + "-linux-gnu-gcc", gnu + "-linux-gnu-readelf", "qemu-" + self.name
        for needed in (self.compiler, self.readelf, self.qemu):
            if not shutil.which(needed):
                skip_all(needed + " is missing (tests/setup.sh matrix)")
        self.root = unpack("bookworm/" + self.debian, self.debian, PACKAGES)
        self.build = "build/" + self.name
        self.library = os.path.join(TOP, self.build, "libtrace.so")
        self.libraries = os.path.join(self.root, "usr/lib/%s-linux-gnu" % gnu)
        self.mpi_h = os.path.join(self.root, "usr/include/%s-linux-gnu/mpich" % gnu)

    def emulated(self, folder=None, preload=True, **env):
        recorded = dict(LD_PRELOAD=self.library, **({"HPCTOP_DIR": os.path.abspath(folder)} if folder else {}), **env) if preload else {}
        return [self.qemu, "-L", self.root] + [word for k, v in recorded.items() for word in ("-E", "%s=%s" % (k, v))]

    def mpiexec(self, ranks, command, folder=None, preload=True, **env):
        return run(["mpiexec.hydra", "-n", str(ranks)] + self.emulated(folder, preload) + command,
                   dict(os.environ, **self.env, **env), timeout=900)

    def mpirun(self, ranks, command, folder=None, preload=True, **env):
        return run(["mpirun", "-n", str(ranks), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"] + self.emulated(folder, preload) + command,
                   dict(os.environ, **env), timeout=900)

    def compile(self, name, source, *flags, mpi="mpich"):
        of = {"mpich": ["-I%s/mpich/include" % self.libraries, "-I" + self.mpi_h, "-lmpich"],
              "openmpi": ["-I%s/openmpi/include" % self.libraries, "-L%s/openmpi/lib" % self.libraries, "-lmpi"]}[mpi]
        built = run([self.compiler, "--sysroot=" + self.root, "-std=gnu11", "-w", "-O1", "-g", *flags, "-o", name, os.path.join(TOP, source),
                     "-L" + self.libraries, "-Wl,--unresolved-symbols=ignore-in-shared-libs", *of, "-lpthread", "-lm", "-Wl,--as-needed",
                     "-lunwind"])
        return built.code == 0 or check("builds " + name, False, built)

    def products(self):
        made = run(["make", "-C", TOP, "-j2", "CC=%s --sysroot=%s" % (self.compiler, self.root), "BUILD=" + self.build,
                    "LIBTRACE=" + self.library, "HPCTOP=%s/hpctop" % self.build, "all", "unit"], timeout=1200)
        if not check("libtrace.so, hpctop and the unit tests compile", made.code == 0, made):
            end()
        dynamic = run([self.readelf, "-dW", self.library]).out
        needed = sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        check("DT_NEEDED is libc and libdl", needed == ["libc.so.6", "libdl.so.2"], needed)
        versions = re.findall(r"GLIBC_([0-9.]+)", run([self.readelf, "-VW", self.library]).out)
        newest = max((tuple(map(int, v.split("."))) for v in versions), default=None)
        check("glibc 2.17 is enough", newest and newest <= (2, 17), newest)

    def units(self):
        sources = glob.glob(os.path.join(TOP, "tests/unit/**/*.c"), recursive=True)
        programs = {os.path.basename(s)[:-2]: os.path.join(TOP, self.build, os.path.relpath(s, TOP)[:-2]) for s in sources}
        for name, program in sorted(programs.items()):
            if name in ELSEWHERE:
                print("skip unit %s: %s" % (name, ELSEWHERE[name]))
                continue
            done = run([self.qemu, "-L", self.root, program], dict(os.environ, LC_ALL="C.UTF-8"), timeout=300)
            if done.code != 77:
                check("unit " + name, done.code == 0, done)
            else:
                print("skip unit %s: %s" % (name, (done.out + done.err).strip().split("\n")[-1]))
        bare, preloaded = (run(self.emulated(preload=with_us) + [programs["encode"]]) for with_us in (False, True))
        check("it loads", (bare.code, bare.out, bare.err) == (preloaded.code, preloaded.out, preloaded.err), preloaded)

    def paths(self):
        for level in ("-O0", "-O2"):
            if self.compile("graph", os.path.relpath(SOURCE, TOP), level):
                compare("paths, " + level, self.mpiexec(1, ["./graph", str(PATHS), "1"], "paths" + level), "paths" + level, 2 * PATHS,
                        self.least_whole)

    def stacks(self):
        """Of a rank that crashes and of ranks that poll."""
        if not (self.compile("crash", "workloads/crash.c") and self.compile("where_blocked", "workloads/where_blocked.c")):
            return
        for unwind in ("own", "libunwind"):
            folder = "crash-" + unwind
            done = run(self.emulated(folder, HPCTOP_UNWIND=unwind) + ["./crash", "segv"], dict(os.environ, **self.env))
            dump = hpctop("dump", folder).out
            frames = re.findall(r"^  native\t(\w+)", dump.partition("crashed")[2].partition("\nstack")[0], re.M)
            check("%s: the stack of a crash" % unwind, done.code != 0 and frames[:2] == ["crash_here", "main"], (done, frames))
            check("%s: the file says so" % unwind, ("unwind: libunwind" in dump) == (unwind == "libunwind"), dump[:2000])
        command = self.emulated("poll", HPCTOP_HANG="1") + ["./where_blocked", "test"]
        job = start(2, command, preload=False, launcher=("mpiexec.hydra",), **self.env)
        shown = wait_for(lambda: (lambda out: out if "in spin_in_test" in out and "in wait_for_zero" in out else None)(
            hpctop("stacks", "poll").out))
        check("the stacks of ranks that poll", shown, hpctop("stacks", "poll"))
        for pid in pids("poll"):
            os.kill(pid, signal.SIGKILL)
        stop(job)

    def workloads(self):
        held, mpi = 0, None
        for name in PROGRAMS:
            if not self.compile(name, "workloads/%s.c" % name):
                continue
            both = hold(name, [], 2, self.mpiexec, os.path.abspath, HYDRA_CODES, brief=True)
            if both:
                held, mpi = held + 1, both[1]["job"]["mpi"]
        check("the trace names MPICH", (mpi or "").startswith("MPICH"), mpi)
        return held, mpi


    def open_mpi(self):
        os.mkdir("openmpi")
        os.chdir("openmpi")
        for name in OPENMPI_PROGRAMS:
            program = name + "-openmpi"
            if self.compile(program, "workloads/%s.c" % name, mpi="openmpi"):
                both = hold(name, [], 2, self.mpirun, lambda name: os.path.abspath(name + "-openmpi"), OPENMPI_CODES, brief=True)
                check(name + ": the trace names Open MPI", both and both[1]["job"]["mpi"].startswith("Open MPI"), both and both[1]["job"])
        with open("script.py", "w") as f:
            f.write(SCRIPT)
        done = self.mpirun(2, [os.path.join(self.root, "usr/bin/python3"), "script.py"], "mpi4py")
        rep = report("mpi4py") if check("mpi4py runs", done.code == 0, done) else None
        check("mpi4py: every barrier, with its line", rep and calls(rep)["MPI_Barrier"]["calls"] == 2 * 7 and
              "script.py:3" in hpctop("dump", "mpi4py").out, rep and calls(rep))


def hold_processor(gnu):
    processor = Processor(gnu)
    processor.products()
    processor.units()
    if not shutil.which("mpiexec.hydra"):
        skip("workloads", "mpiexec.hydra is missing (tests/setup.sh check)")
        end()
    before = common.failures()
    held, mpi = processor.workloads()
    processor.paths()
    processor.stacks()
    processor.open_mpi()
    record("matrix", mpi or "mpich", "C, " + processor.name, "-", "mpiexec", "bookworm",
           "passed" if common.failures() == before else "failed", "%d programs" % held)
    end()
