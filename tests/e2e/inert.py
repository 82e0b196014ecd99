# timeout: 240
# waits
"""libtrace.so in processes that use no MPI does nothing at all: the same output and exit status, no file, no thread, and
no system call but the loader's own for one library more.  Launchers and daemons get it too when a user sets LD_PRELOAD
for everything."""
import collections
import ctypes.util
import os
import re
import shutil
import signal
import subprocess
import time

from common import LIBTRACE, TOP, check, end, environment, run, skip, traces, wait_for, workload

# What a user's day is made of.  Each runs in an empty folder, by bash.
COMMANDS = {
    "true": "true", "false": "false", "env": "env | grep -v '^LD_PRELOAD=\\|^PWD=\\|^OLDPWD=\\|^_='",
    "bash": "for i in 1 2 3; do (echo $i); done; x=$(ls /); echo ${#x}; exec 3<>file; echo >&3; exit 3",
    "pipe": "printf '3\\n1\\n2\\n' | sort | tee copy | wc -l",
    "tar": "echo text >a; tar czf a.tgz a && rm a && tar xvzf a.tgz && cat a",
    "git": "git init -q . && git config user.email a@b && git config user.name a && echo x >f && git add f && "
           "git commit -qm x --date=2020-01-01T00:00:00Z && git log --format=%s && git status --short",
    "gcc": "echo 'int main(void){return 4;}' >a.c && gcc -O1 -o a a.c && ./a",
    "make": "printf 'all: a b\\na b:\\n\\t@echo $@\\n' >Makefile && make -j2 --output-sync | sort",
    "python": "python3 -c 'import threading, subprocess, sys; t = threading.Thread(target=print, args=(1,)); t.start(); "
              "t.join(); subprocess.run([\"true\"]); sys.exit(5)'",
    "perl": "perl -e 'print \"a\\n\"; exit 6'",
    "ssh": "ssh -V 2>&1",
    "mpicc": "mpicc --showme:version 2>/dev/null || mpicc -v 2>/dev/null | head -n 1",
    "mpirun": "mpirun -n 2 sh -c 'echo hello; exit 0'",
    "hydra": "mpiexec.hydra -n 2 sh -c 'echo hello; exit 0'",
    "slurmctld -V": "slurmctld -V", "sinfo": "sinfo --version",
    "apptainer": "apptainer version; apptainer exec /nothing true",
    "podman": "podman --version", "charliecloud": "ch-run --version 2>&1",
}
# Programs whose own processes race with each other: their system calls are not the same twice.
RACING = ("mpirun", "hydra", "make", "apptainer", "podman")


def tool(command):
    """The program that a command needs; bash has for, printf and echo itself."""
    first = re.match(r"[\w.-]+", command).group(0)
    return "bash" if first in ("for", "printf", "echo") else first


def alike(name, command):
    """Output, status, files left."""
    seen = []
    for preload in (False, True):
        folder = os.path.abspath("%s-%d" % (re.sub(r"\W", "_", name), preload))
        os.mkdir(folder)
        done = run(["bash", "-c", command], environment(None, preload, HPCTOP_VERBOSE="1"), cwd=folder)
        files = sorted(os.path.join(at, f)[len(folder):] for at, _, fs in os.walk(folder) for f in fs if "/.git/" not in at + "/")
        hide = lambda text: re.sub(r"\[\d+\]", "[PID]", text.replace(folder, ""))
        seen.append((done.code, hide(done.out), hide(done.err), files))
    check(name, seen[0] == seen[1] and seen[0][0] is not None, "with: %s, without: %s" % (seen[1], seen[0]))


CALL = re.compile(r"^\d+ +(\w+)\((.*)")


def calls_of(command, preload, folder):
    """System calls by name, all processes together, those of the loader for our library and libdl counted apart:
    (by name, loader's, paths opened, processes that loaded us)."""
    os.makedirs(folder)
    out = os.path.abspath(folder + ".strace")
    run(["strace", "-f", "-o", out, "-E", "LD_PRELOAD=" + (LIBTRACE if preload else ""), "bash", "-c", command],
        environment(None, False), cwd=folder)
    names, loader, paths, loaded, ours = collections.Counter(), [], set(), 0, {}
    with open(out, errors="replace") as f:
        for line in f:
            found = CALL.match(line)
            if not found:
                continue
            pid, (name, rest) = line.split()[0], found.groups()
            if name == "openat":
                path = re.match(r'\w+, "([^"]*)"', rest)
                path = path.group(1) if path else ""
                if path == LIBTRACE or re.search(r"/libdl\.so\.2$", path):
                    ours[pid] = []  # from here to the close: the loader maps it
                    loaded += path == LIBTRACE
                elif " = -1 " not in rest:
                    paths.add(re.sub(r"/proc/\d+|[0-9]{2,}|%s[-\w]*" % re.escape(os.path.abspath(".")) + r"|/tmp/\w+\.\w+", "", path))
            if pid in ours:
                ours[pid].append(name)
                if name == "close":
                    loader.append(tuple(ours.pop(pid)))
                continue
            names[name] += 1
    return names, loader, paths, loaded


def system_calls(name, command):
    plain = [calls_of(command, False, "%s-plain%d" % (name, i)) for i in range(3)]
    traced = [calls_of(command, True, "%s-traced%d" % (name, i)) for i in range(2)]
    if not check(name + ": the library is loaded", traced[0][3] > 0):
        return
    for again in range(5):  # names of temporary files, races that end in a message, and the like cost now and then a call more
        noise = {n for n in set().union(*(p[0] for p in plain)) if len({p[0][n] for p in plain}) > 1}
        # one mprotect for each of the two libraries; memory is the program's own affair, and moves with what is mapped
        noise |= {"brk", "mmap", "munmap"}
        if plain[0][0]["futex"]:
            noise.add("futex")  # threads of the program wait for each other: how often is the scheduler's affair
        wrong = []
        for n in sorted(set(plain[0][0]).union(*(t[0] for t in traced)) - noise):
            more = min(t[0][n] for t in traced) - max(p[0][n] for p in plain)
            allowed = 2 * traced[0][3] if n == "mprotect" else 0
            if more > allowed:  # fewer is chance: git writes an index again when a file is as young as it
                wrong.append("%s %+d (%+d allowed)" % (n, more, allowed))
        # what each traced run opened and no plain one
        odd = set.intersection(*(t[2] for t in traced)) - set().union(*(p[2] for p in plain))
        ours = {p for t in traced for p in t[2] if "hpctop" in p} - set().union(*(p[2] for p in plain))
        if ours or not wrong and not odd:
            break
        time.sleep(1)  # git's names of objects are those of a second
        plain.append(calls_of(command, False, "%s-plain-again%d" % (name, again)))
        traced.append(calls_of(command, True, "%s-again%d" % (name, again)))
    check("%s: no system call more in %d processes" % (name, traced[0][3]), not wrong, ", ".join(wrong))
    check(name + ": no other file opened", not odd and not ours, sorted(odd | ours))
    if name == "true":
        print("the loader's calls for libtrace.so and libdl:", "; ".join(" ".join(l) for l in traced[0][1][:2]))


def asleep(pid):
    """It runs sleep, and has come to where that sleeps."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            state = f.read().rsplit(")", 1)[1].split()[0]
        return state == "S" and os.readlink("/proc/%d/exe" % pid).endswith("sleep")
    except OSError:
        return False


def stays():
    """A process that stays, looked at from outside."""
    p = subprocess.Popen(["sleep", "60"], env=environment("trace-sleep"))
    wait_for(lambda: asleep(p.pid))
    with open("/proc/%d/maps" % p.pid) as f:
        maps = f.read()
    check("sleep has it", "libtrace.so" in maps)
    check("sleep has one thread", len(os.listdir("/proc/%d/task" % p.pid)) == 1)
    links = [os.readlink("/proc/%d/fd/%s" % (p.pid, fd)) for fd in os.listdir("/proc/%d/fd" % p.pid)]
    check("sleep maps and opens no trace", ".hpctop" not in maps and not [l for l in links if "hpctop" in l] and
          not os.path.exists("trace-sleep"), links)
    p.kill()
    p.wait()


def launch():
    """The whole launch: one file for each rank, none for mpirun, orted and the shell between."""
    done = run(["mpirun", "-n", "2", "bash", "-c", "exec " + workload("ring")], environment("trace-launch"))
    check("mpirun says nothing", (done.code, done.out, done.err) == (0, "", ""), done)
    check("mpirun leaves a file a rank", len(traces("trace-launch")) == 2, os.listdir("."))
    threads = []
    for preload in (False, True):
        p = subprocess.Popen(["mpirun", "-n", "1", "sleep", "60"], env=environment(None, preload), stdin=subprocess.DEVNULL)
        children = "/proc/%d/task/%d/children" % (p.pid, p.pid)
        wait_for(lambda: os.path.exists(children) and [c for c in open(children).read().split() if asleep(int(c))])
        threads.append(len(os.listdir("/proc/%d/task" % p.pid)))
        p.terminate()
        p.wait()
    check("mpirun has no thread more", threads[0] == threads[1], threads)


def daemon():
    """A real slurmctld comes up, stays and ends the same way."""
    if not shutil.which("slurmctld"):
        skip("slurmctld", "not installed")
        return
    seen = []
    for preload in (False, True):
        folder = os.path.abspath("slurm%d" % preload)
        os.makedirs(folder + "/state")
        host = os.uname().nodename.split(".")[0]
        with open(folder + "/slurm.conf", "w") as f:
            f.write("ClusterName=t\nSlurmctldHost=%s\nStateSaveLocation=%s/state\nSlurmctldPidFile=%s/pid\nSlurmUser=root\n"
                    "SlurmctldPort=%d\nProctrackType=proctrack/linuxproc\nAuthType=auth/munge\nMailProg=/bin/true\n"
                    "NodeName=%s CPUs=1 State=UNKNOWN\nPartitionName=p Nodes=ALL Default=YES\n" %
                    (host, folder, folder, 21000 + os.getpid() % 9000 + preload, host))
        p = subprocess.Popen(["slurmctld", "-D", "-f", folder + "/slurm.conf"], env=environment(None, preload), cwd=folder,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(folder + "/log", "w"))
        up = wait_for(lambda: p.poll() is not None or "as primary controller" in open(folder + "/log").read())
        last = [0]

        def steady():  # all threads are there
            now = 0 if p.poll() is not None else len(os.listdir("/proc/%d/task" % p.pid))
            last.append(now)
            return last[-1] == last[-2] == last[-3] if len(last) > 6 else False
        wait_for(steady, step=0.5)
        mapped = open("/proc/%d/maps" % p.pid).read() if p.poll() is None else ""
        p.terminate()
        seen.append((bool(up), last[-1], p.wait(), sorted(os.listdir(folder + "/state"))))
        if preload and seen[0][1]:  # without libtrace.so it came up
            check("slurmctld has it, and no trace", "libtrace.so" in mapped and ".hpctop" not in mapped)
            check("slurmctld leaves nothing", not [f for f in os.listdir(folder) if "hpctop" in f], os.listdir(folder))
    if not seen[0][0] or seen[0][1] == 0:
        skip("slurmctld", "does not come up here: %s" % open("slurm0/log").read()[-200:])
    else:
        check("slurmctld: the same threads, end and state files", seen[0] == seen[1], seen)


def privileged():
    """A setuid program.  The loader drops LD_PRELOAD, unless the library is setuid too and in a system folder; then it is
    up to us (AT_SECURE)."""
    if os.geteuid() != 0:
        skip("setuid", "needs root")
        return
    place = ctypes.util.find_library("c") and "/lib/x86_64-linux-gnu/libmvec.so.1"
    if not os.path.exists(place):
        skip("setuid", "no library that nobody needs to lay ours over")
        return
    base = "/var/tmp/hpct-setuid-%d" % os.getpid()
    os.mkdir(base, 0o755)
    try:
        for name, source, mode in (("ring", workload("ring"), 0o4755), ("libtrace.so", LIBTRACE, 0o4755)):
            shutil.copy(source, os.path.join(base, name))
            if name == "ring":
                os.chown(os.path.join(base, name), 65534, 65534)
            os.chmod(os.path.join(base, name), mode)
        if os.statvfs(base).f_flag & os.ST_NOSUID:
            skip("setuid", "no setuid programs on this file system")
            return
        os.mkdir("open", 0o777)
        os.chmod("open", 0o777)
        os.chmod(".", 0o755)
        script = "mount --bind %s/libtrace.so %s && LD_PRELOAD=libmvec.so.1 HPCTOP_VERBOSE=1 HPCTOP_DIR=$PWD/open/$1 " \
                 "TMPDIR=%s/tmp exec %s/$1" % (base, place, base, base)
        os.mkdir(base + "/tmp")
        os.chmod(base + "/tmp", 0o1777)
        shutil.copy(workload("ring"), base + "/plain")
        done = {name: run(["unshare", "--mount", "bash", "-c", script, "-", name]) for name in ("plain", "ring")}
        if not traces("open/plain"):
            skip("setuid", "the library cannot be brought in: %s" % done["plain"])
            return
        check("setuid: a program with other rights is not recorded",
              done["ring"].code == 0 and not os.path.exists("open/ring"), "%s %s" % (done["ring"], os.listdir("open")))
    finally:
        shutil.rmtree(base)


def other_libc():
    """A program of another libc takes the library in, or leaves it, and runs."""
    if not shutil.which("musl-gcc"):
        skip("musl", "no musl-gcc (musl-tools)")
        return
    with open("m.c", "w") as f:
        f.write("#include <stdio.h>\nint main(void) { puts(\"musl\"); return 7; }\n")
    subprocess.run(["musl-gcc", "-o", "m", "m.c"], check=True)
    plain, traced = run(["./m"], environment(None, False)), run(["./m"], environment("trace-musl"))
    check("musl", (plain.code, plain.out) == (traced.code, traced.out) == (7, "musl\n"), traced)
    check("musl leaves no trace", not os.path.exists("trace-musl"))


def start_up():
    """Instructions, since times are of the machine's mood: loading costs what the loader needs for our table of names."""
    if not shutil.which("valgrind"):
        skip("start-up", "no valgrind")
        return
    from start_cost import LIMIT, instructions
    plain, traced = instructions("true", None), instructions("true", LIBTRACE)
    if not plain:
        skip("start-up", "valgrind does not run here")
        return
    check("start-up: at most %d instructions more" % LIMIT, traced and 0 < traced - plain <= LIMIT, (plain, traced))


for name, command in COMMANDS.items():
    if shutil.which(tool(command)):
        alike(name, command)
    else:
        skip(name, "not installed" + ("; tests/containers/inert.py has it" if name in ("apptainer", "podman", "charliecloud") else ""))
if run(["strace", "true"]).code == 0:
    for name in ("true", "bash", "pipe", "tar", "git", "gcc", "python", "perl"):
        if shutil.which(tool(COMMANDS[name])):
            system_calls(name, COMMANDS[name])
else:
    skip("system calls", "strace is missing or not permitted")
stays()
launch()
daemon()
privileged()
other_libc()
start_up()
end()
