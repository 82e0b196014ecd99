"""A real Slurm for a test: munged, slurmctld and two slurmd, each a node with a host name of its own, in the test's folder."""
import atexit
import getpass
import os
import re
import shutil
import signal
import socket
import subprocess

from common import run, skip_all, wait_for

SBIN = os.environ["PATH"] + ":/usr/sbin:/sbin"
HERE = os.getcwd()
NODES = ("n1", "n2")
HOST = socket.gethostname().split(".")[0]

missing = [p for p in ("slurmctld", "slurmd", "munged", "srun", "sbatch", "sinfo", "unshare") if not shutil.which(p, path=SBIN)]
if missing:
    skip_all("not installed: %s" % " ".join(missing))
if os.getuid() != 0:
    skip_all("slurmd starts jobs for others than itself only as root")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def daemon(command, **env):
    """In the foreground and in the test's own process group, so that nothing stays behind whatever happens."""
    log = open(os.path.basename(command[-1]) + ".out", "wb")
    p = subprocess.Popen(command, env=dict(os.environ, PATH=SBIN, **env), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop():
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
    atexit.register(stop)
    return p


def configure(more):
    with open("slurm.conf", "w") as f:
        f.write("\n".join([
            "ClusterName=test", "SlurmctldHost=%s(127.0.0.1)" % HOST, "SlurmctldPort=%d" % free_port(),
            "SlurmUser=%s" % getpass.getuser(), "SlurmdUser=root", "AuthType=auth/munge", "CredType=cred/munge",
            "AuthInfo=socket=%s/munge/socket" % HERE, "StateSaveLocation=%s/state" % HERE,
            "SlurmctldPidFile=%s/slurmctld.pid" % HERE, "SlurmdPidFile=%s/slurmd-%%n.pid" % HERE,
            "SlurmctldLogFile=%s/slurmctld.log" % HERE, "SlurmdLogFile=%s/slurmd-%%n.log" % HERE,
            "SlurmdSpoolDir=%s/spool-%%n" % HERE, "TmpFS=%s/tmp-%%n" % HERE, "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "SwitchType=switch/none",
            "MpiDefault=none", "ReturnToService=2", "AccountingStorageType=accounting_storage/none", "JobAcctGatherType=jobacct_gather/none",
            "MailProg=/bin/true", "SlurmdParameters=config_overrides", "SchedulerType=sched/builtin",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0", "KillWait=2",
            *("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2 RealMemory=4000 State=UNKNOWN" % (n, HOST, free_port())
              for n in NODES), "PartitionName=all Nodes=%s Default=YES MaxTime=INFINITE State=UP" % ",".join(NODES), *more]) + "\n")
    # Slurm's second version of control groups ends where the first one is mounted, too.
    version = re.match(r"slurm\S* (\d+)\.", run(["slurmd", "-V"], dict(os.environ, PATH=SBIN)).out)
    with open("/proc/self/cgroup") as f:
        first = any(not line.startswith("0::") for line in f)
    with open("cgroup.conf", "w") as f:
        if version and int(version.group(1)) > 22:
            f.write("CgroupPlugin=disabled\n")
        elif version and int(version.group(1)) == 22 and first:
            f.write("CgroupPlugin=cgroup/v1\n")
    for d in ("munge", "state", *("tmp-" + n for n in NODES)):
        os.mkdir(d, 0o700)
    with open("munge/key", "wb") as f:
        f.write(os.urandom(1024))
    os.chmod("munge/key", 0o400)


def step(command, env=None, cwd=None):
    """run(), but what had to be killed leaves no job behind, for whose nodes others would wait."""
    r = run(command, env, cwd=cwd)
    if r.code is None:
        run(["scancel", "-u", getpass.getuser()])
    return r


def cluster(*more):
    """Starts it, with these lines added to slurm.conf.  False: it does not come up; the logs lie here."""
    configure(more)
    os.environ["SLURM_CONF"] = os.path.join(HERE, "slurm.conf")
    daemon(["munged", "--foreground", "--force"] + ["--%s=%s/munge/%s" % (o, HERE, f) for o, f in (
        ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))])
    if not wait_for(lambda: os.path.exists("munge/socket")):
        return False
    # Between nodes Open MPI takes UCX: its own TCP module has crashed in one of 100 MPI_Inits here, and has hung.
    os.environ.update(OMPI_MCA_pml_ucx_tls="any", OMPI_MCA_pml_ucx_devices="any")
    daemon(["slurmctld", "-D"])
    own_names = run(["unshare", "-u", "true"]).code == 0
    for n in NODES:
        slurmd = ["slurmd", "-D", "-N", n]
        daemon(["unshare", "-u", "sh", "-c", 'hostname "$4" && exec "$@"', "sh"] + slurmd if own_names else slurmd)
    if not own_names:
        os.environ["OMPI_MCA_btl"] = "tcp,self"  # two nodes of one name must not share memory
    return wait_for(lambda: run(["sinfo", "-h", "-t", "idle", "-o", "%D"]).out.strip() == "2")
