# timeout: 600
# long
# alone
"""Several hosts by a real ssh, with a folder that all see and without one: what `hpctop record` says of files that are on
other hosts, folders of several hosts as one job, libtrace.so that is on one host only, scripts; and PyTorch's ranks, started on each host as torchrun does."""
import concurrent.futures
import os
import re
import shutil

import namespaces

namespaces.enter()
from common import HPCTOP, LIBTRACE, calls, check, end, environment, hpctop, python_with_torch, report, run, skip, skip_all, traces, workload

if os.geteuid() != 0 or not os.path.exists("/usr/sbin/sshd"):
    skip_all("no openssh-server, or this is not root")
lab = namespaces.Hosts(*[dict(name="f%d" % (n + 1), ahead_s=700 * n, realtime_ns=n * 3000000) for n in range(4)])
lab.start_sshd()
ENV = {k: v for k, v in environment(preload=False).items() if not k.startswith(("HPCTOP_", "OMPI_MCA_plm"))}
MPIRUN = ["mpirun", "--mca", "btl", "tcp,self"]
FOUR = MPIRUN + ["-np", "8", "-H", "f1:2,f2:2,f3:2,f4:2"]
TWO = MPIRUN + ["-np", "4", "-H", "f1:2,f2:2"]
PRIVATE = os.path.abspath("private")
lab.private(PRIVATE)


def record(folder, command, host=0, **env):
    return lab.on(host, [HPCTOP, "record"] + (["-o", folder] if folder else []) + ["--"] + command, dict(ENV, **env))


def is_whole(what, ranks, hosts, *folders):
    job = report(*folders)
    check("%s: one job of %d ranks on %d hosts" % (what, ranks, len(hosts)), job and job["job"]["ranks"] == ranks and
          job["job"]["hosts"] == hosts, job and job["job"])
    check("%s: every byte that is sent is received" % what, job and calls(job)["MPI_Send"]["bytes_sent"] ==
          calls(job)["MPI_Recv"]["bytes_received"] > 0, job and calls(job).keys())


def fetched(label, hosts):
    """Brings PRIVATE/trace of each host into a folder that all see, as scp does."""
    for host in hosts:
        lab.on(host, ["cp", "-r", "trace", os.path.abspath("%s-%d" % (label, host))], ENV, cwd=PRIVATE)
        lab.on(host, ["rm", "-r", "trace"], ENV, cwd=PRIVATE)
    return [folder for folder in ("%s-%d" % (label, host) for host in hosts) if os.path.isdir(folder)]


def last(done):
    return done.err.strip().splitlines()[-3:]


done = lab.on(0, ["ssh", "f2", "hostname; echo $HPCTOP_DIR"], dict(ENV, HPCTOP_DIR="here"))
check("ssh leads to another host, and hands on no variable", done.out.split() == ["f2"], done)

done = record("shared", FOUR + [workload("ring")])
check("a common folder: the job runs", done.code == 0 and len(traces("shared")) == 8, done)
check("a common folder: nothing is missed", "another host" not in done.err, done)
is_whole("a common folder", 8, ["f1", "f2", "f3", "f4"], "shared")

done = record(PRIVATE + "/trace", FOUR + [workload("ring")])
check("no common folder: the job runs", done.code == 0, done)
check("no common folder: the ranks without a file are named, and where it may be",
      re.search("if ranks 2-7 of 8 ran on another host: get .*trace from there and name both folders; if there is none, "
                "libtrace.so has to be there: %s" % re.escape(os.path.realpath(LIBTRACE)), done.err), done)
folders = fetched("own", range(4))
check("no common folder: each host has a folder", len(folders) == 4 and all(len(traces(f)) == 2 for f in folders), folders)
is_whole("folders that were fetched", 8, ["f1", "f2", "f3", "f4"], *folders)
said = " ".join(hpctop("report", "--all", *folders[:2]).out.split())
check("two of four folders: which ranks are missing", "no trace file here of ranks 4-7 of 8" in said, said[-600:])

os.mkdir("library")
shutil.copy(LIBTRACE, "library/libtrace.so")
namespaces.call(*lab.all[1].within("mount", "-t", "tmpfs", "none", os.path.abspath("library")))
done = record("half", TWO + [workload("ring")], HPCTOP_LIBTRACE=os.path.abspath("library/libtrace.so"))
check("libtrace.so on one host only: the job runs, half of it recorded", done.code == 0 and len(traces("half")) == 2, done)
check("libtrace.so on one host only: that is said", "if ranks 2 and 3 of 4 ran on another host" in done.err and
      "libtrace.so has to be there: %s" % os.path.abspath("library/libtrace.so") in done.err, last(done))

with open("job.sh", "w") as f:
    f.write(" ".join(TWO + [workload("ring")]) + "\n")
done = record("script", ["sh", "job.sh"])
check("a script: what does not reach other hosts is said", done.code == 0 and len(traces("script")) == 2 and
      "if ranks 2 and 3 of 4 ran on another host: Open MPI hands no variables of a script to it" in done.err, last(done))
with open("recorded.sh", "w") as f:
    f.write("%s record -o inside -- %s\n" % (HPCTOP, " ".join(TWO + [workload("ring")])))
done = lab.on(0, ["sh", "recorded.sh"], ENV)
check("a script with hpctop record in it: all ranks", done.code == 0 and len(traces("inside")) == 4, done)

done = record("behind", ["ssh", "f2"] + MPIRUN + ["-np", "2", workload("ring")])
check("ssh in front: refused, with the way that works", done.code == 2 and "ssh HOST .. hpctop record -- COMMAND" in done.err, done)
done = lab.on(0, ["ssh", "f2", "cd %s && %s record -o behind -- %s -np 2 %s" % (os.getcwd(), HPCTOP, " ".join(MPIRUN), workload("ring"))], ENV)
check("hpctop record behind ssh: recorded there", done.code == 0 and report("behind")["job"]["hosts"] == ["f2"], done)

python = python_with_torch()
if not python:
    skip("PyTorch on two hosts", "PyTorch is missing")
else:
    with open("ddp.py", "w") as f:
        f.write("import torch, torch.distributed as d\nd.init_process_group('gloo')\nx = torch.ones(1000)\n"
                "for _ in range(20):\n    d.all_reduce(x)\nd.barrier()\nd.destroy_process_group()\n")
    with open("start", "w") as f:  # what torchrun --nnodes 2 sets, which does not start in Debian 12: PyTorch 1.13 on Python 3.11
        f.write("export MASTER_ADDR=f1 MASTER_PORT=29400 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1\n"
                "for local in 0 1; do\n  RANK=$(($1 * 2 + local)) LOCAL_RANK=$local %s %s &\ndone\nwait\n" % (python, os.path.abspath("ddp.py")))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(record, PRIVATE + "/trace", ["sh", os.path.abspath("start"), str(n)], n) for n in range(2)]
        runs = [one.result() for one in runs]
    folders = fetched("torch", range(2))
    job = report(*folders) if len(folders) == 2 else None
    check("PyTorch on two hosts: folders of both are one job", job and job["job"]["ranks"] == 4 and job["job"]["hosts"] == ["f1", "f2"],
          [str(one) for one in runs] + [job and job["job"]])
    check("PyTorch on two hosts: each names the ranks of the other",
          "if ranks 2 and 3 of 4 ran on another host: get" in runs[0].err and "if ranks 0 and 1 of 4 ran on another host: get" in runs[1].err,
          [last(one) for one in runs])
lab.close()
end()
