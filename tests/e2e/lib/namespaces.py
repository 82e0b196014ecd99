"""Several hosts on one machine: each is a set of namespaces (UTS, network, mount, time) with a name, an address, a
boot id and clocks of its own.  One bridge joins them.  mpirun reaches them through an agent that does what
ssh would: a shell there, with a clean environment.

Everything lives in namespaces of this process (made anew by `enter`), and goes when the test ends."""
import atexit
import ctypes
import itertools
import os
import shutil
import subprocess
import sys

from common import LONG, run, skip_all

CLEAN = ("PATH", "HOME", "LC_ALL", "TMPDIR", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
         "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_reachable")


def enter():
    """First thing of a test: namespaces in which we may make others.  An ordinary user needs one for users as well."""
    for tool in ("unshare", "nsenter", "ip", "mount"):
        if not shutil.which(tool):
            skip_all("%s is missing (util-linux, iproute2)" % tool)
    if "INSIDE_HOSTS" in os.environ:
        return
    inside = ["unshare", "--mount", "--net"] + (["--map-root-user"] if os.geteuid() != 0 else [])
    trial = run(inside + ["unshare", "--net", "--uts", "--mount", "--time", "--fork",
                          "--monotonic", "1000", "--boottime", "1000",
                          "sh", "-c", "hostname trial && mount --bind /dev/null /proc/sys/kernel/random/boot_id"])
    if trial.code != 0:
        skip_all("namespaces are not permitted here: " + trial.err.strip())
    os.environ["INSIDE_HOSTS"] = "1"
    os.execvp(inside[0], inside + [sys.executable, os.path.abspath(sys.argv[0])])


def call(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


ports = itertools.count(1)  # a host that was closed may keep its name for a while: the kernel ends its network later


class Host:
    def __init__(self, bridge, number, name, ahead_s=0, realtime_ns=0, ppm=0, own_boot=True, own_pids=False):
        """`ahead_s`: its CLOCK_MONOTONIC less ours (time namespace); `realtime_ns`, `ppm`: see skew.c; `own_pids`: it sees
        its own processes only."""
        self.pids = ["--pid"] if own_pids else []
        self.name, self.ahead_s, self.realtime_ns, self.ppm = name, ahead_s, realtime_ns, ppm
        boot = os.path.abspath("boot-" + name)
        with open(boot, "w") as f:
            f.write("%08x-0000-4000-8000-000000000000\n" % (number + 1))
        script = "hostname %s && " % name
        script += "mount --bind %s /proc/sys/kernel/random/boot_id && " % boot if own_boot else ""
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "--fork", "--kill-child", "--time",
             *(["--pid", "--mount-proc"] if own_pids else []), "--monotonic", str(ahead_s), "--boottime", str(ahead_s),
             "sh", "-c", script + "echo ready && exec sleep 100000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        atexit.register(self.holder.kill)
        if self.holder.stdout.readline() != b"ready\n":
            raise RuntimeError("no host %s" % name)
        with open("/proc/%d/task/%d/children" % (self.holder.pid, self.holder.pid)) as f:
            self.pid = int(f.read().split()[0])
        port = "port%d" % next(ports)
        call("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid))
        call("ip", "link", "set", port, "master", bridge, "up")
        for line in ("addr add 10.77.0.%d/24 dev eth0" % (number + 1), "link set eth0 up", "link set lo up"):
            call(*self.within("ip", *line.split()))
        self.skew = {"SKEW_REALTIME_NS": str(realtime_ns), "SKEW_PPM": str(ppm)}

    def within(self, *command):
        return ["nsenter", "-t", str(self.pid), "--net", "--uts", "--mount", "--time", *self.pids,
                "--wd=" + os.getcwd()] + list(command)

    def clock_ns(self, raw_ns):
        """What its CLOCK_MONOTONIC shows (through skew.c) when that of this machine shows `raw_ns`."""
        return raw_ns + self.ahead_s * 1000000000 + self.drift_ns(raw_ns)

    def drift_ns(self, raw_ns):
        return (raw_ns + self.ahead_s * 1000000000) * self.ppm // 1000000


class Hosts:
    """hosts = Hosts(Host arguments..); hosts.mpirun(["-n", "4", program], ...)"""

    def __init__(self, *wanted):
        self.bridge = "bridge%d" % next(ports)
        call("ip", "link", "add", self.bridge, "type", "bridge")
        call("ip", "link", "set", self.bridge, "up")
        self.all = [Host(self.bridge, number, **w) for number, w in enumerate(wanted)]
        with open("etc-hosts", "w") as f:
            f.write("127.0.0.1 localhost\n")
            f.writelines("10.77.0.%d %s\n" % (number + 1, host.name) for number, host in enumerate(self.all))
        for host in self.all:
            call(*host.within("mount", "--bind", os.path.abspath("etc-hosts"), "/etc/hosts"))
        with open("agent", "w") as f:  # in place of ssh: agent HOST COMMAND..
            f.write("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done  # options of ssh\nhost=$1; shift\ncase $host in\n")
            for host in self.all:
                clean = ["%s=%s" % (k, os.environ[k]) for k in CLEAN if k in os.environ]
                clean += ["%s=%s" % pair for pair in host.skew.items()]
                f.write("%s) exec %s env -i %s sh -c \"cd /; $*\" ;;\n" %
                        (host.name, " ".join(host.within()).replace("--wd=" + os.getcwd(), ""),
                         " ".join("'%s'" % c for c in clean)))
            f.write("esac\necho \"agent: no host $host\" >&2\nexit 255\n")
        os.chmod("agent", 0o755)

    def start_sshd(self):
        """`ssh HOST` works on all hosts, between all of them and without a question, by a real sshd on each."""
        os.mkdir("ssh")
        key = os.path.abspath("ssh/key")
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        with open("ssh/client", "w") as f:
            f.write("Host *\nIdentityFile %s\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n" % key)
        for host in self.all:
            of_host = os.path.abspath("ssh/" + host.name)
            with open(of_host, "w") as f:
                f.write("HostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nPidFile none\n" % (key, key))
                f.write("SetEnv %s\n" % " ".join('"%s=%s"' % (k, os.environ[k]) for k in CLEAN[2:] if k in os.environ))
            call(*host.within("sh", "-c", "mount -t tmpfs none /run && mkdir /run/sshd && mount --bind %s /etc/ssh/ssh_config && "
                              "/usr/sbin/sshd -f %s" % (os.path.abspath("ssh/client"), of_host)))

    def private(self, folder):
        """Gives each host a folder of its own by this name, as a local disk is."""
        os.makedirs(folder, exist_ok=True)
        for host in self.all:
            call(*host.within("mount", "-t", "tmpfs", "none", os.path.abspath(folder)))

    def on(self, number, command, env, timeout=LONG, cwd=None):
        """Runs a command on a host; unlike `within` it enters its folder there, below what is mounted."""
        return run(self.all[number].within("sh", "-c", 'cd "$0" && exec "$@"', cwd or os.getcwd(), *command),
                   dict(env, **self.all[number].skew), timeout)

    def close(self):
        """What is left over when this fails goes with the namespaces of the test, when it ends."""
        for host in self.all:
            host.holder.kill()
            host.holder.wait()
        call("ip", "link", "del", self.bridge)

    def mpirun(self, arguments, env, slots=2, timeout=LONG, cwd=None):
        """Open MPI's mpirun on the first host, over all."""
        return self.launch(["mpirun", "--mca", "plm_rsh_agent", os.path.abspath("agent"), "--mca", "btl", "tcp,self",
                            "--host", self.slots(slots)] + arguments, env, timeout, cwd)

    def hydra(self, arguments, env, slots=2, timeout=LONG, cwd=None):
        """MPICH's."""
        return self.launch(["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", os.path.abspath("agent"), "-hosts",
                            self.slots(slots)] + arguments, env, timeout, cwd)

    def slots(self, each):
        return ",".join("%s:%d" % (h.name, each) for h in self.all)

    def launch(self, command, env, timeout, cwd):
        place = ["--wd=" + (cwd or os.getcwd())]
        return run(self.all[0].within()[:-1] + place + command, dict(env, **self.all[0].skew), timeout)
