"""What the programs read (small problems, written here), and what of their output is a result and not a time."""
import os
import re

SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests"

MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run 250
"""

# Neighbours are found anew when an atom has moved too far.
MOVED = MELT.replace("every 20 delay 0 check no", "every 10 delay 0 check yes").replace("run 250", "run 400")

PETSC = """import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 60
da = PETSc.DMDA().create([n, n], stencil_width=1)
a = da.createMatrix()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(xs, xe), (ys, ye) = da.getRanges()
for j in range(ys, ye):
    for i in range(xs, xe):
        row.index = (i, j)
        for index, value in (((i, j), 4.0), ((i - 1, j), -1.0), ((i + 1, j), -1.0), ((i, j - 1), -1.0), ((i, j + 1), -1.0)):
            if 0 <= index[0] < n and 0 <= index[1] < n:
                col.index = index
                a.setValueStencil(row, col, value)
a.assemble()
x, b = a.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(a)
ksp.setType("gmres")
ksp.getPC().setType("bjacobi")
ksp.solve(b, x)
PETSc.Sys.Print("iterations %d norm %.6e" % (ksp.getIterationNumber(), x.norm()))
"""

H5 = """from mpi4py import MPI
import h5py
import numpy
comm = MPI.COMM_WORLD
with h5py.File("parallel.h5", "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("x", (comm.size, 10000), dtype="f8")
    with d.collective:
        d[comm.rank] = numpy.arange(10000) * (comm.rank + 1)
with h5py.File("parallel.h5", "r", driver="mpio", comm=comm) as f:
    total = comm.allreduce(float(f["x"][comm.rank].sum()))
if comm.rank == 0:
    print("sum %.1f" % total)
"""

FFT = """from mpi4py import MPI
import numpy
from mpi4py_fft import PFFT, newDistArray
fft = PFFT(MPI.COMM_WORLD, (32, 32, 32), axes=(0, 1, 2), dtype=float, grid=(-1,))
u = newDistArray(fft, False)
u[:] = numpy.random.RandomState(MPI.COMM_WORLD.rank).rand(*u.shape)
h = fft.forward(u)
v = numpy.zeros_like(u)
v = fft.backward(h, v)
worst = MPI.COMM_WORLD.allreduce(float(numpy.abs(u - v).max()), op=MPI.MAX)
if MPI.COMM_WORLD.rank == 0:
    print("right" if worst < 1e-12 else "wrong by %g" % worst)
"""

WATER = """start water
memory 400 mb
geometry
  O 0.0 0.0 0.0
  H 0.0 1.43 -0.89
  H 0.0 -1.43 -0.89
end
basis
  * library 6-31g
end
task scf
"""


def hpcc():
    """Debian's example, small."""
    with open("/usr/share/doc/hpcc/examples/_hpccinf.txt") as f:
        text = f.read()
    return re.sub(r"^1000( +Ns)", r"200\1", re.sub(r"^1( +Ps)", r"2\1", text, flags=re.M), flags=re.M)


RESULTS = {
    "all": r"^.+$",
    "sizes": r"^ *\d+: +(\d+) bytes",
    "verdicts": r"^ *(\d+ tests completed and .*?)\.?$",
    "thermo": r"^ +\d+ +[-\d.]+ .*$",
    "energy": r"Total SCF energy = +(-\d+\.\d{7})",
    "hpcc": r"PASSED|FAILED|^Success=\d",
}


def results(said, kind):
    """In the order of their text: the lines of several ranks may be mixed."""
    text = said.out + said.err
    if kind == "hpcc" and os.path.exists("hpccoutf.txt"):
        with open("hpccoutf.txt") as f:
            text = f.read()
        os.remove("hpccoutf.txt")
    return sorted(re.findall(RESULTS[kind], text, re.M))


def write():
    """All inputs into the working folder."""
    files = {"melt.in": MELT, "moved.in": MOVED, "petsc.py": PETSC, "h5.py": H5, "fft.py": FFT, "water.nw": WATER}
    if os.path.exists("/usr/share/doc/hpcc/examples/_hpccinf.txt"):
        files["hpccinf.txt"] = hpcc()
    for name, text in files.items():
        with open(name, "w") as f:
            f.write(text)
    if os.path.isdir(SCALAPACK):
        for name in os.listdir(SCALAPACK):
            if name.endswith(".dat"):
                os.symlink(os.path.join(SCALAPACK, name), name)
