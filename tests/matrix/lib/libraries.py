"""The MPI libraries of the matrix: where each comes from, how it compiles and starts programs."""

# What every root holds; see tests/roots.sh.
PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "python3-mpi4py", "gcc", "gfortran", "libc6-dev"]

OPENMPI_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_plm_rsh_agent": "sh", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_smsc": "^cma", "OMPI_MCA_osc": "^rdma,ucx", "HWLOC_HIDE_ERRORS": "2",
}


# One-sided calls without a network card: over point-to-point before 5.0, by rdma since.
OPENMPI_5_ENV = dict(OPENMPI_ENV, OMPI_MCA_osc="^ucx", OMPI_MCA_pml="^ucx")
GNU = "/usr/lib/x86_64-linux-gnu/"


class Library:
    """One MPI.  release: Debian release whose root it lives in; shows: how the trace's head names it; abi: the family
    that must be found; ranks: most ranks on two cores (MPICH spins while it waits); codes: exit codes of its launcher
    other than 0; libmpi: what to link with where cc is no compiler of MPI's own; needs: names of PyPI packages laid over the root."""

    def __init__(self, name, release, shows, abi, cc, fc, mpirun, ranks=2, codes=None, env=None, libmpi=None, needs=()):
        self.name, self.release, self.shows, self.abi = name, release, shows, abi
        self.cc, self.fc, self.mpirun, self.ranks = cc, fc, mpirun, ranks
        self.codes, self.env, self.libmpi, self.needs = codes or {}, env or {}, libmpi, needs


def openmpi(name, release, **more):
    return Library(name, release, **dict(dict(
        shows="Open MPI", abi="openmpi", cc="mpicc.openmpi", fc="mpif90.openmpi", ranks=4, env=OPENMPI_ENV,
        mpirun=["mpirun.openmpi", "--oversubscribe", "-n"], codes={"exit_no_finalize": 1}), **more))


def mpich(name, release, **more):
    return Library(name, release, **dict(dict(
        shows="MPICH", abi="mpich", cc="mpicc.mpich", fc="mpif90.mpich", mpirun=["mpirun.mpich", "-n"]), **more))


LIBRARIES = {library.name: library for library in (
    openmpi("openmpi-4.1.0", "bullseye"), openmpi("openmpi-4.1.4", "bookworm"), openmpi("openmpi-5.0", "trixie"),
    openmpi("openmpi-6.0", "sid"),
    mpich("mpich-3.4", "bullseye"), mpich("mpich-4.0", "bookworm"), mpich("mpich-4.2", "trixie"), mpich("mpich-5.0", "sid"),
    # The standard ABI: both libraries go by one name, and the loader's path says which it is.
    openmpi("abi-openmpi", "sid", abi="standard", env=OPENMPI_5_ENV, fc=None,
            cc="gcc -I%sopenmpi/include/standard_abi" % GNU, libmpi=GNU + "libmpi_abi_openmpi.so.1.0.0"),
    mpich("abi-mpich", "sid", abi="standard", fc=None,
          cc="gcc -I%smpi_abi_mpich/include" % GNU, libmpi=GNU + "libmpi_abi_mpich.so.1.0.0"),
)}
