#!/usr/bin/env python3
"""Programs of users that are not recorded, and how often `hpctop look` names the right ranks.

  tests/field/look.py [--mpi openmpi|mpich] [-j JOBS] [-v] [--least SHARE] [PATTERN..]

Starts each case of cases.py that hangs, waits or is healthy, without libtrace.so, and looks at it some seconds later;
where no rank is named, or another one, once more.  A row a case, then the shares.

  right   the ranks that are named are among those that the case allows
  broad   others are named besides
  none    no rank is named
  wrong   other ranks are named
  alarm   a healthy program is said to hang, or one of its ranks not to come, with certainty `likely`

Exit 1: a healthy program is said to hang, or less than SHARE (a percentage) is right."""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from cases import CASES
from run import HPCTOP, Job, base_environment, below, build

FIRST, AGAIN = 5, 5  # seconds until the first look, and until the second


def numbers(text):
    """Ranks of "rank 3", "ranks 0-2,5"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def named(said, ranks):
    """The ranks that the answer is about."""
    if re.search(r"^all (?:\d+ )?ranks wait in .*, perhaps ", said, re.M):
        return list(range(ranks))
    found = re.search(r"^ranks? (\d[\d,-]*(?:(?:, | and )[\d-]+)*) (?:has|have|is|are|waits?|called)\b", said, re.M)
    return numbers(found.group(1)) if found else []


def judge(case, said):
    who = named(said, case.ranks)
    if case.kind == "healthy":
        return "alarm" if "hung" in said else "named" if who and "certainty: likely" in said else "right"
    if who in case.live.allowed or ("*" in case.live.culprits and "certainty: " in said):
        return "right"
    if not who:
        return "none"
    return "broad" if any(set(one) < set(who) for one in case.live.allowed if one) else "wrong"


def run(case, mpi, base, programs):
    """(judgement, what was said)"""
    folder = tempfile.mkdtemp(prefix="hpct-", dir="/dev/shm")
    env = {k: v for k, v in base.items() if k != "LD_PRELOAD"}
    result = "gone", ""
    try:
        job = Job(case, mpi, folder, env, programs, record=False)
        try:
            for pause in (FIRST, AGAIN):
                time.sleep(pause)
                job.known = [pid for pid, _ in below(job.process.pid)]
                pids = [pid for pid, rank in below(job.process.pid) if rank is not None]
                if case.act and pause == FIRST:
                    job.act()
                if not job.runs() or not pids:
                    break
                r = subprocess.run([HPCTOP, "look", str(pids[0])], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                   errors="replace")
                if r.returncode == 0:
                    result = judge(case, r.stdout), r.stdout
                if result[0] in ("right", "alarm", "named"):
                    break
        finally:
            job.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--mpi", default="openmpi")
    options.add_argument("-j", type=int, default=2)
    options.add_argument("-v", action="store_true")
    options.add_argument("--least", type=float, default=0)
    options.add_argument("pattern", nargs="*")
    asked = options.parse_args()
    wanted = [c for c in CASES if asked.mpi in c.mpis and c.kind in ("hang", "healthy") and
              (not asked.pattern or any(p in "%s/%s" % (c.kind, c.name) for p in asked.pattern))]
    base, programs = base_environment(), build(asked.mpi, wanted)
    count = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(asked.j) as pool:
        for case, (what, said) in zip(wanted, pool.map(lambda c: run(c, asked.mpi, base, programs), wanted)):
            count[case.kind, what] += 1
            print("%-8s %-28s %s" % (case.kind, case.name, what), flush=True)
            if what not in ("right", "gone") or asked.v:
                print("    wanted %s, %s; got" % (case.live.culprits, case.what))
                print("      " + "\n      ".join(said.split("\n")[:40]), flush=True)
    hangs = sum(n for (kind, what), n in count.items() if kind == "hang" and what != "gone")
    right = count["hang", "right"]
    print("\nright for %d of %d that hang (%.0f %%): %s" % (right, hangs, 100.0 * right / max(1, hangs), dict(count)))
    return 1 if count["healthy", "alarm"] or (hangs and 100.0 * right < asked.least * hangs) else 0


if __name__ == "__main__":
    sys.exit(main())
