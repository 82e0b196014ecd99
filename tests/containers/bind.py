# timeout: 1800
# cases: apptainer charliecloud podman
"""The bind model: an image without MPI (sid, the newer glibc) gets the host's Open MPI 5 mounted by containers/host-mpi."""
import json
import os
import sys

import results
from common import TOP, check, end, hpctop, report, traces, workload
from compare import differences
from host import AFTERWARDS, LIBTRACE, enter, host, image, in_job, podman_image

case = sys.argv[1]
path = host()
job = in_job()
name = podman_image("bare") if case == "podman" else image("bare")
HOST_MPI = os.path.join(TOP, "containers/host-mpi")


def started(folder, mounts):
    ours = {"HPCTOP_DIR": folder, "LD_PRELOAD": LIBTRACE}
    if case == "apptainer":
        return (["apptainer", "-s", "exec"] + mounts + ["--env", ",".join("%s=%s" % s for s in sorted(ours.items())),
                "--bind", TOP, "--bind", job, name])
    if case == "charliecloud":
        return ["ch-run"] + mounts + ["--set-env=%s=%s" % s for s in sorted(ours.items())] + ["-b", TOP, "-b", job, name, "--"]
    return (["podman", "run", "--rm", "--env-host", "--userns=keep-id", "--net=host", "--pid=host", "--ipc=host"] + mounts +
            sum((["-e", "%s=%s" % s] for s in sorted(ours.items())), []) +
            ["-v", "/tmp:/tmp", "-v", TOP + ":" + TOP, "-v", job + ":" + job, "-w", job, name])


mounts = enter([HOST_MPI, case, in_job("host-mpi")], path=path)
if not check("host-mpi prints what to mount", mounts.code == 0 and "/opt/host-mpi" in mounts.out, mounts):
    end()
good, mpi = True, None
for program in ("ring", "collectives_blocking", "p2p_nonblocking"):
    folder, truth = in_job("trace-" + program), in_job("truth-" + program)
    words = ["mpirun", "-n", "2"] + started(folder, mounts.out.split()) + [workload(program)]
    done = enter((AFTERWARDS if case == "podman" else []) + words, path=path, TRUTH=truth)
    if not check(program + " runs", done.code == 0 and os.path.exists(truth), done):
        good = False
        continue
    with open(truth) as f:
        wrong = differences(json.load(f), report(folder))
    good = check(program, not wrong, "; ".join(wrong[:8])) and good
    if case != "podman":
        check(program + ": the image", [r["image"] for r in report(folder)["ranks"]] == [name] * 2, report(folder)["ranks"])
    mpi = [l[5:] for l in hpctop("dump", traces(folder)[0]).out.splitlines() if l.startswith("mpi: ")]
    check(program + ": the MPI is the host's", mpi and "v5." in mpi[0], mpi)
results.record("containers", report(folder)["job"]["mpi"] if good else "Open MPI", "C", case + " (host's MPI)", "mpirun", "sid",
               "passed" if good else "failed", "3 workloads, host mpirun of trixie")
end()
