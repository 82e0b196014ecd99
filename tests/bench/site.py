#!/usr/bin/env python3
"""make bench, its last table: what it costs a site to record every job (docs/site.md), in processor time, because runs of one
job differ by more in wall time: the task prolog, the start and end of a rank, what goes on all the time, a call, and what
the epilog takes (`hpctop jobs --add`) of jobs of 2, 16 and 64 ranks, short ones and such as fill their 8 MB a rank.  From
these: how long a rank must run so that all of it is below 0.1 % of the job's processors.

  site.py BUILD [--rounds N] [--quick]
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import bench

TOP = bench.TOP
SHARE, LIMIT = 0.001, 8 << 20
RANKS, RATES = (2, 16, 64), (100, 1000, 10000)
class Command:
    """A command under way, whose processor time is asked for: its own, and that of those whose end it waited for."""

    def __init__(self, command, env):
        self.name = command
        self.child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)

    def end(self):
        """Returns its seconds of processor time, and what it printed."""
        said = self.child.stdout.read().decode()
        _, status, used = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if status:
            raise SystemExit("%s failed" % " ".join(self.name))
        return used.ru_utime + used.ru_stime, said


def taken(command, env=None):
    return Command(command, env).end()[0]


def spread_of(values, factor=1e3, form="%.2f"):
    return bench.spread([v * factor for v in values], form)


class Site:
    """hpctop as it is installed, and a folder for all traces."""

    def __init__(self, build, folder):
        self.build, self.folder = os.path.join(TOP, build), folder
        self.slurm = os.path.join(folder, "opt/share/hpctop/slurm")
        library = os.path.join(folder, "opt/lib/hpctop")
        for path in (self.slurm, library, os.path.join(folder, "site")):
            os.makedirs(path)
        os.mkdir(os.path.join(folder, "site/17"), 0o700)  # the prolog of the job has made it
        shutil.copy(os.path.join(TOP, "packaging/slurm/task-prolog"), self.slurm)
        shutil.copy(os.environ.get("LIBTRACE", os.path.join(TOP, "libtrace.so")), library)
        with open(os.path.join(self.slurm, "site"), "w") as f:
            f.write(os.path.join(folder, "site") + "\n")
        self.bare = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("HPCTOP")}
        self.bare["SLURM_JOB_ID"] = "17"
        self.prolog_line = [os.path.join(self.slurm, "task-prolog")]
        said = Command(self.prolog_line, self.bare).end()[1]
        self.traced = dict(self.bare, **dict(line.split(" ", 1)[1].split("=", 1) for line in said.splitlines()))
        if "HPCTOP_DIR" not in self.traced:
            raise SystemExit("the task prolog records nothing: %s" % said)
        self.program = os.path.join(folder, "computes")
        subprocess.run(["mpicc", "-O2", "-o", self.program, os.path.join(TOP, "tests/bench/computes.c")], check=True)

    def prolog(self, times):
        return [taken(self.prolog_line, self.bare) for _ in range(times)]

    def command(self, env, seconds):
        return Command([os.path.join(TOP, "tests/start"), self.program, str(seconds)], env)

    def started(self, times):
        """What a rank that ends at once takes more when it is recorded, in turns."""
        more = []
        for i in range(times):
            envs = (self.bare, self.traced) if i % 2 else (self.traced, self.bare)
            used = {id(env): self.command(env, 0).end()[0] for env in envs}
            more.append(used[id(self.traced)] - used[id(self.bare)])
            shutil.rmtree(self.traced["HPCTOP_DIR"], ignore_errors=True)
        return more

    def threads(self, seconds, times):
        """The share of a processor that hpctop's own threads take in a rank that computes."""
        share = []
        for _ in range(times):
            share.append(float(self.command(self.traced, seconds).end()[1]))
            shutil.rmtree(self.traced["HPCTOP_DIR"], ignore_errors=True)
        return share

    def made(self, ranks, rounds, folder):
        subprocess.run([os.path.join(self.build, "tests/many/many"), "--ranks", str(ranks), "--hosts", str(max(1, ranks // 16)),
                        "--rounds", str(rounds), folder], check=True)
        return max(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))

    def epilog(self, ranks, fill, times):
        """What `hpctop jobs --add` takes, and bytes of a rank and of the page."""
        folder = os.path.join(self.folder, "job")
        rounds = 20
        if fill:  # by the bytes of a round
            few, many = (self.made(ranks, n, os.path.join(self.folder, "probe%d" % n)) for n in (2000, 10000))
            for n in (2000, 10000):
                shutil.rmtree(os.path.join(self.folder, "probe%d" % n))
            rounds = int(10000 + (LIMIT - many) / ((many - few) / 8000))
        size = self.made(ranks, rounds, folder)
        line = [os.path.join(TOP, "hpctop"), "jobs", "--db", os.path.join(self.folder, "jobs.db"), "--add", folder]
        seen = []
        for _ in range(times):
            shutil.rmtree(os.path.join(folder, "index"), ignore_errors=True)  # it would be taken up the next time
            seen.append(taken(line, self.bare))
        page = os.path.getsize(os.path.join(folder, "report.html"))
        shutil.rmtree(folder)
        return seen, size, page


def call_costs(build, folder, rounds, calls):
    """What is added to a call that does next to nothing, by the fastest parts of a run, which others did not disturb: of the
    calls of bench.py the dearest; and bytes of a call."""
    measure, worst = bench.Bench(build, folder), []
    for _, mode, _ in bench.CASES:
        command = [measure.program("selfcall"), mode, str(calls)]
        seen = [{kind: measure.run(kind, 1, command)["min_ns"] for kind in ("bare", "hpctop")} for _ in range(rounds)]
        worst.append([r["hpctop"] - r["bare"] for r in seen])
    return max(worst, key=statistics.median), measure.bytes_a_call("allreduce", calls)


def shortest(once, short, full, filled, spare):
    """How long a rank must run: the page grows with the trace until that is full, after so many seconds."""
    if spare <= 0:
        return None
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        used = once + short + (full - short) * min(1, middle / filled)
        low, high = (low, middle) if used <= spare * middle else (middle, high)
    return high


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="once, short: does it still work?")
    options = parser.parse_args()
    rounds, seconds, calls = (2, 1, 50000) if options.quick else (options.rounds, 10, 300000)
    middle = statistics.median
    with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
        site = Site(options.build, folder)
        prolog, start = site.prolog(10 * rounds), site.started(5 * rounds)
        print("processor time, medians [quartiles]")
        print("%-44s %s ms" % ("task prolog, a task", spread_of(prolog)))
        print("%-44s %s ms" % ("start and end of a recorded rank, more by", spread_of(start)), flush=True)
        share = site.threads(seconds, rounds)
        print("%-44s %s %%" % ("hpctop's own threads, of a processor", spread_of(share, 100, "%.3f")), flush=True)
        call, size = call_costs(options.build, folder, rounds, calls)
        print("%-44s %s ns" % ("a call that does nothing, more by", spread_of(call, 1, "%.1f")), flush=True)
        page = {}
        for ranks in RANKS:
            for fill in (False, True)[:1 if options.quick else 2]:
                seen, bytes_, html = site.epilog(ranks, fill, 1 if fill else rounds)
                page[ranks, fill] = middle(seen)
                print("%-44s %s s (page %d kB)" % ("epilog of %d ranks of %.1f MB" % (ranks, bytes_ / 1e6), spread_of(seen, 1, "%.3f"), html // 1000),
                      flush=True)
        if options.quick:
            return
        left, once = SHARE - max(middle(share), 0), middle(prolog) + middle(start)
        print("below %.1f %% of the processors: at most %.0f calls a second and rank, and the job takes at least" %
              (100 * SHARE, left / middle(call) * 1e9))
        print("%-12s" % "calls/s" + "".join("%12s" % ("%d ranks" % ranks) for ranks in RANKS))
        for rate in RATES:
            need = [shortest(once, page[n, False] / n, page[n, True] / n, LIMIT / size / rate, left - rate * middle(call) / 1e9) for n in RANKS]
            print("%-12d" % rate + "".join("%10.0f s" % s if s else "%12s" % "never" for s in need))


if __name__ == "__main__":
    sys.exit(main())
