# timeout: 4000
# cases: apptainer podman
"""The definitions of containers/ are built, as an ordinary user and without a registry: from a Debian in a folder of one's
own (apptainer) or imported under its usual name (podman).  Then their jobs run: hello and ping-pong, recorded.  Of the two
large ones only the packages are looked up (large.py builds them)."""
import json
import os
import shutil
import sys

from common import TOP, check, end, report
from compare import differences
from host import AFTERWARDS, LIBTRACE, debian, enter, host, in_job

case = sys.argv[1]
path, job = host(), in_job()
enter(["true"], path=path)


def sources():
    """What the definitions copy, in a folder of the user's."""
    for folder in ("workloads", "containers"):
        shutil.copytree(os.path.join(TOP, folder), in_job(folder))


def runs(name, start, program, arguments=()):
    folder, truth = in_job("trace-" + name + program), in_job("truth-" + program)
    done = enter((AFTERWARDS if case == "podman" else []) + ["mpirun", "-n", "2"] + start(folder) + [program] + list(arguments),
                 path=path, TRUTH=truth)
    if not check("%s: %s runs" % (name, program), done.code == 0 and os.path.exists(truth), done):
        return
    if program == "hello":
        check(name + ": hello says so", sorted(done.out.split("\n"))[1:] == ["hello from rank %d of 2 on node1" % r for r in (0, 1)],
              done.out)
    with open(truth) as f:
        wrong = differences(json.load(f), report(folder))
    check("%s: %s is recorded" % (name, program), not wrong, "; ".join(wrong[:8]))


sources()
base = debian("bookworm")
if case == "apptainer":
    built = enter(["apptainer", "-s", "build", "--build-arg", "BOOTSTRAP=localimage", "--build-arg", "FROM=" + base,
                   "openmpi.sif", "containers/openmpi.def"], path=path, timeout=1500)
    start = lambda folder: ["apptainer", "-s", "run", "--env", "LD_PRELOAD=%s,HPCTOP_DIR=%s" % (LIBTRACE, folder),  # noqa: E731
                            "--bind", TOP, "--bind", job, "openmpi.sif"]
else:
    packed = enter(["tar", "-C", base, "-cf", "base.tar", "."], path=path, timeout=300)
    words = "podman import -q base.tar debian:bookworm && podman build -q --network host -t openmpi -f containers/openmpi.Dockerfile ."
    built = enter(AFTERWARDS + ["sh", "-c", words], path=path, timeout=1500)
    start = lambda folder: (["podman", "run", "--rm", "--env-host", "--userns=keep-id", "--net=host", "--pid=host",  # noqa: E731
                             "--ipc=host", "-e", "LD_PRELOAD=" + LIBTRACE, "-e", "HPCTOP_DIR=" + folder, "-v", "/tmp:/tmp",
                             "-v", TOP + ":" + TOP, "-v", job + ":" + job, "-w", job, "openmpi"])
if check("openmpi builds", built.code == 0, built):
    runs("openmpi", start, "hello")
    runs("openmpi", start, "ring")
    runs("openmpi", start, "pingpong", ["1000"])
if case == "apptainer":  # without MPI: the programs are built with the version that the host has
    built = enter(["apptainer", "-s", "build", "--build-arg", "BOOTSTRAP=localimage", "--build-arg", "FROM=" + debian("trixie", "plain"),
                   "openmpi-bind.sif", "containers/openmpi-bind.def"], path=path, timeout=1500)
    mounts = enter(["containers/host-mpi", "apptainer", in_job("host-mpi")], path=path).out.split()
    if check("openmpi-bind builds", built.code == 0, built):
        alone = enter(["apptainer", "-s", "exec", "openmpi-bind.sif", "ring"], path=path)
        check("openmpi-bind has no MPI of its own", alone.code == 127 and "libmpi" in alone.err, alone)
        bare = start
        start = lambda folder: bare(folder)[:3] + mounts + bare(folder)[3:-1] + ["openmpi-bind.sif"]  # noqa: E731
        runs("openmpi-bind", start, "hello")
        runs("openmpi-bind", start, "pingpong", ["1000"])
for name in ("cuda", "horovod") if case == "podman" else ():
    named = enter(AFTERWARDS + ["podman", "run", "--rm", "--net=host", "-e", "SIMULATE=1", "-v", job + "/containers:/containers",
                                "debian:bookworm", "sh", "-e", "/containers/%s.sh" % name], path=path, timeout=600)
    check(name + ": every package that it names can be had", named.code == 0, named)
end()
