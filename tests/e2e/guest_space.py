# timeout: 240
"""The trace file's space, and a correct program: threads that are to be cancelled."""
import os
import subprocess

from common import TOP, check, end, mpirun, traces

HERE = os.path.join(TOP, "tests/e2e/guest_space")


def build(name, *flags):
    subprocess.run(["mpicc", "-O1", "-pthread", "-o", name, os.path.join(HERE, name + ".c")] + list(flags), check=True)


def both(what, command, folder, ranks=1):
    """The same without and with libtrace.so."""
    bare, traced = mpirun(ranks, command, preload=False), mpirun(ranks, command, folder)
    check(what, bare.code == 0 and (bare.code, bare.out) == (traced.code, traced.out) and traces(folder),
          "%s, without %s" % (traced, bare))


def cancellation():
    """A pending pthread_cancel acts at no call of MPI and at no fork, as without us."""
    build("cancelled", "-ldl")
    library = os.path.abspath("part.so")
    subprocess.run(["cc", "-shared", "-o", library, "-xc", "/dev/null"], check=True)
    for what in ("calls", "forks"):
        both("cancelled: " + what, ["./cancelled", what, library], what)


cancellation()
end()
