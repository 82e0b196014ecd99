# timeout: 6000
# cases: horovod cuda horovod-podman cuda-podman
"""The two large definitions of containers/, with TEST_LARGE=1: built by Apptainer as an ordinary user, then run under the
host's mpirun and recorded.  Built images are kept beside the roots until their definition changes.  Their Dockerfiles are
built by Podman, on a Debian that is imported under its usual name, as in definitions.py; these images are not kept."""
import json
import os
import shutil
import sys

from common import TOP, calls, check, end, report, skip_all, workload
from compare import differences
from host import AFTERWARDS, LIBTRACE, ROOTS, debian, enter, host, in_job

case, _, by_podman = sys.argv[1].partition("-")
COST = {"horovod": "takes 2 GB and 20 minutes", "cuda": "takes 8 GB and 10 minutes"}
if not os.environ.get("TEST_LARGE"):
    skip_all("%s; TEST_LARGE=1 builds it" % COST[case])
path, job = host(), in_job()
enter(["true"], path=path)


def definition():
    """All that the image depends on, as text."""
    text = ""
    for name in (case + ".def", case + ".sh", "join-mpirun"):
        with open(os.path.join(TOP, "containers", name)) as f:
            text += f.read()
    return text


def built():
    """Its folder (a sandbox: packing it would take longer than unpacking it), or None."""
    kept = os.path.join(ROOTS, "image-" + case)
    image, mark = os.path.join(kept, case), os.path.join(kept, "done")
    if os.path.exists(mark):
        with open(mark) as f:
            if f.read() == definition():
                return image
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(os.path.join(kept, "tmp"))
    for folder in (kept, os.path.join(kept, "tmp")):
        os.chown(folder, 1000, 1000)
    shutil.copytree(os.path.join(TOP, "containers"), in_job("containers"))
    done = enter(["apptainer", "-s", "build", "--sandbox", "--build-arg", "BOOTSTRAP=localimage", "--build-arg",
                  "FROM=" + debian("bookworm"), image, "containers/%s.def" % case], path=path, timeout=5400,
                 APPTAINER_TMPDIR=os.path.join(kept, "tmp"))
    if not check(case + " builds", done.code == 0, done):
        return None
    with open(mark, "w") as f:
        f.write(definition())
    return image


def start(image, folder=None):
    ours = ["--env", "LD_PRELOAD=%s,HPCTOP_DIR=%s" % (LIBTRACE, folder), "--bind", os.path.dirname(LIBTRACE)] if folder else []
    return ["apptainer", "-s", "run"] + ours + ["--bind", TOP, "--bind", job, image]


def horovod(image):
    """Some steps of training by two ranks: its allreduces and their times are in the report."""
    steps = 20
    train = ["python3", os.path.join(TOP, "tests/horovod/train.py"), "--steps", str(steps)]
    folder = in_job("trace-train")
    done = enter(["mpirun", "-n", "2"] + start(image, folder) + train, path=path, timeout=600, HOROVOD_CYCLE_TIME=1)
    if not check("Horovod trains in it", done.code == 0 and done.out.count("finished") == 2, done):
        return
    rep = report(folder)
    seen = calls(rep).get("MPI_Allreduce", {})
    # 4 parameters of 2122 floats: whatever was fused with what, each step moves them once.
    check("its allreduces are recorded", seen.get("calls", 0) >= 2 * steps and
          seen.get("bytes_sent", 0) >= 2 * steps * (32 * 64 + 64 + 64 * 10 + 10) * 4, seen)
    check("the report shows them and the image", rep["job"]["ranks"] == 2 and
          [(r["runtime"], r["image"]) for r in rep["ranks"]] == [("apptainer", image)] * 2, rep["ranks"])


def cuda(image):
    """Without a GPU: the compiler, NCCL's library and MPI."""
    done = enter(start(image) + ["nvcc", "--version"], path=path)
    check("nvcc says its version", done.code == 0 and "Cuda compilation tools" in done.out, done)
    with open(in_job("calls.cu"), "w") as f:
        f.write("#include <nccl.h>\nint main() { int v; return ncclGetVersion(&v) || v < 20000; }\n")
    done = enter(start(image) + ["sh", "-c", "nvcc -o calls-nccl calls.cu -lnccl && ./calls-nccl"], path=path, timeout=300)
    check("a program is built with NCCL and starts", done.code == 0, done)
    folder, truth = in_job("trace-ring"), in_job("truth")
    done = enter(["mpirun", "-n", "2"] + start(image, folder) + [workload("ring")], path=path, TRUTH=truth)
    if check("the ring runs in it", done.code == 0 and os.path.exists(truth), done):
        with open(truth) as f:
            wrong = differences(json.load(f), report(folder))
        check("the ring is recorded", not wrong, "; ".join(wrong[:8]))


def podman():
    """Builds the Dockerfile and starts what is in the image."""
    asks = {"cuda": "nvcc --version && ldconfig -p | grep libnccl.so.2",
            "horovod": "python3 -c 'import horovod.torch as h; assert h.mpi_built(); print(\"MPI is in\")'"}[case]
    shutil.copytree(os.path.join(TOP, "containers"), in_job("containers"))
    packed = enter(["tar", "-C", debian("bookworm"), "-cf", "base.tar", "."], path=path, timeout=300)
    words = "podman import -q base.tar debian:bookworm && podman build -q --network host -t large-%s -f containers/%s.Dockerfile ."
    done = enter(AFTERWARDS + ["sh", "-c", words % (case, case)], path=path, timeout=5400) if packed.code == 0 else packed
    if check("%s.Dockerfile builds" % case, done.code == 0, done):
        done = enter(AFTERWARDS + ["podman", "run", "--rm", "--net=host", "--entrypoint", "sh", "large-" + case, "-c", asks], path=path)
        check("what it is for is in it", done.code == 0 and done.out.strip(), done)
        folder, truth = in_job("trace-ring"), in_job("truth")
        ours = ["-e", "LD_PRELOAD=" + LIBTRACE, "-e", "HPCTOP_DIR=" + folder, "-v", TOP + ":" + TOP, "-v", job + ":" + job]
        done = enter(AFTERWARDS + ["mpirun", "-n", "2", "podman", "run", "--rm", "--env-host", "--userns=keep-id", "--net=host",
                                   "--pid=host", "--ipc=host", "-v", "/tmp:/tmp", "-w", job] + ours +
                     ["large-" + case, workload("ring")], path=path, TRUTH=truth)
        if check("the ring runs in it", done.code == 0 and os.path.exists(truth), done):
            with open(truth) as f:
                wrong = differences(json.load(f), report(folder))
            check("the ring is recorded", not wrong, "; ".join(wrong[:8]))
    enter(AFTERWARDS + ["sh", "-c", "podman rmi -f large-%s; podman image prune -f" % case], path=path, timeout=600)


if by_podman:
    podman()
    end()
image = built()
if image:
    {"horovod": horovod, "cuda": cuda}[case](image)
end()
