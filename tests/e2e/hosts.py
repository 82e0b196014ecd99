# timeout: 300
# alone
"""One mpirun over several hosts: namespaces with names, addresses, boot ids and clocks of their own (lib/namespaces.py).
The fit must find what the clocks were set to, and the known answers must hold as on one host."""
import json
import os
import re
import shutil
import subprocess
import threading
import time

import namespaces

namespaces.enter()
from common import LIBTRACE, TOP, check, end, environment, hpctop, report, run, skip, traces, wait_for, workload
from compare import differences

TAI = time.CLOCK_TAI if hasattr(time, "CLOCK_TAI") else 11  # no namespace and no skew.c changes it
LOW, HIGH = 0.75, 1.25  # of injected delays; who is late to be scheduled after a message waits less for the next
SKEW = os.path.abspath("skew.so")
subprocess.run(["gcc", "-std=gnu11", "-O1", "-Wall", "-shared", "-fPIC", "-o", SKEW, os.path.join(TOP, "tests/e2e/hosts/skew.c")],
               check=True)
FORWARD = ["-x", "LD_PRELOAD", "-x", "HPCTOP_DIR", "-x", "TRUTH", "-x", "TRUTH_CLOCK"]


def job(lab, name, arguments, folder, ranks=4):
    """Runs a workload with truth; returns (what happened, truth, report)."""
    truth = os.path.abspath("truth.json")
    if os.path.exists(truth):
        os.remove(truth)
    env = environment(folder, LIBTRACE + ":" + SKEW, TRUTH=truth, TRUTH_CLOCK=TAI)
    # LD_PRELOAD is for the ranks; mpirun itself has the clocks of this machine
    done = lab.mpirun(["--map-by", "node", "-n", str(ranks)] + FORWARD + [workload(name)] + arguments, env)
    want = None
    if os.path.exists(truth):
        with open(truth) as f:
            want = json.load(f)
    return done, want, report(folder) if done.code == 0 else None


def counts(lab, label):
    for name, arguments in (("ring", []), ("p2p_nonblocking", []), ("collectives_blocking", []), ("p2p_persistent", []),
                            ("stencil", ["0.5", "-1"])):
        folder = os.path.abspath("%s-%s" % (label, name))
        done, want, rep = job(lab, name, arguments, folder)
        if not check("%s: %s runs" % (label, name), done.code == 0 and rep and want, done):
            continue
        wrong = differences(want, rep)
        check("%s: %s" % (label, name), not wrong, "; ".join(wrong[:12]))
        check("%s: %s is of %d hosts" % (label, name, len(lab.all)),
              rep["job"]["hosts"] == [h.name for h in lab.all] and len(traces(folder)) == 4,
              (rep["job"]["hosts"], os.listdir(folder)))


def clocks(lab, label, folder, before):
    """Every host's clock was found to be where it was set."""
    rep, after = report(folder), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    found = {c["host"]: c for c in rep["clocks"]}
    first = lab.all[0]
    for host in lab.all[1:]:
        c = found.get(host.name)
        if not check("%s: %s has a clock of its own" % (label, host.name), c is not None, rep["clocks"]):
            continue
        # what they differ by grows with the drift while the job runs
        offsets = [(host.clock_ns(t) - first.clock_ns(t)) / 1e9 for t in (before, after)]
        walls = [(host.realtime_ns + host.drift_ns(t) - first.realtime_ns - first.drift_ns(t)) / 1e9 for t in (before, after)]
        check("%s: %s: fitted" % (label, host.name), c["fitted"] and 0 < c["error_s"] < 0.005, c)
        check("%s: %s: the offset" % (label, host.name),
              min(offsets) - c["error_s"] <= c["offset_s"] <= max(offsets) + c["error_s"], (offsets, c))
        check("%s: %s: the wall clock" % (label, host.name),
              min(walls) - c["error_s"] <= c["realtime_s"] <= max(walls) + c["error_s"], (walls, c))
    text = hpctop("report", "--all", folder).out
    check("%s: the report says so" % label, text.count("the wall clock of ") == len(lab.all) - 1, text[-600:])
    check("%s: no message arrives before it leaves" % label, "arrive before they leave" not in text, text[-600:])


def waits(lab, label):
    for name, ranks in (("late_sender", 2), ("late_receiver", 2), ("late_collective", 4), ("imbalance", 4)):
        folder, before = os.path.abspath("%s-%s" % (label, name)), time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        done, want, rep = job(lab, name, [], folder, ranks)
        if not check("%s: %s runs" % (label, name), done.code == 0 and rep and want, done):
            continue
        seen = {(w["kind"], w["waiter"], w["culprit"]): w["lost_s"] for w in rep["waits"]}
        error = sum(c["error_s"] for c in rep["clocks"])  # each wait may be wrong by what the report says of the clocks
        long = [w for w in want["waits"] if w["seconds"] > 0.02]
        check("%s: %s: some waits are long" % (label, name), long, want["waits"])
        for w in long:
            lost = seen.pop((w["kind"], w["waiter"], w["culprit"]), 0)
            check("%s: %s: rank %d waits for rank %d" % (label, name, w["waiter"], w["culprit"]),
                  LOW * w["seconds"] - w["count"] * error <= lost <= HIGH * w["seconds"] + w["count"] * error,
                  "%.6f s of %.6f s, %d times %.6f s" % (lost, w["seconds"], w["count"], error))
        total = sum(w["seconds"] for w in want["waits"])
        if ranks == 4:  # of the others only the delays are measured: on a busy machine their ranks really wait for more
            check("%s: %s: nobody else is blamed" % (label, name), sum(seen.values()) < 0.25 * total, seen)
            clocks(lab, label + ": " + name, folder, before)


LABS = {
    # Machines whose wall clocks NTP holds within 8 ms, one that nobody set, and a fast quartz.
    "hosts": [dict(name="alpha"), dict(name="beta", ahead_s=3000, realtime_ns=8000000),
              dict(name="gamma", ahead_s=86400, realtime_ns=-4000000000, ppm=40)],
    # Containers on one machine: the same boot, but time namespaces.
    "containers": [dict(name="one", own_boot=False), dict(name="two", ahead_s=500, own_boot=False)],
    # Wall clocks that nobody set for a long time.
    "wrong": [dict(name="delta"), dict(name="epsilon", ahead_s=700, realtime_ns=-300000000000)],
}


def hydra(lab):
    """MPICH's launcher hands on the whole environment, and no name of the run: it is in its proxies' command lines."""
    if not shutil.which("mpirun.mpich") or not shutil.which("mpicc.mpich"):
        skip("hydra", "no MPICH here")
        return
    subprocess.run(["mpicc.mpich", "-std=c11", "-D_GNU_SOURCE", "-w", "-o", "ring.mpich", os.path.join(TOP, "workloads/ring.c")],
                   check=True)
    program, seen = os.path.abspath("ring.mpich"), []
    for label, command in (("hydra", [program]), ("hydra, a shell between", ["sh", "-c", program + "; true"])):
        cwd, truth = os.path.abspath("cwd-" + label.replace(" ", "")), os.path.abspath("truth.json")
        os.mkdir(cwd)
        done = lab.hydra(["-n", "4"] + command, environment(None, TRUTH=truth), cwd=cwd)
        made = [f for f in os.listdir(cwd) if f.startswith("hpctop-")]
        rep = report(os.path.join(cwd, made[0])) if done.code == 0 and len(made) == 1 else None
        if check(label + ": one folder", rep is not None, (made, done)):
            with open(truth) as f:
                wrong = differences(json.load(f), rep)
            check(label + ": the known answers on both hosts", not wrong and rep["job"]["hosts"] == [h.name for h in lab.all],
                  wrong or rep["job"])
            seen.append(made[0])
    check("hydra: two runs have two names", len(set(seen)) == 2, seen)


def folders(lab):
    """What ends up where, started as users do it."""
    def one(label, arguments, wanted, env=None, preload=True):
        """Started in a folder of its own; there must be one folder with four files, whose name fits."""
        cwd = os.path.abspath("cwd-" + str(len(os.listdir("."))))
        os.mkdir(cwd)
        env = {k: v.replace("CWD", cwd) for k, v in dict(environment(None, LIBTRACE if preload else False), **env or {}).items()}
        done = lab.mpirun(["--map-by", "node", "-n", "4"] + arguments + [workload("ring")], env, cwd=cwd)
        found = sorted(os.path.relpath(os.path.join(at, f), cwd) for at, _, files in os.walk(cwd) for f in files)
        good = done.code == 0 and len(found) == 4 and len({os.path.dirname(f) for f in found}) == 1
        check("folders: " + label, good and re.match(wanted, os.path.dirname(found[0])), (found, done))

    preload = ["-x", "LD_PRELOAD"]
    one("the default is one folder where mpirun was started", preload, r"hpctop-[^/]+$")
    one("a batch system's variables on one host only change nothing", preload, r"hpctop-[^/]+$",
        dict(PBS_JOBID="77.server", SLURM_JOB_ID="78", JOB_ID="79", LSB_JOBID="80"))
    one("a relative HPCTOP_DIR", preload + ["-x", "HPCTOP_DIR=a/b"], "a/b$")
    one("an absolute HPCTOP_DIR", preload + ["-x", "HPCTOP_DIR"], "deep$", dict(HPCTOP_DIR="CWD/deep"))
    one("LD_PRELOAD for the program only", ["env", "LD_PRELOAD=" + LIBTRACE, "HPCTOP_DIR=t"], "t$", preload=False)
    hydra(lab)
    # Without -x only the ranks beside mpirun have it: the report must not pass for the whole job.
    half = os.path.abspath("half")
    done = lab.mpirun(["--map-by", "node", "-n", "4", workload("ring")], environment(half, LIBTRACE))
    rep, text = report(half), hpctop("report", "--all", half).out
    check("folders: without -x half the ranks are missing, and that is said",
          done.code == 0 and rep and rep["job"]["ranks"] == 2 and rep["job"]["world_size"] == 4 and
          "no trace" in text, (rep and rep["job"], text[:600]))


def live(lab, label):
    """One look at a running job: its ranks live, however wrong a wall clock is, and the clocks are fitted."""
    folder, enough, seen = os.path.abspath(label + "-live"), os.path.abspath("enough"), []

    def look():
        wait_for(lambda: os.path.isdir(folder) and len(traces(folder)) == 4)
        time.sleep(8)  # heartbeats on both sides, by which a wall clock could be believed
        seen.append(wait_for(lambda: (lambda r: r if r and r["clocks"] and all(c["fitted"] for c in r["clocks"]) else None)(report(folder)), 60))
        open(enough, "w").close()

    watcher = threading.Thread(target=look)
    watcher.start()
    done, _, after = job(lab, "stencil", ["600", "-1", enough], folder)
    watcher.join()
    now = seen[0]
    if not check("%s: live: a report of the running job" % label, now and after and now["job"]["ranks"] == 4, (done, now)):
        return
    check("%s: live: it runs, on all hosts" % label, now["job"]["state"] == "running" and
          all(r["state"] in ("run", "wait") for r in now["ranks"]), (now["job"], now["ranks"]))
    check("%s: live: one look fits the clocks" % label, now["clocks"] and all(c["fitted"] for c in now["clocks"]), now["clocks"])
    error = sum(c["error_s"] for c in now["clocks"] + after["clocks"])
    check("%s: live: as well as afterwards" % label,
          len(now["clocks"]) == len(after["clocks"]) and
          all(abs(a["realtime_s"] - b["realtime_s"]) <= error + 1e-3 for a, b in zip(now["clocks"], after["clocks"])),
          (now["clocks"], after["clocks"]))


for _ in range(8):
    namespaces.Hosts(dict(name="again"), dict(name="other")).close()
check("hosts can be made while the kernel still ends the last ones", True)
for label, wanted in LABS.items():
    lab = namespaces.Hosts(*wanted)
    if label == "wrong":
        live(lab, label)
    else:
        counts(lab, label)
        waits(lab, label)
    if label == "containers":
        folders(lab)
    lab.close()
end()
