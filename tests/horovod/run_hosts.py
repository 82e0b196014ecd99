#!/usr/bin/env python3
"""A real horovodrun on two hosts with sshd (tests/e2e/lib/namespaces.py), over MPI and over Gloo, with a folder that both
see and with one of each host: all ranks are one job.

  tests/horovod/run_hosts.py PYTHON      PYTHON: with Horovod for PyTorch, as tests/horovod/setup.sh prints it"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/e2e/lib")]
import run as runner  # noqa: E402

os.environ.update(runner.environment(os.path.join(TOP, "build/plain")))
import namespaces  # noqa: E402
from common import HPCTOP, check, end, environment, hpctop, report, skip_all  # noqa: E402

STEPS, ELEMENTS = 5, 1000
python = os.environ.setdefault("PYTHON_WITH_HOROVOD", sys.argv[-1])  # namespaces.enter drops arguments


def main():
    if os.geteuid() != 0 or not os.path.exists("/usr/sbin/sshd"):
        skip_all("no openssh-server, or this is not root")
    with open("train.py", "w") as f:
        f.write("import torch, horovod.torch as hvd\nhvd.init()\nfor step in range(%d):\n"
                "    t = hvd.allreduce(torch.full((%d,), hvd.rank() + 1.0), op=hvd.Sum, name='grad')\n"
                "    assert t[0].item() == 10, t[0]\nhvd.shutdown()\n" % (STEPS, ELEMENTS))
    lab = namespaces.Hosts(dict(name="f1"), dict(name="f2", ahead_s=700, realtime_ns=3000000))
    lab.start_sshd()
    private = os.path.abspath("private")
    lab.private(private)
    env = {k: v for k, v in environment(preload=False).items() if not k.startswith(("HPCTOP_", "OMPI_MCA_plm", "INSIDE_HOSTS"))}
    env["PATH"] = os.path.dirname(python) + ":" + os.environ["PATH"]
    for controller, call in (("mpi", "MPI_Allreduce"), ("gloo", "gloo::allreduce")):
        for folder in (controller, private + "/trace"):
            where = "%s, %s" % (controller, "a common folder" if folder == controller else "folders of each host")
            done = lab.on(0, [HPCTOP, "record", "-o", folder, "--", "horovodrun", "--" + controller, "--network-interface", "eth0",
                              "-np", "4", "-H", "f1:2,f2:2", python, os.path.abspath("train.py")], env)
            check(where + ": the job runs", done.code == 0, done)
            folders = [folder]
            if folder != controller:
                check(where + ": the ranks without a file are named", "if ranks 2 and 3 of 4 ran on another host: get" in done.err, done.err[-600:])
                folders = []
                for host in range(2):
                    to = os.path.abspath("%s-%d" % (controller, host))
                    lab.on(host, ["sh", "-c", "cp -r trace %s && rm -r trace" % to], env, cwd=private)
                    folders += [to] if os.path.isdir(to) else []
            job = report(*folders)
            check(where + ": one job of 4 ranks on 2 hosts", job and (job["job"]["ranks"], job["job"]["hosts"]) == (4, ["f1", "f2"]), job and job["job"])
            seen = sum(len(re.findall(r"%s\b.*\bsent=%d\b" % (call, 4 * ELEMENTS), hpctop("dump", one).out)) for one in folders)
            check(where + ": every allreduce of the program", seen == 4 * STEPS, "%d of %d" % (seen, 4 * STEPS))
    lab.close()
    end()


namespaces.enter()
main()
