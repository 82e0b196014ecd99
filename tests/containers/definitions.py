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


def build(image, definition, base, model):
    """Both definitions have two models: MPI inside, or none, for the host's to be mounted."""
    if case == "apptainer":
        return enter(["apptainer", "-s", "build", "--build-arg", "BOOTSTRAP=localimage", "--build-arg", "FROM=" + debian(*base),
                      image + ".sif", "containers/%s.def" % definition], path=path, timeout=1500)
    name = "debian:" + base[0]
    packed = enter(["tar", "-C", debian(*base), "-cf", "base.tar", "."], path=path, timeout=300)
    words = ("podman import -q base.tar %s && podman build -q --network host --build-arg BASE=%s --build-arg MODEL=%s -t %s "
             "-f containers/openmpi.Dockerfile ." % (name, name, model, image))
    return enter(AFTERWARDS + ["sh", "-c", words], path=path, timeout=1500) if packed.code == 0 else packed


def starting(image, mounts=()):
    """Of a trace folder: the words that start a program in the image."""
    if case == "apptainer":
        return lambda folder: (["apptainer", "-s", "run"] + list(mounts) + ["--env", "LD_PRELOAD=%s,HPCTOP_DIR=%s" % (
            LIBTRACE, folder), "--bind", TOP, "--bind", job, image + ".sif"])
    return lambda folder: (["podman", "run", "--rm", "--env-host", "--userns=keep-id", "--net=host", "--pid=host", "--ipc=host"] +
                           list(mounts) + ["-e", "LD_PRELOAD=" + LIBTRACE, "-e", "HPCTOP_DIR=" + folder, "-v", "/tmp:/tmp", "-v",
                                           TOP + ":" + TOP, "-v", job + ":" + job, "-w", job, image])


sources()
built = build("openmpi", "openmpi", ("bookworm",), "hybrid")
if check("openmpi builds", built.code == 0, built):
    for program, arguments in (("hello", []), ("ring", []), ("pingpong", ["1000"])):
        runs("openmpi", starting("openmpi"), program, arguments)
# Without MPI: the programs are built with the version that the host has.
built = build("openmpi-bind", "openmpi-bind", ("trixie", "plain"), "bind")
if check("openmpi-bind builds", built.code == 0, built):
    alone = enter(["apptainer", "-s", "exec", "openmpi-bind.sif", "ring"] if case == "apptainer" else
                  AFTERWARDS + ["podman", "run", "--rm", "--net=host", "openmpi-bind", "ring"], path=path)
    check("openmpi-bind has no MPI of its own", alone.code == 127 and "libmpi" in alone.out + alone.err, alone)
    mounts = enter(["containers/host-mpi", case, in_job("host-mpi")], path=path).out.split()
    for program, arguments in (("hello", []), ("pingpong", ["1000"])):
        runs("openmpi-bind", starting("openmpi-bind", mounts), program, arguments)
for name in ("cuda", "horovod") if case == "podman" else ():
    named = enter(AFTERWARDS + ["podman", "run", "--rm", "--net=host", "-e", "SIMULATE=1", "-v", job + "/containers:/containers",
                                "debian:bookworm", "sh", "-e", "/containers/%s.sh" % name], path=path, timeout=600)
    check(name + ": every package that it names can be had", named.code == 0, named)
end()
