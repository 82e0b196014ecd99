# timeout: 240
# waits
"""Jobs that a signal or the batch system's freezer has stopped as a whole, or all ranks of one host: seen by a viewer that
can look at the processes, and by one on another host that has only their heartbeats."""
import json
import os
import signal
import subprocess
import time

import namespaces

namespaces.enter()
from common import LIBTRACE, TOP, check, end, environment, hpctop, skip, together, wait_for, workload
from verdicts import kill_group, start, verdict

SKEW = os.path.abspath("skew.so")


SUSPENDED = dict(state=("stopped",), classes=(None,), status=0)


def says(folder, words, culprits, state=("hung",), within=None, classes=("dead-rank",), later=0, status=1):
    """The verdict, once it has these words."""
    def look():
        found[:] = [looked(folder, within, later) if within else verdict(folder)]
        code, v = found[0]
        good = v and code == status and v["state"] in state and v["class"] in classes and words in v["summary"]
        return good and (culprits is None or v["culprits"] == culprits)

    found = []
    return wait_for(look, 60), found


def looked(folder, host, later=0):
    """From `host`, where our processes cannot be seen: another boot id and name; as if it were so many seconds later."""
    env = dict(os.environ, LD_PRELOAD=SKEW, SKEW_REALTIME_NS=str(later * 10**9)) if later else None
    r = subprocess.run(host.within(os.environ["HPCTOP"], "verdict", "--json", "--hang", "2", "--look", "0.6", folder), env=env,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        return r.returncode, json.loads(r.stdout.decode())
    except ValueError:
        return r.returncode, None


def send(pids, number):
    for pid in pids:
        os.kill(pid, number)


def works(folder, ranks):
    """The report, once all ranks are at work."""
    def look():
        r = hpctop("report", "--json", folder)
        rep = json.loads(r.out) if r.code == 0 else {"ranks": []}
        return len(rep["ranks"]) == ranks and all(rank["calls"] > 20 for rank in rep["ranks"]) and rep

    return wait_for(look, 60)


def healthy(folder, within=None):
    def look():
        code, v = looked(folder, within) if within else verdict(folder)
        return v and v["state"] in ("healthy", "slow")

    return wait_for(look, 60)


def frozen(pids):
    """A group of the kernel's freezer with these processes: (freeze, thaw), or None where there can be none."""
    def write(path, text):
        with open(path, "w") as f:
            f.write(text)

    for folder, name, on, off in (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
                                  ("/sys/fs/cgroup", "cgroup.freeze", "1", "0")):
        group = "%s/hpctop-freeze-%d" % (folder, os.getpid())
        try:
            if not os.path.exists(folder + "/cgroup.procs"):
                continue
            os.mkdir(group)
            if not os.path.exists(os.path.join(group, name)):
                os.rmdir(group)
                continue
            for pid in pids:
                write(group + "/cgroup.procs", str(pid))
        except OSError:
            continue

        def thaw():
            write(os.path.join(group, name), off)
            for pid in pids:
                try:
                    write(folder + "/cgroup.procs", str(pid))
                except OSError:
                    pass

        return lambda: write(os.path.join(group, name), on), thaw, group
    return None


def here(far):
    """All on this machine, looked at from here and from a host where none of them can be seen."""
    p = start(3, [workload("hang_not"), "server", "200"], "here")
    pids = [r["pid"] for r in works("here", 3)["ranks"]]
    send(pids, signal.SIGSTOP)
    good, v = says("here", "all 3 processes are stopped by a signal", [0, 1, 2], **SUSPENDED)
    check("all stopped by a signal", good, v)
    r = hpctop("report", "--all", "here")
    check("all stopped: the report begins with it", "all 3 processes are stopped" in r.out.split("\n\n")[1], r.out[:400])
    good, v = says("here", "all 3 processes give no sign of life", [0, 1, 2], within=far)
    check("all stopped: seen from another host", good, v)
    send(pids, signal.SIGCONT)
    check("they go on: healthy again", healthy("here"))
    check("they go on: healthy again, seen from another host", healthy("here", far))

    freezer = frozen(pids)
    if not freezer:
        skip("frozen", "no freezer of control groups can be had here")
    else:
        freeze, thaw, group = freezer
        freeze()
        good, v = says("here", "all 3 processes stand still: they exist and are frozen", [0, 1, 2], **SUSPENDED)
        check("all frozen", good, v)
        thaw()
        check("they thaw: healthy again", healthy("here"))
        os.rmdir(group)

    send(pids, signal.SIGSTOP)
    time.sleep(1)
    kill_group(p)
    # Heartbeats come twice a second, later where cores are few: one may seem to have gone before the others.
    good, v = says("here", "without MPI_Finalize", None, ("aborted", "hung"), classes=("dead-rank", "killed"))
    check("stopped, then killed: it is over", good, v)
    check("stopped, then killed: that it may have been stopped is said",
          any("or stopped (SIGSTOP" in line for line in v[0][1]["evidence"]), v)


def hosts(lab):
    """Four ranks on two hosts; those of the second are stopped."""
    env = environment(os.path.abspath("two"), LIBTRACE)
    command = lab.all[0].within("mpirun", "--mca", "plm_rsh_agent", os.path.abspath("agent"), "--mca", "btl", "tcp,self",
                                "--host", "alpha:2,beta:2", "--map-by", "node", "-n", "4", "-x", "LD_PRELOAD", "-x", "HPCTOP_DIR",
                                workload("hang_not"), "sleep", "200")
    p = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)
    try:
        rep = works("two", 4)
        there = [r for r in rep["ranks"] if r["host"] == "beta"]
        check("two hosts", len(there) == 2, rep["ranks"])
        send([r["pid"] for r in there], signal.SIGSTOP)
        ranks = [r["rank"] for r in there]
        good, v = says("two", "all 2 processes on beta", ranks, within=lab.all[0])
        check("all of one host stopped: seen from the other", good and "no sign of life" in v[0][1]["summary"], v)
        good, v = says("two", "all 2 processes on beta", ranks, within=lab.all[1])
        check("all of one host stopped: seen there", good and "are stopped by a signal" in v[0][1]["summary"], v)
        send([r["pid"] for r in rep["ranks"]], signal.SIGKILL)
        p.wait(30)
        good, v = says("two", "all 2 processes on beta", ranks, within=lab.all[0], later=60)  # after that long they count as gone
        check("all of one host stopped: from the files", good, v)
    finally:
        kill_group(p)


subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-shared", "-fPIC", "-o", SKEW, os.path.join(TOP, "tests/e2e/hosts/skew.c")], check=True)
namespaces.call("ip", "link", "set", "lo", "up")
lab = namespaces.Hosts(dict(name="alpha"), dict(name="beta"), dict(name="login"))
together([lambda: here(lab.all[2]), lambda: hosts(lab)])
lab.close()
end()
