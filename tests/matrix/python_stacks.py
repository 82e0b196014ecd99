# timeout: 1200
# cases: bullseye-3.9 trixie-3.13 sid-3.14
"""Python stacks of the interpreters of other Debian releases, frame by frame."""
import os
import sys

from common import check, end, skip_all, traces
from libraries import OPENMPI_ENV
from python_frames import PROGRAM, SITES, judge, judge_sites, until_stopped
from root import PRELOAD, Root, unpack

release, version = sys.argv[1].split("-")
mpi = {"bullseye": "libopenmpi3", "trixie": "libopenmpi40", "sid": "libopenmpi40"}[release]
root = Root(unpack(release, "python-" + release, ["python" + version, mpi, "openmpi-bin"]),
            dict(OPENMPI_ENV, PYTHONIOENCODING="utf-8"))
here = os.getcwd()
with open("train.py", "w", encoding="utf-8") as f:
    f.write(PROGRAM)
until_stopped(*root.started(["python" + version, "train.py", "libmpi.so.40"], LD_PRELOAD=PRELOAD, HPCTOP_DIR=here, HPCTOP_HANG="1"), here)
if not traces(here):
    skip_all("Python %s of %s left no trace" % (version, release))
judge("%s of %s" % (version, release), here)
with open("sites.py", "w") as f:
    f.write(SITES)
done = root.run(["python" + version, "sites.py", "libmpi.so.40"], LD_PRELOAD=PRELOAD, HPCTOP_DIR=os.path.join(here, "sites"), HPCTOP_PYTHON="1")
if check("call sites: it runs", done.code == 0, done):
    judge_sites("%s of %s" % (version, release), "sites")
end()
