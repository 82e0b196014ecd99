#!/usr/bin/env python3
"""make bench: what recording costs, measured against the same program without it, against two clock reads, and against
the floor (tests/bench/floor.c: two clock reads and one 32-byte store into a mapped file).  BEFORE=PATH: against another
libtrace.so, too.  MPI=mpich: with that MPI; BUILD then holds its workloads.

Each round runs them one right after the other, and compares them with each other only: what was added, in ns a call,
and the ratio of what hpctop and the floor added, are worked out a round at a time.  Shown are the medians over the rounds
and, in brackets, the quartiles: where these lie far apart the machine was busy and the row says little.  What a run
took is the median of its 50 parts; it holds the page faults of a growing file.  Absolute figures move from machine to
machine: compare within one run only.  Nothing passes or fails on a time.

  bench.py BUILD [--rounds N] [--calls N] [--quick]
"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e", "lib"))
import chunks  # noqa: E402
WITH = "." + os.environ["MPI"] if "MPI" in os.environ else ""
KINDS = ("bare", "hpctop", "floor", "clock") + (("before",) if "BEFORE" in os.environ else ())
# Title, mode of selfcall, and its function that makes the calls.
CASES = [("MPI_Comm_rank", "rank", "rank_call"), ("MPI_Iprobe, fails", "iprobe", "iprobe"),
         ("MPI_Allreduce 8 B, self", "allreduce", "allreduce"), ("Irecv+Isend+Waitall 8 B, self", "pt2pt", "pt2pt")]

# The same for kinds of calls that rows.c makes, and its twins; the function has the mode's name.
ROWS = [("Irecv, Send, Wait 8 B, self", "send_call"), ("Isend, Recv, Wait 8 B, self", "recv_call"),
        ("MPI_Sendrecv 8 B, self", "sendrecv_call"), ("Irecv, Isend, Test, Test 8 B", "test_call"),
        ("MPI_Test, not complete", "not_yet"), ("Startall, Waitall of two", "start_call"),
        ("MPI_Allgatherv 8 B, self", "vector_call"), ("Iallreduce, Wait 8 B, self", "ireduce_call"),
        ("MPI_Put 8 B, self", "put_call"), ("MPI_Get 8 B, self", "get_call"),
        ("Allreduce, 4096 sizes", "size_twin"), ("Irecv+Isend+Waitall, 4096 tags", "tag_twin"),
        ("Comm_rank, 64 communicators", "comm_twin"), ("Bcast, 64 datatypes", "type_twin"),
        ("Comm_rank, 10 us apart", "pause_twin")]

# Our own thread, which asks the driver, is counted too; the driver's own work is not.
NCCL_CASES = [("ncclAllReduce, no driver in the process", "calls"), ("ncclAllReduce, state by two events", "events"),
              ("the same, ten in a group", "group")]


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = os.path.join(TOP, build), folder
        self.floor, self.rows = os.path.join(folder, "floor.so"), os.path.join(folder, "rows")
        self.clock = os.path.join(folder, "clock.so")
        for library, options in ((self.floor, []), (self.clock, ["-DJUST_CLOCK"])):
            subprocess.run(["mpicc" + WITH, "-O2", "-w", "-shared", "-fPIC", *options, "-o", library,
                            os.path.join(TOP, "tests/bench/floor.c")], check=True)
        subprocess.run(["mpicc" + WITH, "-O1", "-g", "-o", self.rows, os.path.join(TOP, "tests/bench/rows.c")], check=True)

    def environment(self, kind):
        env = dict(os.environ, FLOOR_DIR=self.folder, HPCTOP_DIR=os.path.join(self.folder, "trace"))
        env.pop("LD_PRELOAD", None)
        preload = {"bare": None, "hpctop": os.environ.get("LIBTRACE", os.path.join(TOP, "libtrace.so")), "floor": self.floor,
                   "clock": self.clock, "before": os.environ.get("BEFORE")}[kind]
        return env, preload

    def run(self, kind, ranks, command):
        env, preload = self.environment(kind)
        shutil.rmtree(env["HPCTOP_DIR"], ignore_errors=True)
        # next to the program, so that the launcher is the same for all three
        inner = ["env", "LD_PRELOAD=" + preload] if preload else []
        done = subprocess.run([os.path.join(TOP, "tests/start"), "mpirun" + WITH, "-n", str(ranks)] + inner + command, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, cwd=self.folder)
        if done.returncode != 0:
            raise SystemExit("%s (%s) failed: %s" % (command, kind, done.stderr.decode(errors="replace")[-400:]))
        return json.loads(done.stdout.decode().splitlines()[-1])

    def tails(self, rounds, calls):
        """On a full node: what the rare call takes, and page faults of the calling thread; medians over the rounds."""
        program, ranks = os.path.join(self.folder, "tails"), len(os.sched_getaffinity(0))
        subprocess.run(["mpicc" + WITH, "-O2", "-o", program, os.path.join(TOP, "tests/bench/tails.c")], check=True)
        kinds = ("bare", "hpctop")
        seen = {kind: [] for kind in kinds}
        for i in range(rounds):
            for kind in kinds[i % 2:] + kinds[:i % 2]:
                seen[kind].append(self.run(kind, ranks, [program, str(calls)]))
        print("MPI_Allreduce 8 B of %d ranks, as many as cores; %d calls each, ns" % (ranks, calls))
        for kind in kinds:
            print("  %-8s" % kind + "".join("  %s %s" % (key, spread([r[key] for r in seen[kind]], "%.0f"))
                                            for key in seen[kind][0]), flush=True)

    def program(self, name):
        return os.path.join(self.build, "workloads", name)

    def times(self, rounds, ranks, command):
        """Of each round: what each kind took."""
        seen = []
        for i in range(rounds):
            order = KINDS[i % len(KINDS):] + KINDS[:i % len(KINDS)]
            seen.append({kind: self.run(kind, ranks, command)["median_ns"] for kind in order})
        return seen

    def empty_nccl(self):
        """An NCCL and a CUDA driver whose functions do nothing, and a program on them (nccl_empty.c): its path."""
        source, into = os.path.join(TOP, "tests/bench/nccl_empty.c"), os.path.join(self.folder, "empty")
        os.makedirs(into)
        for flags in (["-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", into + "/libnccl.so.2"],
                      ["-shared", "-fPIC", "-DDRIVER", "-Wl,-soname,libcuda.so.1", "-o", into + "/libcuda.so.1"],
                      ["-DPROGRAM", "-o", into + "/nccl_empty", into + "/libnccl.so.2", "-ldl"]):
            subprocess.run(["gcc", "-O2", "-I" + TOP, source] + flags, check=True)
        return into + "/nccl_empty"

    def collected(self, kind, program, mode, calls, *options):
        """Instructions that callgrind counts in one run, and the calls made in it; None: it failed."""
        env, preload = self.environment(kind)
        if program not in (self.program("selfcall"), self.rows):
            env["LD_LIBRARY_PATH"] = os.path.dirname(program)
        if preload:
            env["LD_PRELOAD"] = preload
        shutil.rmtree(env["HPCTOP_DIR"], ignore_errors=True)
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, program, mode,
                               str(calls)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=self.folder)
        found = re.search(r"Collected : (\d+)", done.stderr.decode(errors="replace"))
        if done.returncode != 0 or not found:
            return None
        return int(found.group(1)), json.loads(done.stdout.decode().splitlines()[-1])["calls"]

    def instructions(self, kind, mode, body, calls=5000, program=None):
        """Instructions a call of selfcall, counted in the function that makes the calls only: start, end and our own
        thread do not count, and two runs differ by less than one in a hundred."""
        seen = self.collected(kind, program or self.program("selfcall"), mode, calls, "--toggle-collect=" + body)
        return seen and seen[0] / seen[1]

    def instructions_nccl(self, kind, mode, calls, program):
        """The difference of two lengths of run, so that start and end cancel: our own thread counts."""
        few, many = (self.collected(kind, program, mode, n) for n in (calls, 5 * calls))
        return few and many and (many[0] - few[0]) / (many[1] - few[1])

    def bytes_a_call(self, mode, calls, program=None):
        """Committed bytes in chunks of events (trace/format/format.h), for each call that the program made."""
        command = [program or self.program("selfcall"), mode, str(calls)]
        if program and program not in (self.program("selfcall"), self.rows):
            command = ["env", "LD_LIBRARY_PATH=" + os.path.dirname(program)] + command
        made = self.run("hpctop", 1, command)["calls"]
        committed = 0
        for path in glob.glob(os.path.join(self.folder, "trace", "*.hpctop")):
            committed += chunks.committed(path, chunks.EVENTS)
        return committed / made


def spread(values, form):
    """Median [quartiles]."""
    if len(values) < 2:
        return form % values[0] if values else "-"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return "%s [%s %s]" % (form % middle, form % low, form % high)


def row(title, seen, more="", compared=KINDS[2:]):
    """`compared`: what hpctop is compared with; floor and clock know some calls only."""
    added = {kind: [r[kind] - r["bare"] for r in seen] for kind in KINDS[1:]}
    ratios = {kind: [h / f for h, f in zip(added["hpctop"], added[kind]) if f > 0] if kind in compared else [] for kind in KINDS[2:]}
    print("%-29s %8.1f %23s %8s " % (title, statistics.median(r["bare"] for r in seen), spread(added["hpctop"], "%.1f"),
                                     "%.1f" % statistics.median(added["floor"]) if "floor" in compared else "-") +
          " ".join("%18s" % spread(ratios[kind], "%.2f") for kind in KINDS[2:]) + " " + more, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300000)
    parser.add_argument("--quick", action="store_true", help="once, few calls, no callgrind: does the bench still work?")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.calls = 1, 50000
    with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
        bench = Bench(options.build, folder)
        valgrind = shutil.which("valgrind") and not options.quick
        print("%d rounds; ns a call, + is over bare, [quartiles]; instructions by callgrind; bytes on disk" % options.rounds)
        print("%-29s %8s %23s %8s " % ("", "bare", "hpctop+", "floor+") + " ".join("%18s" % ("/ " + kind) for kind in KINDS[2:]) +
              " %13s %6s" % ("instructions+", "bytes"))
        selfcall = bench.program("selfcall")
        for title, mode, body, program in [(*case, selfcall) for case in CASES] + [(t, m, m, bench.rows) for t, m in ROWS]:
            seen = bench.times(options.rounds, 1, [program, mode, str(options.calls)])
            ins = [bench.instructions(kind, mode, body, program=program) if valgrind else None for kind in KINDS[:2]]
            row(title, seen, "%13s %6.2f" % ("%.0f" % (ins[1] - ins[0]) if all(ins) else "-",
                                             bench.bytes_a_call(mode, options.calls, program)),
                KINDS[2:] if program == selfcall else KINDS[4:])
        seen = bench.times(options.rounds, 2, [bench.program("pingpong"), str(options.calls // 3), "8"])
        row("ping-pong 8 B, half trip", seen)
        print("ping-pong over bare: hpctop %s, floor %s" %
              tuple(spread([r[kind] / r["bare"] for r in seen], "%.3f") for kind in KINDS[1:3]))
        bench.tails(min(options.rounds, 5), options.calls * 4)
        program = bench.empty_nccl()
        for title, mode in NCCL_CASES:
            ins = [bench.instructions_nccl(kind, mode, 20000, program) if valgrind else None for kind in ("bare", "hpctop")]
            print("%-44s %8s instructions+ %8.2f bytes an operation" %
                  (title, "%.0f" % (ins[1] - ins[0]) if all(ins) else "-", bench.bytes_a_call(mode, 100000, program)), flush=True)


if __name__ == "__main__":
    main()
