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
command = [PYTHON, suite, "--no-builddir", "-e", "test_spawn", "-e", "test_dynproc", "-e", "test_rma_nb"]


def result(done):
    """What the suite says at its end, for each rank, without times."""
    lines = re.findall(r"Ran \d+ tests|OK.*|FAILED.*", done.out + done.err)
    return sorted(lines)


for ranks in (1, 2):
    plain = mpirun(ranks, command, preload=False, timeout=600)
    traced = mpirun(ranks, command, "suite-%d" % ranks, timeout=600)
    check("mpi4py %s x%d runs" % (version, ranks), plain.code is not None and result(plain), plain)
    check("mpi4py %s x%d: the same result" % (version, ranks), plain.code == traced.code and result(plain) == result(traced),
          "%s %s, without %s %s" % (traced.code, result(traced), plain.code, result(plain)))
    check("mpi4py %s x%d: recorded" % (version, ranks), len(traces("suite-%d" % ranks)) == ranks,
          os.path.exists("suite-%d" % ranks) and os.listdir("suite-%d" % ranks))
end()
