"""NCCL programs that hang, or only seem to, on the GPU double, and what `hpctop verdict` says: as verdicts.py."""
import os
import shutil

import verdicts
from common import BUILD, check, environment, hpctop, run
from verdicts import hang, verdict

DOUBLE = os.path.join(BUILD, "gpu_double")
PROGRAMS = os.path.join(BUILD, "workloads/nccl")
RANKS = 3


def fault(mode, want, says, **env):
    """`says`: what the summary must contain, while it hangs and after kill -9."""
    seen = []

    def looked(folder, hang=verdicts.HANG):
        code, v = verdict(folder, hang)
        seen.append(v)
        return code, v

    verdicts.verdict = looked
    hang(mode, RANKS, dict(want, says=says), command=[os.path.join(PROGRAMS, "hang"), mode], LD_LIBRARY_PATH=DOUBLE, **env)
    verdicts.verdict = verdict
    last = [v for v in seen if v and v["class"] == want["class"]][-2:]
    check(mode + " says what it is", len(last) == 2 and all(says in v["summary"] for v in last),
          [v and v["summary"] for v in seen[-2:]])


def healthy_gpu(mode, seconds=5):
    os.environ["LD_LIBRARY_PATH"] = DOUBLE
    verdicts.healthy("nccl-" + mode, RANKS, ("slow",), [os.path.join(PROGRAMS, "hang_not"), mode, str(seconds)], seconds)
    del os.environ["LD_LIBRARY_PATH"]


def states(program, arguments, **env):
    """What `hpctop dump` has of the operations of a run of two ranks that ends."""
    shutil.rmtree("states", ignore_errors=True)
    r = run(["mpirun", "-n", "2", os.path.join(PROGRAMS, program)] + arguments,
            environment("states", True, LD_LIBRARY_PATH=DOUBLE, **env))
    check("%s %s ends" % (program, " ".join(arguments)), r.code == 0, r)
    return "\n".join(line for line in hpctop("dump", "states").out.splitlines()
                     if line.startswith(("op ", "device ", "fact nccl")))
