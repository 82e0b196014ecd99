#!/usr/bin/env python3
"""A real Horovod trains a Keras model under `hpctop record`, over MPI and Gloo: its tensors by name and number, its steps,
the way of the gradients; and with one thing wrong on one rank, who and what, while it hangs and from its files.

  tests/horovod/run_keras.py [CASE..]"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/e2e/lib")]
import run as runner  # noqa: E402

os.environ.update(runner.environment(os.path.join(TOP, "build/plain")))
from common import HPCTOP, check, descendants, environment, failures, hpctop, report, skip_all  # noqa: E402

LAUNCHERS = {"mpirun": ["mpirun", "-n"], "horovodrun": ["horovodrun", "--mpi", "-np"], "gloo": ["horovodrun", "--gloo", "-np"]}
PATIENCE, HANG = 400, 5  # the first is a limit for busy machines
STEPS, EPOCHS = 20, 2
WEIGHTS = [72, 8, 18432, 64, 640, 10]  # elements of the model's gradients, in the optimizer's order
GRADIENT = re.compile(r"DistributedAdam_Allreduce/.*HorovodAllreduce_grads_")
BROADCAST = re.compile(r"HorovodBroadcast_")


class Case:
    """classes: of the verdict; tensor: one that it names; live: it hangs until it is killed."""

    def __init__(self, name, launcher, ranks, fault="none", rank=1, classes=(None, "straggler"), tensor=None, live=False, **env):
        self.name, self.launcher, self.ranks, self.fault, self.rank = name, launcher, ranks, fault, rank
        self.classes, self.tensor, self.live, self.env = classes, tensor, live, env


CASES = [
    Case("plain, horovodrun", "horovodrun", 2),
    Case("plain, mpirun, 4 ranks", "mpirun", 4),
    Case("plain, gloo", "gloo", 2),
    Case("threads disabled", "mpirun", 2, HOROVOD_MPI_THREADS_DISABLE=1),
    Case("timeline", "horovodrun", 2, HOROVOD_TIMELINE="timeline.json"),
    Case("loader is stuck, mpirun", "mpirun", 2, "stuck", 1, ("not-submitted",), GRADIENT, True),
    Case("loader is stuck, gloo", "gloo", 4, "stuck", 1, ("not-submitted",), GRADIENT, True),
    Case("broadcast on rank 0 alone", "gloo", 2, "broadcast", 0, ("not-submitted",), live=True),
    Case("leaves early, gloo", "gloo", 2, "leave", 1, ("early-exit",)),
    Case("leaves early, horovodrun", "horovodrun", 2, "leave", 1, ("early-exit",)),
    Case("slow loader", "gloo", 2, "slow", 1, ("straggler",)),
]


def launch(case, path):
    command = [HPCTOP, "record", "-q", "-o", "trace", "--", *LAUNCHERS[case.launcher], str(case.ranks), "python3",
               os.path.join(TOP, "tests/horovod/train_keras.py"), "--fault", case.fault, "--rank", str(case.rank), "--at", "5",
               "--steps", str(STEPS), "--epochs", str(EPOCHS), "--seconds", "0.5"]
    env = environment(preload=False, PATH=path, OMP_NUM_THREADS=1, HOROVOD_CYCLE_TIME=5, **case.env)
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=open("said", "wb"), stderr=subprocess.STDOUT,
                            start_new_session=True)


def kill(job):
    for pid in descendants(job.pid)[::-1] + [job.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.wait()


def said():
    with open("said", errors="replace") as f:
        return f.read()


def ask(command):
    try:
        return json.loads(hpctop(command, "--json", "--hang", str(HANG), "trace").out)
    except ValueError:
        return {}


def names(case, verdict):
    """Whether a verdict has the class, the rank and the tensor."""
    tensors = [fact.get(k) or "" for fact in verdict.get("facts", []) for k in ("name", "other_name")]
    return verdict.get("class") in case.classes and verdict.get("culprits") == [case.rank] and \
        (not case.tensor or any(map(case.tensor.search, tensors)))


def follow(case, job):
    """Until the job ends, or has hung and was named.  Returns the last verdict, and whether that was right."""
    limit, verdict = time.time() + PATIENCE, {}
    while job.poll() is None and time.time() < limit:
        time.sleep(1)
        found = ask("verdict") if case.live and "train: fault" in said() else {}
        if found.get("state") == "hung":
            verdict = found
            if names(case, verdict):
                return verdict, True
    return verdict, False


def check_training(case):
    """Everything that a healthy run has."""
    found, rep = ask("horovod"), report("trace")
    sets = found.get("sets", [])
    if not check(case.name + ": one loop a rank", len(sets) == 1 and len(sets[0]["ranks"]) == case.ranks, found):
        return
    steps = STEPS * EPOCHS
    gradients = [t for t in sets[0]["tensors"] if GRADIENT.search(t["name"])]
    check(case.name + ": each gradient, as often as there were steps",
          sorted((t["elements"], t["done"]) for t in gradients) == sorted((n, steps) for n in WEIGHTS), gradients)
    broadcasts = [t for t in sets[0]["tensors"] if BROADCAST.match(t["name"]) and t["operation"] == "broadcast"]
    check(case.name + ": each weight was broadcast once", len(broadcasts) >= len(WEIGHTS) and
          all(t["done"] == 1 for t in broadcasts), broadcasts)
    check(case.name + ": steps", steps <= sets[0]["steps"] <= steps + 2 * EPOCHS, sets[0]["steps"])
    by = "gloo" if case.launcher == "gloo" else "mpi"
    of, volume = rep["gradients"], 4 * sum(WEIGHTS) * steps * case.ranks
    check(case.name + ": all gradients by %s, and the control" % by, volume <= of["bytes"] < 1.001 * volume and
          of[by + "_bytes"] == of["bytes"] and of["control"] == by and of["control_per_s"] > 0, of)
    check(case.name + ": the page says so", re.search(r"MB of gradients \(%d ranks\) went by %s;\s+control by" % (
        case.ranks, "Gloo" if by == "gloo" else "MPI"), hpctop("report", "trace").out), hpctop("report", "trace"))
    rounds = [c for c in rep["ranks"] if sum(a["seconds"] for a in c["accounts"] if a["account"] == "transfer") > 0.5 * c["wall_s"]]
    check(case.name + ": rounds of the control are no transfer", not rounds, rounds)


def one(case, path):
    shutil.rmtree("trace", ignore_errors=True)
    job = launch(case, path)
    verdict, right = follow(case, job)
    if case.live:
        check(case.name + ": named while it hangs", right, (verdict.get("summary"), verdict.get("class"), said()[-300:]))
    ended = job.poll()
    kill(job)
    if case.live:
        return
    verdict = ask("verdict")
    if case.fault == "none":
        check(case.name + ": it ends well", ended == 0, said()[-500:])
        check(case.name + ": healthy", verdict.get("class") in case.classes, verdict)
    else:
        check(case.name + ": named from the files", names(case, verdict), (verdict.get("summary"), verdict.get("class"), said()[-300:]))
    if case.fault in ("none", "slow"):
        check_training(case)
    if "HOROVOD_TIMELINE" in case.env:
        with open(case.env["HOROVOD_TIMELINE"]) as f:
            check(case.name + ": Horovod's own has the gradients", GRADIENT.search(f.read()))


def main():
    setup = subprocess.run([os.path.join(TOP, "tests/horovod/setup.sh"), "tensorflow"], stdout=subprocess.PIPE)
    if setup.returncode:
        skip_all("no Horovod for TensorFlow: see above")
    path = os.path.dirname(setup.stdout.decode().split()[-1]) + ":" + os.environ["PATH"]
    folder = tempfile.mkdtemp(prefix="hpct-")
    os.chdir(folder)
    for case in CASES:
        if not sys.argv[1:] or any(word in case.name for word in sys.argv[1:]):
            one(case, path)
    os.chdir("/")
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures() else 0)


if __name__ == "__main__":
    main()
