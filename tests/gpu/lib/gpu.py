"""The GPU that tests/gpu runs on, or the double in its place (HPCTOP_GPU=double; with ",alone" as
if there were no MPI): where CUDA, NCCL and CUPTI are, how their
programs are compiled and started.  Everything else in tests/gpu is the same for both.

Programs are compiled with gcc against the headers that are here, by libcudart alone: no nvcc.  Where headers or gcc are
missing, those of `make gpu-kit` are taken, which are compiled against the double's headers (names, types and values are the
same).  Without mpirun the ranks are processes of launch.py, and the programs take their few MPI calls from
workloads/nccl/alone/mpi.h."""
import ctypes
import glob
import os
import shutil
import sys

import common
import truths
import verdicts
from common import BUILD, TOP, skip_all

DOUBLE = os.path.join(BUILD, "gpu_double")
WORDS = os.environ.get("HPCTOP_GPU", "").split(",")
IS_DOUBLE = "double" in WORDS
HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = [sys.executable, os.path.join(HERE, "launch.py")]
# Two ranks on one GPU: each seems to be on a host of its own (NCCL_HOSTID, by launch.py) and talks by sockets.
ONE_GPU = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
           "NCCL_MAX_NCHANNELS": "1", "NCCL_IB_DISABLE": "1"}


def site_packages():
    """Where wheels of NVIDIA's may lie, of this Python and of others on the path."""
    found = [os.path.join(p, "nvidia") for p in sys.path if p.endswith("-packages")]
    for name in ("python3", "python"):
        python = shutil.which(name)
        if python:
            said = common.run([python, "-c", "import sys; print(chr(10).join(sys.path))"])
            found += [os.path.join(p, "nvidia") for p in said.out.split()]
    return [p for p in dict.fromkeys(found) if os.path.isdir(p)]


def folders(kind):
    """Candidates for lib or include, the likeliest first."""
    roots = [os.environ[n] for n in ("CUDA_HOME", "CUDA_PATH", "NCCL_HOME") if os.environ.get(n)]
    roots += ["/usr/local/cuda"] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    names = {"lib": ("lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"), "include": ("include", "extras/CUPTI/include")}[kind]
    found = [os.path.join(r, n) for r in roots for n in names]
    for wheels in site_packages():
        found += sorted(glob.glob(os.path.join(wheels, "*", kind)), reverse=True)
    found += {"lib": os.environ.get("LD_LIBRARY_PATH", "").split(":") + ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
              "/usr/lib64", "/usr/local/lib"], "include": ["/usr/include", "/usr/local/include"]}[kind]
    return [f for f in dict.fromkeys(found) if f and os.path.isdir(f)]


def find(kind, *patterns):
    """The first file that matches, in the order of patterns, then of folders."""
    for pattern in patterns:
        for folder in folders(kind):
            for path in sorted(glob.glob(os.path.join(folder, pattern)), reverse=True):
                return path
    return None


class Machine:
    def __init__(self):
        self.mpi = bool(shutil.which("mpirun")) and "alone" not in WORDS
        self.why_not = None
        self.alias = None
        if IS_DOUBLE:
            self.cudart, self.nccl, self.cupti = (os.path.join(DOUBLE, n) for n in ("libcudart.so.13", "libnccl.so.2", "libcupti.so.13"))
            self.nvml = os.path.join(DOUBLE, "libnvidia-ml.so.1")
            self.includes = [os.path.join(TOP, "tests/gpu_double/include")]
            self.name, self.devices = "the GPU double", 1
            self.path = DOUBLE
            return
        self.cudart = find("lib", "libcudart.so.13*", "libcudart.so.12*")
        self.nccl, self.cupti = find("lib", "libnccl.so.2"), find("lib", "libcupti.so.1[0-9]*")
        self.nvml = "libnvidia-ml.so.1"
        headers = [find("include", n) for n in ("cuda_runtime.h", "nccl.h", "cupti.h")]
        self.includes = [os.path.dirname(h) for h in headers if h and not h.startswith("/usr/include")]
        if not all(headers[:2]):
            self.includes = [os.path.join(TOP, "tests/gpu_double/include")]
        if self.cudart:
            os.path.isdir("alias") or os.mkdir("alias")
            # Programs of the kit ask for 13; the calls that they make are the same since 11.
            if not os.path.basename(self.cudart).startswith("libcudart.so.13"):
                os.path.exists("alias/libcudart.so.13") or os.symlink(self.cudart, "alias/libcudart.so.13")
            self.alias = os.path.abspath("alias")
        self.path = ":".join(dict.fromkeys([os.path.dirname(p) for p in (self.nccl, self.cudart, self.cupti) if p]
                                           + ([self.alias] if self.alias else []) + os.environ.get("LD_LIBRARY_PATH", "").split(":")))
        self.name, self.devices = "no GPU", 0
        self.look()

    def look(self):
        """Asks the driver, in this process: names the device, or says why there is none."""
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError:
            self.why_not = "no CUDA driver is here (libcuda.so.1)"
            return
        count, device, name, version = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(128), ctypes.c_int()
        error = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
        if error or not count.value:
            self.why_not = "the CUDA driver finds no GPU (error %d)" % error
            return
        driver.cuDeviceGet(ctypes.byref(device), 0)
        driver.cuDeviceGetName(name, 128, device)
        driver.cuDriverGetVersion(ctypes.byref(version))
        self.devices = count.value
        self.name = "%s, driver of CUDA %d.%d" % (name.value.decode(), version.value // 1000, version.value % 1000 // 10)
        if not self.cudart:
            self.why_not = "no libcudart.so.13 or .12 was found"
        elif not self.nccl:
            self.why_not = "no libnccl.so.2 was found (CUDA_HOME, NCCL_HOME, wheels of nvidia-nccl)"

    def environment(self, **more):
        env = {"LD_LIBRARY_PATH": self.path}
        if not IS_DOUBLE:
            env.update(ONE_GPU)
        env.update(more)
        return env


machine = Machine()


def need_gpu():
    if machine.why_not:
        skip_all(machine.why_not)


def program(name, libraries=("nccl", "cudart"), mpi=None):
    """The path of a program of workloads/nccl or tests/gpu/programs, compiled for this machine; None: it cannot be."""
    mpi = machine.mpi and bool(shutil.which("mpicc")) if mpi is None else mpi
    variant = "%s-%s" % ("double" if IS_DOUBLE else "cuda", "mpi" if mpi else "alone")
    out = os.path.join(BUILD, "gpu", variant, name)
    sources = [os.path.join(TOP, f, name + ".c") for f in ("workloads/nccl", "tests/gpu/programs")]
    source = next(s for s in sources if os.path.exists(s))
    if os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source):
        return out
    compiler = "mpicc" if mpi else shutil.which("gcc") or shutil.which("cc")
    if compiler:
        os.makedirs(os.path.dirname(out), exist_ok=True)
        # The linker takes libraries by the names that they have here.
        where = {"nccl": machine.nccl, "cudart": machine.cudart, "cupti": machine.cupti}
        flags = [] if mpi else ["-DWITHOUT_MPI", "-I" + os.path.join(TOP, "workloads/nccl/alone")]
        flags += ["-I" + os.path.join(TOP, "workloads"), "-I" + os.path.join(TOP, "workloads/nccl")]
        flags += ["-isystem" + i for i in machine.includes]
        done = common.run([compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g"] + flags + ["-o", out, source]
                          + [where[l] for l in libraries if where[l]] + ["-Wl,--allow-shlib-undefined", "-ldl", "-lm", "-lpthread"], timeout=120)
        if done.code == 0:
            return out
        print("%s: %s" % (name, done.err[-400:].replace("\n", " | ")))
    kit = os.path.join(TOP, "build/gpu-kit", "mpi" if mpi else "alone", name)
    return kit if os.path.exists(kit) else None


def command(ranks, words):
    return (["mpirun", "-n", str(ranks)] + LAUNCH + ["--rank"] if machine.mpi else LAUNCH + [str(ranks)]) + words


def launch(ranks, words, folder=None, preload=True, timeout=120, **env):
    """As common.mpirun."""
    return common.run(command(ranks, words), common.environment(folder, preload, **machine.environment(**env)), timeout)


def start(ranks, words, folder, **env):
    """As verdicts.start, which it takes the place of."""
    p = common.subprocess.Popen(command(ranks, words), env=common.environment(folder, True, **machine.environment(**env)),
                                stdin=common.subprocess.DEVNULL, stdout=common.subprocess.DEVNULL,
                                stderr=common.subprocess.DEVNULL, start_new_session=True)
    verdicts._started.append(p)
    return p


verdicts.start = start


def hold(name, arguments, ranks, **env):
    """truths.hold for a program of this machine; None too where it could not be compiled."""
    path = program(name, ("nccl", "cudart", "cupti") if name == "profiler" else ("nccl", "cudart"))
    if not path:
        common.skip(name, "it cannot be compiled here, and build/gpu-kit has none")
        return None
    return truths.hold(name, arguments, ranks, lambda *a, **more: launch(*a, **dict(env, **more)), lambda _: path)
