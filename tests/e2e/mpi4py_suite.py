# timeout: 1500
# long
"""mpi4py's own test suite, the release that fits Debian's python3-mpi4py, with 1 and 2 ranks: the same result with and
without libtrace.so.  Needs the sources, which come from PyPI by pip; without them it is skipped."""
import glob
import os
import re
import tarfile

from common import check, end, mpirun, run, skip_all, traces

PYTHON = "/usr/bin/python3"
version = run([PYTHON, "-c", "import mpi4py; print(mpi4py.__version__)"])
if version.code != 0:
    skip_all("python3-mpi4py is missing")
version = version.out.strip()
got = run(["python3", "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "mpi4py==" + version], timeout=300)
archives = glob.glob("mpi4py-*.tar.gz")
if not archives:
    skip_all("the sources of mpi4py %s could not be had: %s" % (version, got.err.strip()[-150:]))
with tarfile.open(archives[0]) as archive:
    archive.extractall(".")
suite = glob.glob("mpi4py-*/test/runtests.py")[0]
# Without the tests that start processes or connect to them: Open MPI's own trouble in a container.
# Each rank's account in a file of its own: what two write to one stream may be mixed.
command = ["sh", "-c", 'exec "$@" 2> "$SAID.$OMPI_COMM_WORLD_RANK"', "sh", PYTHON, suite, "--no-builddir", "-e", "test_spawn", "-e", "test_dynproc", "-e", "test_rma_nb"]


def result(said, ranks):
    """What the suite says at its end, for each rank, without times."""
    texts = []
    for rank in range(ranks):
        with open("%s.%d" % (said, rank), errors="replace") as f:
            texts.append(re.findall(r"^(?:Ran \d+ tests|OK.*|FAILED.*)", f.read(), re.M))
    return texts


for ranks in (1, 2):
    plain = mpirun(ranks, command, preload=False, timeout=600, SAID="plain")
    traced = mpirun(ranks, command, "suite-%d" % ranks, timeout=600, SAID="traced")
    told, told_traced = result("plain", ranks), result("traced", ranks)
    check("mpi4py %s x%d runs" % (version, ranks), plain.code is not None and all(told), plain)
    check("mpi4py %s x%d: the same result" % (version, ranks), plain.code == traced.code and told == told_traced,
          "%s %s, without %s %s" % (traced.code, told_traced, plain.code, told))
    check("mpi4py %s x%d: recorded" % (version, ranks), len(traces("suite-%d" % ranks)) == ranks,
          os.path.exists("suite-%d" % ranks) and os.listdir("suite-%d" % ranks))
end()
