# timeout: 1800
"""Jobs of several hosts by ssh whose ranks run in Apptainer images: two hosts (tests/e2e/lib/namespaces.py) in the root of the
other tests, each with a sshd; mpirun of the host starts each rank in an image of another release."""
import os
import sys

INSIDE = "INSIDE_ROOT" in os.environ
if INSIDE:
    sys.path.append(os.path.join(os.environ["TOP"], "tests/e2e/lib"))
    import namespaces
    namespaces.enter()
from common import HPCTOP, TOP, calls, check, end, report, traces  # noqa: E402
from host import LIBTRACE, ROOTS, enter, host, image, in_job  # noqa: E402

JOIN = os.path.join(TOP, "containers/join-mpirun")
MPIRUN = ["mpirun", "--allow-run-as-root", "-np", "4", "-H", "f1:2,f2:2", "--map-by", "ppr:2:node:oversubscribe", "--mca", "btl", "tcp,self"]
IMAGE = os.path.join(ROOTS, "containers-openmpi")


def is_whole(what, *folders):
    job = report(*folders)
    check("%s: one job of 4 ranks on 2 hosts" % what, job and (job["job"]["ranks"], job["job"]["hosts"]) == (4, ["f1", "f2"]), job and job["job"])
    check("%s: every byte that is sent is received" % what, job and calls(job)["MPI_Send"]["bytes_sent"] ==
          calls(job)["MPI_Recv"]["bytes_received"] > 0, job and calls(job).keys())
    check("%s: the ranks are in an image" % what, job and all(r["runtime"] == "apptainer" for r in job["ranks"]),
          job and job["ranks"][0])


def inside():
    lab = namespaces.Hosts(dict(name="f1"), dict(name="f2", ahead_s=700, realtime_ns=3000000))
    lab.start_sshd()
    private = os.path.abspath("private")
    lab.private(private)
    ring = ["apptainer", "-s", "exec", "--userns", "--bind", TOP, "--bind", os.getcwd(), IMAGE, JOIN, os.path.join(os.environ["WORKLOADS"], "ring")]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HPCTOP_", "INSIDE_"))}
    done = lab.on(0, [HPCTOP, "record", "-o", "shared", "--"] + MPIRUN + ring, env)
    check("a common folder: the job runs", done.code == 0 and len(traces("shared")) == 4, done)
    is_whole("a common folder", "shared")
    done = lab.on(0, [HPCTOP, "record", "-o", private + "/trace", "--"] + MPIRUN + ring, env)
    check("folders of each host: the job runs", done.code == 0, done.err[:1500])
    check("folders of each host: the ranks without a file are named", "if ranks 2 and 3 of 4 ran on another host: get" in done.err, done.err[-600:])
    folders = [os.path.abspath("own-%d" % n) for n in range(2)]
    for number, folder in enumerate(folders):
        lab.on(number, ["cp", "-r", "trace", folder], env, cwd=private)
    is_whole("folders of each host", *folders)
    lab.close()
    end()


def outside():
    path = host()
    image("openmpi")
    own = {k: os.environ[k] for k in ("LIBTRACE", "HPCTOP", "BUILD", "TOP", "WORKLOADS")}
    done = enter(["python3", os.path.abspath(__file__)], 600, path, as_root=True, INSIDE_ROOT=1, HPCTOP_TEST_ROOTS=ROOTS,
                 PYTHONPATH=os.environ["PYTHONPATH"], **own)
    print(done.out, end="")
    check("the hosts end as they should", done.code == 0, done)
    end()


inside() if INSIDE else outside()
