#!/usr/bin/env python3
"""make bench: what recording costs, measured against the same program without it and against the floor, the least that
any recorder can cost (tests/bench/floor.c: two clock reads and one 32-byte store into a mapped file).

All three in turn in every round.  "median": the median of 50 parts of a run, then over the rounds; it holds the page
faults of a growing file.  "least": the least part of all rounds; it holds for a busy machine too, on which medians tell
little.  Absolute figures move from machine to machine: compare within one run only.  Nothing passes or fails on a time.

  bench.py BUILD [--rounds N] [--calls N] [--quick]
"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = ("bare", "hpctop", "floor")
CASES = [("MPI_Comm_rank", "rank"), ("MPI_Iprobe, fails", "iprobe"), ("MPI_Allreduce 8 B, self", "allreduce"),
         ("Irecv+Isend+Waitall 8 B, self", "pt2pt")]

# Our own thread, which asks the driver, is counted too; the driver's own work is not.
NCCL_CASES = [("ncclAllReduce, no driver in the process", "calls"), ("ncclAllReduce, state by two events", "events"),
              ("the same, ten in a group", "group")]


class Bench:
    def __init__(self, build, folder):
        self.build, self.folder = os.path.join(TOP, build), folder
        self.floor = os.path.join(folder, "floor.so")
        subprocess.run(["mpicc", "-O2", "-shared", "-fPIC", "-o", self.floor, os.path.join(TOP, "tests/bench/floor.c")],
                       check=True)

    def environment(self, kind):
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", FLOOR_DIR=self.folder,
                   HPCTOP_DIR=os.path.join(self.folder, "trace"))
        env.pop("LD_PRELOAD", None)
        preload = {"bare": None, "hpctop": os.environ.get("LIBTRACE", os.path.join(TOP, "libtrace.so")), "floor": self.floor}[kind]
        return env, preload

    def run(self, kind, ranks, command):
        env, preload = self.environment(kind)
        shutil.rmtree(env["HPCTOP_DIR"], ignore_errors=True)
        # next to the program, so that the launcher is the same for all three
        inner = ["env", "LD_PRELOAD=" + preload] if preload else []
        done = subprocess.run(["mpirun", "-n", str(ranks)] + inner + command, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, cwd=self.folder)
        if done.returncode != 0:
            raise SystemExit("%s (%s) failed: %s" % (command, kind, done.stderr.decode(errors="replace")[-400:]))
        return json.loads(done.stdout.decode().splitlines()[-1])

    def program(self, name):
        return os.path.join(self.build, "workloads", name)

    def times(self, rounds, ranks, command):
        """By kind: the median over the rounds of each run's median part, and the least part of all."""
        seen = {kind: [] for kind in KINDS}
        for i in range(rounds):
            for k in range(len(KINDS)):
                kind = KINDS[(i + k) % len(KINDS)]
                seen[kind].append(self.run(kind, ranks, command))
        return {kind: (statistics.median(r["median_ns"] for r in runs), min(r["min_ns"] for r in runs))
                for kind, runs in seen.items()}

    def empty_nccl(self):
        """An NCCL and a CUDA driver whose functions do nothing, and a program on them (nccl_empty.c): its path."""
        source, into = os.path.join(TOP, "tests/bench/nccl_empty.c"), os.path.join(self.folder, "empty")
        os.makedirs(into)
        for flags in (["-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", into + "/libnccl.so.2"],
                      ["-shared", "-fPIC", "-DDRIVER", "-Wl,-soname,libcuda.so.1", "-o", into + "/libcuda.so.1"],
                      ["-DPROGRAM", "-o", into + "/nccl_empty", into + "/libnccl.so.2", "-ldl"]):
            subprocess.run(["gcc", "-O2", "-I" + TOP, source] + flags, check=True)
        return into + "/nccl_empty"

    def instructions(self, kind, mode, calls, program=None):
        """Instructions a call by callgrind: the difference of two lengths of run, so that start and end cancel."""
        env, preload = self.environment(kind)
        env["LD_LIBRARY_PATH"] = os.path.dirname(program) if program else env.get("LD_LIBRARY_PATH", "")
        if preload:
            env["LD_PRELOAD"] = preload
        total = []
        for n in (calls, 5 * calls):
            shutil.rmtree(env["HPCTOP_DIR"], ignore_errors=True)
            done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                                   program or self.program("selfcall"), mode, str(n)], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False, cwd=self.folder)
            found = re.search(r"Collected : (\d+)", done.stderr.decode(errors="replace"))
            if done.returncode != 0 or not found:
                return None
            made = json.loads(done.stdout.decode().splitlines()[-1])["calls"]
            total.append((int(found.group(1)), made))
        return (total[1][0] - total[0][0]) / (total[1][1] - total[0][1])

    def bytes_a_call(self, mode, calls):
        """Committed bytes in chunks of events (trace/format.h), for each call that the program made."""
        made = self.run("hpctop", 1, [self.program("selfcall"), mode, str(calls)])["calls"]
        committed = 0
        for path in glob.glob(os.path.join(self.folder, "trace", "*.hpctop")):
            with open(path, "rb") as f:
                data = f.read()
            size, offset = struct.unpack_from("<I", data, 24)[0], struct.unpack_from("<Q", data, 32)[0]
            while offset + size <= len(data):
                magic, kind = struct.unpack_from("<IB", data, offset)
                if magic == 0x4B4E4843 and kind == 3:
                    committed += struct.unpack_from("<I", data, offset + 32)[0]
                offset += size
        return committed / made


def row(title, times, more=""):
    cells = []
    for which in (0, 1):
        bare, added, floor = times["bare"][which], *(times[k][which] - times["bare"][which] for k in KINDS[1:])
        cells.append("%8.1f %+8.1f %+7.1f %5s" % (bare, added, floor, "%.2f" % (added / floor) if floor > 0 else "-"))
    print("%-29s %s  %s %s" % (title, cells[0], cells[1], more), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=1000000)
    parser.add_argument("--quick", action="store_true", help="once, few calls, no callgrind: does the bench still work?")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.calls = 1, 50000
    with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
        bench = Bench(options.build, folder)
        valgrind = shutil.which("valgrind") and not options.quick
        print("%d rounds; ns a call; + is over bare; ratio is hpctop+ to floor+; instructions by callgrind, bytes on disk" %
              options.rounds)
        print("%-29s %31s  %31s %14s %6s" % ("", "median", "least", "instructions+", "bytes"))
        print("%-29s %8s %8s %7s %5s  %8s %8s %7s %5s %8s %5s %6s" %
              ("", "bare", "hpctop+", "floor+", "ratio", "bare", "hpctop+", "floor+", "ratio", "hpctop", "floor", "a call"))
        for title, mode in CASES:
            times = bench.times(options.rounds, 1, [bench.program("selfcall"), mode, str(options.calls)])
            ins = {kind: bench.instructions(kind, mode, 20000) if valgrind else None for kind in KINDS}
            text = ["%.0f" % (ins[k] - ins["bare"]) if ins[k] and ins["bare"] else "-" for k in KINDS[1:]]
            row(title, times, "%8s %5s %6.2f" % (*text, bench.bytes_a_call(mode, options.calls)))
        if valgrind:
            program = bench.empty_nccl()
            for title, mode in NCCL_CASES:
                ins = [bench.instructions(kind, mode, 20000, program) for kind in ("bare", "hpctop")]
                print("%-44s %8s instructions+" % (title, "%.0f" % (ins[1] - ins[0]) if all(ins) else "-"), flush=True)
        times = bench.times(options.rounds, 2, [bench.program("pingpong"), str(options.calls // 3), "8"])
        row("ping-pong 8 B, half trip", times)
        print("ping-pong with hpctop: %.3f of bare by medians, %.3f by the least" %
              tuple(times["hpctop"][w] / times["bare"][w] for w in (0, 1)))


if __name__ == "__main__":
    main()
