"""What Fortran knows by its address, the text and the errors it is given, and the ranks it spawns: the same with libtrace.so
as without, and recorded.  For every MPI and launcher alike (`launch` is called as common.mpirun)."""
import re

from common import calls, check, hpctop, report, run, skip, traces, tried

BINDINGS = ("mpifh", "mpi", "f08")
# What goes wrong without libtrace.so too, and how, by MPI and version.
UNSOUND = {
    # lbound() of an allocatable array says 0 after it was an argument of mpi_f08, as gfortran 10 compiles that.
    "mpich-3.4": {"collectives_f08": "it stops with 4: its arrays begin at 0 after a call",
                  "requests_f08": "what it gathers for its truth begins at 0",
                  "constants_f08": "it stops with 13: MPI_Op_commutative says .true. of what was made with .false."},
    "openmpi-6.0": {"communicators_f08": "it stops with 15: MPI_File_read_at does not give what was written",
                    "requests_f08": "its MPI_Testany, once it has said .true., says so of a request that has not completed too"},
}


def unsound(launcher):
    """The rows of the MPI that this launcher belongs to."""
    said = run([launcher, "--version"]).out
    version = re.search(r"\d+\.\d+", said)
    return UNSOUND.get(("mpich-" if "HYDRA" in said else "openmpi-") + version.group(0), {}) if version else {}


def without_codes(text):
    """MPICH's codes have the time in them, so that two runs have the same ones or not; the class stays."""
    return re.sub(r"\d{4,} of class", "of class", text)


def constants(label, launch, program, ranks=2):
    """workloads/fortran/constants; its counts and bytes are held by its truth elsewhere."""
    folder = "trace-given-" + label.replace(" ", "-")
    bare, done = launch(ranks, [program], None, False), launch(ranks, [program], folder)
    check(label + ": what it is given", done.code == bare.code == 0 and "of class" in done.out and
          without_codes(done.out) == without_codes(bare.out), "%s, without: %s" % (done, bare))
    dump = hpctop("dump", folder).out
    failed = sorted(re.findall(r" (MPI_\w+) .*flags=\S*failed", dump))
    check(label + ": calls that failed, with ierr and without", failed == sorted((["MPI_Send"] * 4 + ["MPI_Recv", "MPI_Comm_group"]) * ranks), failed)
    check(label + ": names without the blanks around them", dump.count('name="a grid of ranks"') == ranks, re.findall("name=.*", dump))


def spawned(label, launch, program, ranks=2):
    """workloads/fortran/spawn: three more worlds of two ranks each."""
    bare = tried(launch, ranks, [program])
    if bare.code != 0:
        return skip(label, "does not run without libtrace.so either: exit %s " % bare.code + (bare.err or bare.out).strip()[-100:].replace("\n", " | "))
    folder = "trace-" + label.replace(" ", "-")
    done = tried(launch, ranks, [program], folder)
    if not check(label + " runs", done.code == 0, done):
        return None
    check(label + ": a file a rank of each world", len(traces(folder)) == ranks + 6, traces(folder))
    rep = report(folder)
    if not check(label + ": the report can be made", rep):
        return None
    check(label + ": all processes, in four worlds", len(rep["ranks"]) == ranks + 6 and {r["world"] for r in rep["ranks"]} == {0, 1, 2, 3}, rep["ranks"])
    seen = calls(rep)
    want = {"MPI_Comm_spawn": 2 * ranks, "MPI_Comm_spawn_multiple": ranks, "MPI_Comm_get_parent": ranks + 6,
            "MPI_Comm_disconnect": 3 * ranks + 6, "MPI_Send": 12, "MPI_Recv": 12}
    check(label + ": every call", {name: seen.get(name, {}).get("calls") for name in want} == want, seen)
    moved = [(c["bytes_sent"], c["bytes_received"]) for name, c in seen.items() if name in ("MPI_Send", "MPI_Recv")]
    return check(label + ": every byte", sorted(moved) == [(0, 3 * (804 + 8)), (3 * (804 + 8), 0)], moved)
