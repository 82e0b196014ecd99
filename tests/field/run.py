#!/usr/bin/env python3
"""Programs as users write them, and how often `hpctop verdict` is right about them.

  tests/field/run.py [--mpi openmpi|mpich] [-j JOBS] [-v] [--results FILE] [--learn] [PATTERN..]

Runs each case of cases.py whose `kind/name` contains a PATTERN under libtrace.so.  Asks `hpctop verdict --json` every
second until the expected answer comes, for 15 s at most; then everything is killed with SIGKILL, or the job has ended by
itself, and it is asked again.  A row a case, then a summary.  Exit 1 when hpctop or a recorded program misbehaved, or when
an answer was wrong that tests/field/known does not have; --learn writes that file anew.

  right    state, class and culprits are among those that the case allows
  missed   there is trouble, and the answer is `healthy` or `unknown`
  broad    right, but ranks are blamed besides that did nothing wrong
  class, culprit, state   there is trouble, and it is called something else
  alarm    there is none, and the answer says there is
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cases import CASES

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HPCTOP = os.environ.get("HPCTOP", os.path.join(TOP, "hpctop"))
LIBTRACE = os.environ.get("LIBTRACE", os.path.join(TOP, "libtrace.so"))
ASKED, STARTED, ENDED = 15, 60, 90  # seconds: for an answer, until all ranks are there, until a program is at its end
COMPILE = {".c": "mpicc", ".cpp": "mpicxx", ".f90": "mpifort"}


def environment(base, folder, record=True):
    env = {k: v for k, v in base.items() if k not in ("LD_PRELOAD", "PYTHONPATH") and not k.startswith("HPCTOP_")}
    env.update(TMPDIR=folder, OMPI_MCA_btl_vader_backing_directory=folder)
    if record:
        env.update(LD_PRELOAD=LIBTRACE, HPCTOP_DIR=os.path.join(folder, "trace"))
    return env


def installed(mpi):
    return shutil.which("mpirun." + mpi) and shutil.which("mpicc." + mpi)


def base_environment():
    """What each job has around it on a small machine."""
    raw = subprocess.run([os.path.join(TOP, "tests", "start"), "env", "-0"], stdout=subprocess.PIPE, check=True).stdout
    return dict(e.split("=", 1) for e in raw.decode(errors="replace").split("\0") if "=" in e)


def build(mpi, wanted):
    """Compiles what is older than its source; returns the folder."""
    where = os.path.join(TOP, "build", "field", mpi)
    os.makedirs(where, exist_ok=True)
    for name in sorted({c.file for c in wanted if not c.file.endswith(".py")}):
        source, program = os.path.join(HERE, name), os.path.join(where, name.split(".")[0])
        newest = max(os.path.getmtime(f) for f in (source, os.path.join(HERE, "field.h")))
        if not os.path.exists(program) or os.path.getmtime(program) < newest:
            compiler = "%s.%s" % (COMPILE[os.path.splitext(name)[1]], mpi)
            subprocess.run([compiler, "-g", "-O1", "-w", "-o", program, source, "-lpthread", "-lm"], check=True,
                           cwd=where, env=dict(os.environ, OMPI_CFLAGS="", CFLAGS=""))
    return where


def below(pid):
    """(pid, rank or None) of the processes below this one."""
    parents = collections.defaultdict(list)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry, errors="replace") as f:
                parents[int(f.read().rsplit(")", 1)[1].split()[1])].append(int(entry))
        except (OSError, IndexError):
            pass
    found, todo = [], [pid]
    while todo:
        for child in parents[todo.pop()]:
            todo.append(child)
            found.append((child, rank_of(child)))
    return found


def rank_of(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as f:
            env = dict(e.split(b"=", 1) for e in f.read().split(b"\0") if b"=" in e)
        with open("/proc/%d/maps" % pid) as f:
            inside = "/libmpi" in f.read()
    except (OSError, ValueError):
        return None
    rank = env.get(b"OMPI_COMM_WORLD_RANK", env.get(b"PMI_RANK"))
    return int(rank) if rank is not None and inside else None


def send(pids, number, pause=0.0):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        time.sleep(pause)


class Job:
    def __init__(self, case, mpi, folder, base, programs, record=True):
        self.case, self.folder = case, folder
        program = [os.path.join(programs, case.file.split(".")[0])]
        if case.file.endswith(".py"):
            program = ["/usr/bin/python3", os.path.join(HERE, case.file)]
        options = case.survive and {"openmpi": ["--enable-recovery"], "mpich": ["-disable-auto-cleanup"]}[mpi] or []
        self.said = open(os.path.join(folder, "said"), "wb")
        self.process = subprocess.Popen(["mpirun." + mpi] + options + ["-n", str(case.ranks)] + program + [case.program],
                                        env=environment(base, folder, record), cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=self.said, stderr=subprocess.STDOUT, start_new_session=True)
        self.known = []  # its ranks, in case that their launcher goes first

    def runs(self):
        return self.process.poll() is None

    def traces(self):
        try:
            return len([f for f in os.listdir(os.path.join(self.folder, "trace")) if f.endswith(".hpctop")])
        except FileNotFoundError:
            return 0

    def ranks(self):
        return {rank: pid for pid, rank in below(self.process.pid) if rank is not None}

    def has(self, pid):
        """Is this still a process of this job, and not another one with its number?"""
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                return self.folder.encode() in f.read()
        except OSError:
            return False

    def act(self):
        """What happens to the job from outside, as the case says."""
        what, *which = self.case.act.split()
        ranks = self.ranks()
        if what == "stop":
            send([ranks[int(which[0])]], signal.SIGSTOP)
        elif what == "duty":
            for _ in range(20):
                send([ranks[int(which[0])]], signal.SIGSTOP, 0.25)
                send([ranks[int(which[0])]], signal.SIGCONT, 0.25)
        elif what == "term_launcher":
            send([self.process.pid], signal.SIGTERM)
        elif what in ("term", "kill"):
            send(list(ranks.values()) + [self.process.pid], signal.SIGTERM if what == "term" else signal.SIGKILL)
        elif what in ("term_each", "kill_each"):
            # The launcher of a batch system's own would not interfere.
            launcher = [self.process.pid] + [pid for pid, rank in below(self.process.pid) if rank is None]
            send(launcher, signal.SIGSTOP)
            send([ranks[r] for r in sorted(ranks, key=lambda r: (r * 3 + 1) % 7)],
                 signal.SIGTERM if what == "term_each" else signal.SIGKILL, 0.8)
            send(launcher, signal.SIGKILL)
        else:
            raise ValueError(what)

    def kill(self):
        for _ in range(3):
            left = [pid for pid in self.known if self.has(pid)]
            send([pid for pid, _ in below(self.process.pid)] + left + [self.process.pid], signal.SIGKILL)
        self.process.wait()
        self.said.close()


def ask(job, hang, bad):
    """The verdict as a dict; None where there is none yet.  What is not an answer goes to `bad`."""
    folder = os.path.join(job.folder, "trace")
    r = subprocess.run([HPCTOP, "verdict", "--json"] + (["--hang", str(hang)] if hang else []) + [folder],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    try:
        if r.returncode in (0, 1, 3):
            return json.loads(r.stdout)
    except ValueError:
        pass
    if r.returncode != 2 or job.traces() >= job.case.ranks:
        bad.append("hpctop verdict: exit %d, %s" % (r.returncode, (r.stderr or r.stdout)[-200:]))
    return None


def judge(answer, expect):
    """Why this answer is not among the expected ones; "" if it is."""
    if answer is None:
        return "missed"
    state, name, culprits = answer.get("state"), answer.get("class") or "", answer.get("culprits") or []
    good = expect.allows(state, name, culprits)
    if all(good) or (expect.states == ["healthy"] and state in ("waiting", "stopped")):
        return ""
    if expect.states == ["healthy"]:
        return "alarm"
    if state in ("healthy", "unknown"):
        return "missed"
    if not all(good[:2]):
        return "class" if good[0] else "state"
    return "broad" if any(set(one) < set(culprits) for one in expect.allowed if one) else "culprit"


class Result:
    def __init__(self, case):
        self.case, self.live, self.end, self.seconds = case, None, None, None  # live and end: (why, answer)
        self.early = []  # wrong answers before the right one, each once
        self.bad = []

    def proven_wrong(self):
        return [a for why, a in [x for x in (self.live, self.end) if x] + self.early
                if why not in ("", "broad") and a and a.get("confidence") == "proven" and a.get("state") != "healthy"]


def note(result, answer, lasted):
    """Keeps a live answer.  One right answer is enough about a slow program, one alarm too much about a healthy one."""
    why, case = judge(answer, result.case.live), result.case
    if why and answer.get("state") not in ("healthy", "unknown"):
        if not any(a.get("summary") == answer.get("summary") for _, a in result.early):
            result.early.append((why, answer))
    if not why and result.seconds is None:
        result.seconds = lasted
    kept = result.live and (result.live[0] == "alarm" or case.kind == "slow" and not result.live[0])
    if not kept:
        result.live = (why, answer)
    return not why


def watch(job, result, case):
    """Asks while the job runs; does to it what the case says."""
    limit = time.monotonic() + STARTED
    while job.runs() and job.traces() < case.ranks and time.monotonic() < limit:
        time.sleep(0.1)
    job.known = job.ranks().values()
    began, acted = time.monotonic(), not case.act
    by_itself = case.ends or case.kind == "die" and not case.survive
    patience = (ENDED if by_itself else ASKED) + (case.act_after if case.act else 0)
    while job.runs():
        lasted = time.monotonic() - began
        if lasted > patience:
            if case.ends:
                result.bad.append("the program does not end")
            return
        if not acted and lasted > case.act_after:
            job.act()
            acted = True
        answer = ask(job, case.hang, result.bad)
        if not job.runs() or answer is None or not acted:
            time.sleep(0.2)
        elif note(result, answer, lasted) and not case.ends:
            return
        else:
            time.sleep(1)


def run(case, mpi, base, programs):
    result = Result(case)
    folder = tempfile.mkdtemp(prefix="hpct-", dir="/dev/shm")
    try:
        job = Job(case, mpi, folder, base, programs)
        try:
            watch(job, result, case)
        finally:
            code = job.process.poll()
            job.kill()
        with open(os.path.join(folder, "said"), errors="replace") as f:
            said = f.read()[-300:]
        if job.traces() < case.ranks:
            result.bad.append("%d traces, exit %s: %s" % (job.traces(), code, said))
        if case.kind in ("healthy", "slow") and case.ends and not case.act and code != 0:
            result.bad.append("the program ended with %s: %s" % (code, said))
        if case.kind == "hang" and code is not None:
            result.bad.append("the program did not hang, but ended with %s: %s" % (code, said))
        if case.kind == "die" and (not case.survive or code is not None):
            result.live = None
        time.sleep(0.5)
        answer = ask(job, case.hang, result.bad)
        result.end = (judge(answer, case.end), answer)
    except (OSError, KeyError, subprocess.SubprocessError) as e:
        result.bad.append("%s: %s" % (type(e).__name__, e))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def brief(answer):
    if answer is None:
        return "no answer"
    return "%s %s %s %s: %s" % (answer.get("state"), answer.get("class"), answer.get("culprits"),
                                answer.get("confidence"), answer.get("summary"))


def show(result, verbose):
    case = result.case
    parts = []
    for name, found in (("live", result.live), ("end", result.end)):
        if found:
            seconds = " %.0f s" % result.seconds if name == "live" and not found[0] and result.seconds is not None else ""
            parts.append("%s %s%s" % (name, found[0].upper() or "right", seconds))
    print("%-8s %-28s %s%s" % (case.kind, case.name, ", ".join(parts), "  PROVEN" if result.proven_wrong() else ""), flush=True)
    for name, found in (("live", result.live), ("end", result.end)):
        if found and (found[0] or verbose):
            print("    %s: wanted %s; got %s" % (name, case.live if name == "live" else case.end, brief(found[1])), flush=True)
    for why, answer in result.early:
        if not result.live or result.live[1] is not answer:
            print("    before: %s" % brief(answer), flush=True)
    for line in result.bad:
        print("    BAD: %s" % line, flush=True)


def summary(results):
    """A table: kind and moment by what was said."""
    words = ["right", "broad", "missed", "class", "culprit", "state", "alarm"]
    count = collections.Counter()
    for r in results:
        for name, found in (("live", r.live), ("end", r.end)):
            if found:
                count[r.case.kind, name, found[0] or "right"] += 1
    print("\n%-8s %-5s %5s " % ("kind", "when", "asked") + " ".join("%8s" % w for w in words))
    for kind in ("hang", "die", "slow", "healthy"):
        for name in ("live", "end"):
            row = [count[kind, name, w] for w in words]
            if sum(row):
                print("%-8s %-5s %5d " % (kind, name, sum(row)) + " ".join("%8d" % n for n in row))
    proven = sum(bool(r.proven_wrong()) for r in results)
    bad = sum(bool(r.bad) for r in results)
    right = sum(v for k, v in count.items() if k[2] == "right")
    print("%d cases, %d answers, %d right (%.0f %%); %d with a wrong `proven`; %d misbehaved" % (
        len(results), sum(count.values()), right, 100.0 * right / max(1, sum(count.values())), proven, bad))
    return bad


def known(path):
    """(MPI, kind/name, moment) of the answers that are known to be wrong, and what each was."""
    found = {}
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                words = line.split()
                if words and not line.startswith("#"):
                    found[tuple(words[:3])] = words[3]
    return found


def compare(results, mpi, learn):
    """Says which wrong answers are new, and which of the known ones are right now; returns how many are new."""
    path = os.path.join(HERE, "known")
    before, wrong, asked = known(path), {}, set()
    for r in results:
        for moment, found in (("live", r.live), ("end", r.end)):
            key = (mpi, "%s/%s" % (r.case.kind, r.case.name), moment)
            if found:
                asked.add(key)
            if found and found[0]:
                wrong[key] = found[0]
    new = sorted(set(wrong) - set(before))
    for key in new:
        print("new: %s %s %s" % (key[1], key[2], wrong[key]))
    for key in sorted(asked & set(before) - set(wrong)):
        print("right now: %s %s, was %s" % (key[1], key[2], before[key]))
    if learn:
        kept = {key: why for key, why in before.items() if key not in asked}
        with open(path, "w") as f:
            f.write("# Answers that are wrong: MPI, case, moment, how.  tests/field/run.py --learn writes this.\n")
            for key, why in sorted({**kept, **wrong}.items()):
                f.write(" ".join(key) + " " + why + "\n")
    return 0 if learn else len(new)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--mpi", choices=("openmpi", "mpich"), default="openmpi")
    options.add_argument("-j", type=int, default=1)
    options.add_argument("-v", action="store_true")
    options.add_argument("--results")
    options.add_argument("--learn", action="store_true")
    options.add_argument("patterns", nargs="*")
    given = options.parse_args()
    wanted = [c for c in CASES if given.mpi in c.mpis and
              (not given.patterns or any(p in "%s/%s" % (c.kind, c.name) for p in given.patterns))]
    if not installed(given.mpi):
        print("no " + given.mpi)
        return 77
    programs = build(given.mpi, wanted)
    base, results = base_environment(), []
    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for result in pool.map(lambda c: run(c, given.mpi, base, programs), wanted):
            show(result, given.v)
            results.append(result)
    bad = summary(results)
    if given.results:
        with open(given.results, "w") as f:
            for r in results:
                json.dump({"kind": r.case.kind, "name": r.case.name, "mpi": given.mpi, "live": r.live, "end": r.end,
                           "early": r.early, "bad": r.bad, "seconds": r.seconds, "wanted": str(r.case.live),
                           "wanted_end": str(r.case.end), "what": r.case.what}, f)
                f.write("\n")
    return 1 if compare(results, given.mpi, given.learn) or bad else 0


if __name__ == "__main__":
    sys.exit(main())
