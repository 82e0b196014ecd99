# timeout: 2400
# cases: apptainer charliecloud podman
"""Jobs whose ranks run in containers: mpirun of the host (Debian trixie) starts each rank in an image of another release
(bookworm, with its own Open MPI and glibc), as an ordinary user.  libtrace.so of this build comes in by a bind mount.
Counts and bytes are the known ones, and the head says host, runtime, image and namespaces."""
import json
import os
import re
import sys

import results
from common import HPCTOP, TOP, check, end, hpctop, report, traces, workload
from compare import differences
from host import AFTERWARDS, LIBTRACE, NODE, enter, host, image, in_job, podman_image

# What every image of ours has in it, here from the sources.
JOIN = os.path.join(TOP, "containers/join-mpirun")
WORKLOADS = [("ring", []), ("p2p_nonblocking", []), ("collectives_blocking", []), ("communicators", []),
             ("threads_multiple", []), ("pingpong", ["2000", "sizes"])]
ALL = ["mnt", "uts", "ipc", "net", "pid", "user", "cgroup", "time"]

case = sys.argv[1]
path = host()
job = in_job()


def started(folder, truth, record=False):
    """The words from mpirun to the image, by hand as containers/README.md has it, or bare for hpctop record."""
    ours = {"HPCTOP_DIR": folder, "LD_PRELOAD": LIBTRACE}
    if case == "apptainer":
        by_hand = ["--env", ",".join("%s=%s" % s for s in sorted(ours.items())), "--bind", os.path.dirname(LIBTRACE)]
        return ["apptainer", "-s", "exec"] + ([] if record else by_hand) + ["--bind", TOP, "--bind", job, named()]
    if case == "charliecloud":
        by_hand = ["--set-env=%s=%s" % s for s in sorted(ours.items())]
        return ["ch-run"] + ([] if record else by_hand) + ["-b", TOP, "-b", job, named(), "--"]
    by_hand = sum((["-e", "%s=%s" % s] for s in sorted(ours.items())), []) + ["-e", "HPCTOP_IMAGE=" + named()]
    return (["podman", "run", "--rm", "--env-host", "--userns=keep-id", "--net=host", "--pid=host", "--ipc=host"] +
            ([] if record else by_hand) + ["-v", "/tmp:/tmp", "-v", TOP + ":" + TOP, "-v", job + ":" + job,
                                           "-w", job, named()])


def named():
    return podman_image("openmpi") if case == "podman" else image("openmpi")


def trace(name, command, record=False, **env):
    """Runs it; the report and the truth, or None."""
    label = " ".join([name] + command[1:] + (["by hpctop record"] if record else []))
    folder, truth = in_job("trace-" + re.sub(r"\W+", "-", label)), in_job("truth-" + name)
    words = ["mpirun", "-n", "2"] + started(folder, truth, record) + [JOIN] + command
    if record:
        words = [HPCTOP, "record", "-o", folder, "--"] + words
    done = enter((AFTERWARDS if case == "podman" else []) + words, path=path, TRUTH=truth, **env)
    if not check(label + " runs", done.code == 0 and os.path.exists(truth), done):
        return None
    rep = report(folder)
    if rep is None:
        return None
    with open(truth) as f:
        want = json.load(f)
    os.remove(truth)
    wrong = differences(want, rep)
    check(label, not wrong, "; ".join(wrong[:8]))
    return folder, rep, not wrong


def head(folder):
    """Of one file, as `hpctop dump` prints it."""
    text = hpctop("dump", traces(folder)[0]).out
    return dict(line.split(": ", 1) for line in text.splitlines() if re.match(r"[a-z ]+: ", line))


def of_host(folder, rep):
    """Host name, container and namespaces: in the head, the report and the JSON."""
    got = head(folder)
    check("host", rep["job"]["hosts"] == [NODE] and got["host"] == NODE, got.get("host"))
    check("runtime", got.get("runtime") == case and [r["runtime"] for r in rep["ranks"]] == [case] * 2, got.get("runtime"))
    check("image", got.get("container") == named() and [r["image"] for r in rep["ranks"]] == [named()] * 2,
          "%s, not %s" % (got.get("container"), named()))
    text = hpctop("report", "--all", folder).out
    check("the report says which container", "2 ranks in %s, image %s\n" % (case, named()) in text, text[:400])
    inside = dict(zip(*[iter(got["namespaces"].split())] * 2))
    check("all namespaces are known", sorted(inside) == sorted(ALL), got["namespaces"])
    ours = {n: re.findall(r"\d+", os.readlink("/proc/self/ns/" + n))[0] for n in ALL}
    alike = [n for n in ALL if inside.get(n) == ours[n]]
    check("it shares pids, network and time with the host, and neither mounts nor users",
          {"pid", "net", "time"} <= set(alike) and not {"mnt", "user"} & set(alike), "shared: %s" % " ".join(alike))
    mpi, outside = got["mpi"], enter(["mpirun", "--version"], path=path).out.split("\n")[0]
    check("another MPI inside than outside", re.search(r"v4\.", mpi) and re.search(r"MPI\) 5\.", outside), (mpi, outside))
    return rep["job"]["mpi"]


good, mpi = True, None
for name, arguments in WORKLOADS:
    both = trace(name, [workload(name)] + arguments)
    good = good and bool(both) and both[2]
    if both and name == "ring":
        mpi = of_host(both[0], both[1])
both = trace("ring", [workload("ring")], record=True)
if both:
    got = head(both[0])
    check("hpctop record: runtime and image", (got.get("runtime"), got.get("container")) == (case, named()), got)
results.record("containers", mpi or "Open MPI", "C", case, "mpirun", "bookworm", "passed" if good else "failed",
               "%d workloads, host mpirun of trixie" % len(WORKLOADS))
end()
