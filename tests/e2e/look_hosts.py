# timeout: 300
# waits
"""hpctop look at a job on two hosts that do not see each other's processes: by a real ssh where mpirun and mpiexec.hydra
went, by srun (a double of it and of its tools) where Slurm started the job, from a host that has none of its ranks, too."""
import os
import re
import shutil
import signal
import subprocess

import namespaces

namespaces.enter()
from common import HPCTOP, check, end, environment, run, skip, skip_all, wait_for, workload
from waiting_program import WAITS

if os.geteuid() != 0 or not os.path.exists("/usr/sbin/sshd"):
    skip_all("no openssh-server, or this is not root")
lab = namespaces.Hosts(*[dict(name="f%d" % (n + 1), own_pids=True) for n in range(3)])
lab.start_sshd()
ENV = {k: v for k, v in environment(preload=False).items() if not k.startswith(("HPCTOP_", "OMPI_MCA_plm"))}
NOT_COME = r"rank 0 has not come to MPI_Barrier, where 3 of 4 ranks wait: in MPI_Recv.* at hang_modes\.c:\d+ in tag\n"
TITLE = r"4 ranks of %s on 2 hosts, not recorded"


def start(host, command, env=ENV):
    return subprocess.Popen(lab.all[host].within(*command), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def stop(job):
    """Ends what nsenter has started, which goes on without it; a launcher ends its ranks."""
    with open("/proc/%d/task/%d/children" % (job.pid, job.pid)) as f:
        for child in f.read().split():
            os.kill(int(child), signal.SIGTERM)
    job.wait()


def look(host, *arguments, **env):
    return lab.on(host, [HPCTOP, "look", *arguments], dict(ENV, **env))


def seen(want, host, *arguments, **env):
    r = wait_for(lambda: (lambda r: r if re.search(want, r.out) else None)(look(host, *arguments, **env)), 60)
    return r or look(host, *arguments, **env)


def by_ssh(name, program, command, env=ENV):
    job = start(0, command, env)
    r = seen(NOT_COME, 0)
    check(name + ": ranks of both hosts are one job", re.search(TITLE % program, r.out) and re.search(NOT_COME, r.out), r.out)
    check(name + ": ranks of both hosts at one place are one group", re.search(r"^ranks 1-3  MPI_Barrier.*\n    hang_modes\.c:\d+ in main$",
                                                                           r.out, re.M), r)
    r = seen("2 ranks", 1)
    check(name + ": on a host that leads nowhere, who is not seen is said",
          "2 of its 4 ranks have ended, or are on hosts that cannot be reached from here" in r.out, r)
    stop(job)


def of_mpich():
    if not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.hydra"):
        return skip("MPICH", "not installed")
    source = os.path.join(os.environ["TOP"], "workloads/hang_modes.c")
    r = run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-w", "-I", os.path.dirname(source), "-o", "hang_mpich", source])
    if check("a program of MPICH", r.code == 0, r):
        by_ssh("MPICH", "hang_mpich", ["mpiexec.hydra", "-launcher", "ssh", "-hosts", "f1:2,f2:2", "-n", "4",
                                       os.path.abspath("hang_mpich"), "tag"])


def by_srun():
    with open("waits.c", "w") as out:
        out.write(WAITS)
    run(["gcc", "-g", "-O1", "-o", "waits", "waits.c"])
    os.mkdir("slurm")
    for name, script in (("squeue", "echo 'f[1-2]'"), ("scontrol", "printf 'f1\\nf2\\n'"),
                         ("srun", 'echo "$@" >> %s/started\nwhile [ "${1#-}" != "$1" ]; do [ "$1" = -w ] && { shift; host=$1; }; shift; done\n'
                                  'case $host in\nf1) exec ssh f1 "$@";;\nf2) exec ssh f2 "$@";;\nesac\nexit 1' % os.getcwd())):
        with open("slurm/" + name, "w") as out:
            out.write("#!/bin/sh\n%s\n" % script)
        os.chmod("slurm/" + name, 0o755)
    jobs = [start(i // 2, [os.path.abspath("waits")], dict(ENV, SLURM_PROCID=str(i), SLURM_JOB_ID="4711", SLURM_STEP_NUM_TASKS="4"))
            for i in range(4)]
    path = os.path.abspath("slurm") + ":" + os.environ["PATH"]
    want = "all 4 ranks wait in MPI_Barrier"
    r = seen(want, 1, "4711", PATH=path)
    check("Slurm: ranks of both nodes are one job", re.search(TITLE % "waits", r.out) and want in r.out, r)
    with open("started") as f:
        check("Slurm: srun starts hpctop on the other node", re.search("--overlap --jobid=4711 -w f1 .* look --part SLURM_JOB_ID=4711\n", f.read()))
    r = seen(want, 2, "4711", PATH=path)
    check("Slurm: from a host that has no rank", re.search("4 ranks of 4711 on 2 hosts", r.out) and want in r.out, r)
    r = look(2, "4712", PATH=path.replace("slurm", "nowhere"))
    check("no such job anywhere", r.code == 2 and "no such job" in r.err and not r.out, r)
    for job in jobs:
        stop(job)


by_ssh("Open MPI", "hang_modes", ["mpirun", "--mca", "btl", "tcp,self", "-np", "4", "-H", "f1:2,f2:2", workload("hang_modes"), "tag"])
of_mpich()
by_srun()
lab.close()
end()
