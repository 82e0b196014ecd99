# timeout: 180
"""A real horovodrun, where there is one (make check-horovod builds it): through hpctop record, its ranks are in one
folder, with every allreduce that the program made."""
import os
import re
import shutil

from common import HPCTOP, TOP, check, end, environment, hpctop, readme_commands, release, report, run, skip_all, traces
from results import record

VENV = os.path.join(TOP, "build/horovod/venv/bin")
STEPS, ELEMENTS = 5, 1000

path = VENV + ":" + os.environ["PATH"]
if not shutil.which("horovodrun", path=path):
    skip_all("no horovodrun in PATH, nor in build/horovod (make check-horovod puts it there)")
if run(["python3", "-c", "import horovod.torch as h; assert h.mpi_built() and h.gloo_built()"], environment(preload=False, PATH=path)).code != 0:
    skip_all("horovodrun is there, but no Horovod for PyTorch with MPI and Gloo")

with open("train.py", "w") as f:
    f.write("""import torch, horovod.torch as hvd
hvd.init()
for step in range(%d):
    t = hvd.allreduce(torch.full((%d,), hvd.rank() + 1.0), op=hvd.Sum, name="grad")
    assert t[0].item() == 3, t[0]
    assert len(hvd.reducescatter(torch.ones(%d), op=hvd.Sum, name="part")) == %d
hvd.shutdown()
""" % (STEPS, ELEMENTS, ELEMENTS, ELEMENTS // 2))
for controller, call, scatter in (("mpi", "MPI_Allreduce", "MPI_Reduce_scatter"), ("gloo", "gloo::allreduce", "gloo::reduce_scatter")):
    done = run([HPCTOP, "record", "-o", controller, "--", "horovodrun", "--" + controller, "-np", "2", "python3", "train.py"],
               environment(preload=False, PATH=path))
    if check("a job over " + controller, done.code == 0 and len(traces(controller)) == 2, done):
        rep = report(controller)
        check("its ranks", sorted(r["rank"] for r in rep["ranks"]) == [0, 1] and rep["job"]["id"], rep["job"])
        seen = len(re.findall(r"%s\b.*\bsent=%d\b" % (call, 4 * ELEMENTS), hpctop("dump", controller).out))
        right = check("every allreduce of the program", seen == 2 * STEPS, "%d of %d" % (seen, 2 * STEPS))
        parts = len(re.findall(r"%s\b.*\bsent=%d received=%d\b" % (scatter, 4 * ELEMENTS, 2 * ELEMENTS), hpctop("dump", controller).out))
        check("every reducescatter, with its bytes", parts == 2 * STEPS, "%d of %d" % (parts, 2 * STEPS))
        if controller == "mpi":
            record("launchers", rep["job"]["mpi"], "Python (Horovod)", "-", "horovodrun", release(), "passed" if right else "failed")
for command in readme_commands("horovodrun"):
    done = run(["bash", "-c", command], environment(preload=False, PATH=os.path.dirname(HPCTOP) + ":" + path))
    check("README: " + command, done.code == 0 and len(traces(command.split()[3])) == 2, done)
end()
