#!/usr/bin/env python3
"""Programs rebuilt from bug reports, which are kept beside the repository: what `hpctop verdict` says of each.

  tests/field/reports.py [-j JOBS] [--keep DIR] [--learn] FOLDER [PATTERN..]

FOLDER/cases.txt has a line a program: file | MPIs and options | ranks | states | classes | culprits.  Each is run with the
default settings and asked after 14 s, 40 s and kill -9 of all; a healthy one every 4 s, and then no answer may be an alarm.
A row an answer.  The line and the thread of a right answer are for the reader to judge; --keep stores the whole answers."""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import run as field

MPIS = {"o": ["openmpi"], "m": ["mpich"], "p": ["openmpi"]}


class Report:
    def __init__(self, line):
        parts = [p.strip() for p in line.split("|")]
        classes = "|".join(parts[4:-2]) if len(parts) > 7 else parts[4]
        states = parts[3]
        # States may hold a | of their own.
        while len(parts) > 7 and re.match(r"^(healthy|slow|hung|aborted|stopped|waiting)$", parts[4]):
            states += "|" + parts.pop(4)
            classes = "|".join(parts[4:-2])
        self.file, self.how, self.ranks, self.states = parts[0], parts[1], parts[2].split(), states.split("|")
        self.classes, self.culprits = classes.split("|"), parts[-2].split("/")
        self.healthy = "healthy" in self.states

    def runs(self):
        """(MPI, launcher's options, ranks, arguments) of each run."""
        how = re.sub(r"\((?!arg)[^)]*\)", "", self.how)
        given = re.search(r"\(arguments?: ([^)]*)\)", how)
        how = re.sub(r"\([^)]*\)", "", how)
        arguments = given.group(1).split(", ") if given else ["none"]
        for word in re.split(r",| (?=[omp]\b)", how):
            word = word.strip()
            if not word:
                continue
            letter, _, options = word.partition(" ")
            for argument in arguments:
                ranks = self.ranks[-1] if argument in ("all",) else self.ranks[0]
                yield MPIS[letter][0], options.split(), int(ranks), argument.replace("none", "").split()

    def right(self, answer, after):
        state, name, who = answer.get("state"), answer.get("class") or "", sorted(answer.get("culprits") or [])
        if self.healthy:
            return state in self.states + ["waiting", "aborted" if after else "healthy"] and answer.get("exit") in (0, 1 if after else 0)
        allowed = [[int(c) for c in one if c.isdigit()] for one in self.culprits]
        return ((state in self.states or after and state == "aborted" and name in self.classes)
                and any(re.fullmatch(c, name) for c in self.classes) and who in allowed)


def program(folder, name, mpi, where):
    source = os.path.join(folder, name)
    if name.endswith(".py"):
        return ["/usr/bin/python3", source]
    out = os.path.join(where, "program")
    compiler = field.COMPILE[os.path.splitext(name)[1]] + "." + mpi
    subprocess.run([compiler, "-O1", "-g", "-w", "-I" + folder, "-o", out, source, "-lpthread", "-lm"], check=True, cwd=where)
    return [out]


def ask(trace, keep, moment):
    said = subprocess.run([field.HPCTOP, "verdict", trace], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    told = subprocess.run([field.HPCTOP, "verdict", "--json", trace], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    with open(os.path.join(keep, "said." + moment), "w") as f:
        f.write(said.stdout + said.stderr + "exit %d\n" % said.returncode + told.stdout)
    try:
        return dict(json.loads(told.stdout), exit=told.returncode)
    except ValueError:
        return {"state": "no answer", "summary": told.stderr[-100:]}


def one(folder, base, keep, report, mpi, options, ranks, arguments):
    name = "-".join([report.file.split(".")[0], mpi] + arguments)
    where = os.path.join(keep, name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    rows = []
    try:
        command = program(folder, report.file, mpi, where)
        trace = os.path.join(where, "trace")
        launch = ["mpirun." + mpi] + options + ["-n", str(ranks)] + command + arguments
        with open(os.path.join(where, "output"), "wb") as output:
            job = subprocess.Popen(launch, env=field.environment(base, where), cwd=where, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        began, known = time.monotonic(), []
        for moment in range(4, 120, 4) if report.healthy else (14, 40):
            while job.poll() is None and time.monotonic() < began + moment:
                time.sleep(0.2)
            if job.poll() is not None:
                break
            known = [pid for pid, _ in field.below(job.pid)]
            rows.append(("%d s" % moment, ask(trace, where, "%02d" % moment)))
        ended = job.poll() is not None
        field.send(known + [job.pid] if not ended else [], signal.SIGKILL)
        job.wait()
        time.sleep(0.5)
        rows.append(("end" if ended else "killed", ask(trace, where, "end")))
    except (OSError, subprocess.SubprocessError) as e:
        rows.append(("start", {"state": "no answer", "summary": str(e)[-200:]}))
    return name, rows


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("-j", type=int, default=2)
    options.add_argument("--keep")
    options.add_argument("folder")
    options.add_argument("patterns", nargs="*")
    given = options.parse_args()
    folder, keep = os.path.abspath(given.folder), given.keep or tempfile.mkdtemp(prefix="hpct-")
    with open(os.path.join(folder, "cases.txt")) as f:
        reports = [Report(line) for line in f if line.strip() and not line.startswith("#")]
    base, asked, right = field.base_environment(), 0, 0
    todo = [(folder, base, keep, r) + tuple(how) for r in reports for how in r.runs()
            if field.installed(how[0]) and (not given.patterns or any(p in r.file for p in given.patterns))]
    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for (_, _, _, report, *_), (name, rows) in zip(todo, pool.map(lambda t: one(*t), todo)):
            for moment, answer in rows:
                good = report.right(answer, moment in ("end", "killed"))
                asked, right = asked + 1, right + good
                if not good or not report.healthy:
                    print("%-32s %-7s %-5s %s %s %s: %s" % (name, moment, "right" if good else "WRONG", answer.get("state"),
                          answer.get("class"), answer.get("culprits"), answer.get("summary")), flush=True)
            if report.healthy:
                print("%-32s %d answers" % (name, len(rows)), flush=True)
    print("%d answers, %d right" % (asked, right))
    return 0 if asked == right else 1


if __name__ == "__main__":
    sys.exit(main())
