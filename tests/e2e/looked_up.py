# timeout: 120
"""MPI that a program loads with RTLD_LOCAL and whose functions it looks up by dlsym, as MPI.jl, Rust, Lua and ctypes do,
is recorded; a library that is none of MPI gives its own symbols."""
import os
import re
import shutil
import subprocess
import sys

from common import TOP, calls, check, end, environment, report, run, skip

HERE = os.path.join(TOP, "tests/e2e/looked_up")
EXPECTED = {"MPI_Init": 2, "MPI_Comm_rank": 20, "MPI_Allreduce": 10, "MPI_Barrier": 6, "MPI_Finalize": 2}
LIBRARIES = {}
WORLD = {"openmpi": "0", "mpich": "0x44000000"}  # MPI_COMM_WORLD in Fortran


def linked(program, part):
    """The libraries that a program is linked with and whose file has this in its name."""
    lines = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [line.split()[2] for line in lines if "=>" in line and re.search(part, line.split()[0])]


for family, name, launcher in (("openmpi", "libmpi.so", "mpirun"), ("mpich", "libmpich.so", "mpiexec.hydra")):
    if not shutil.which("mpicc." + family):
        skip(family, "no mpicc.%s here" % family)
        continue
    subprocess.run(["mpicc." + family, "-Wl,--no-as-needed", "-x", "c", "-o", "linked-" + family, "-"], input=b"int main(void) { return 0; }", check=True)
    found = linked("linked-" + family, "^" + re.escape(name))
    if check(family + ": its library is found", len(found) == 1, found):
        LIBRARIES[family] = (found[0], [launcher, "-n", "2"])
subprocess.run(["cc", "-w", "-O1", "-o", "host", os.path.join(HERE, "host.c"), "-ldl"], check=True)
subprocess.run(["cc", "-w", "-O1", "-o", "fortran", os.path.join(HERE, "fortran.c"), "-ldl"], check=True)
subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", "own.so", os.path.join(HERE, "own.c")], check=True)


def written(done):
    """What the ranks have written, in whatever order the launcher has mixed it."""
    return sorted(done.out)


def case(what, command, want, ranks=2):
    folder = what.replace(" ", "-")
    bare, traced = run(command, environment(preload=False)), run(command, environment(folder))
    if not check(what + ": it works", bare.code == 0 and "but" not in bare.out, bare):
        return
    check(what + ": runs as without", (bare.code, written(bare)) == (traced.code, written(traced)), "%s, without %s" % (traced, bare))
    rep = report(folder)
    seen = {name: call["calls"] for name, call in calls(rep).items()} if rep else None
    check(what + ": exactly its calls", seen == want and rep["job"]["ranks"] == ranks, seen)


for family, (library, launcher) in LIBRARIES.items():
    case(family, launcher + ["./host", library], EXPECTED)
    case(family + " after another library", launcher + ["./host", "./own.so", library], EXPECTED)
    case(family + " by ctypes", launcher + [sys.executable, os.path.join(HERE, "host.py"), library],
         {name: n for name, n in EXPECTED.items() if name != "MPI_Allreduce"})
    if not shutil.which("mpifort." + family):
        skip(family + " in Fortran", "no mpifort.%s here" % family)
        continue
    subprocess.run(["mpifort." + family, "-Wl,--no-as-needed", "-x", "f95", "-w", "-ffree-form", "-o", "fortran-" + family, "-"], input=b"end program\n", check=True)
    found = linked("fortran-" + family, "mpifh|mpichfort|mpifort")
    if check(family + ": its Fortran library is found", len(found) == 1, found):
        case(family + " in Fortran", launcher + ["./fortran", found[0], WORLD[family]],
             {name: n for name, n in EXPECTED.items() if name != "MPI_Allreduce"})
if len(LIBRARIES) == 2:
    for first, second in (("openmpi", "mpich"), ("mpich", "openmpi")):
        case(first + " and " + second, ["./host", LIBRARIES[first][0], LIBRARIES[second][0]], {name: n // 2 for name, n in EXPECTED.items()}, 1)
end()
