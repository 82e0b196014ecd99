#!/usr/bin/env python3
"""What the price list promises beside what mending it brings: workloads/planted.c is run with its delay and right after it
without, in turns; shown is what was promised and what came of it, as shares of the longer run, medians [quartiles].

  prices.py BUILD [--rounds N]
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(build, folder, arguments):
    trace = os.path.join(folder, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    env = dict(os.environ, LD_PRELOAD=os.path.join(TOP, "libtrace.so"), HPCTOP_DIR=trace)
    subprocess.run([os.path.join(TOP, "tests/start"), "mpirun", "-n", "3", os.path.join(TOP, build, "workloads/planted"), *arguments],
                   env=env, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    said = json.loads(subprocess.run([os.path.join(TOP, "hpctop"), "report", "--json", trace], check=True, stdout=subprocess.PIPE).stdout)
    return max(r["wall_s"] for r in said["ranks"]), max((p["saves_s"] for p in said["prices"]), default=0)


def shares(values):
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return "%5.1f %% [%.1f .. %.1f]" % tuple(100 * v for v in (middle, low, high))


parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
print("%-8s %24s %24s" % ("planted", "said to save", "saved"))
with tempfile.TemporaryDirectory() as folder:
    for mode in ("one", "chain", "turns", "sender"):
        said, saved = [], []
        for _ in range(options.rounds):
            longer, price = run(options.build, folder, [mode])
            shorter, _ = run(options.build, folder, [mode, "0"])
            said.append(price / longer)
            saved.append((longer - shorter) / longer)
        print("%-8s %24s %24s" % (mode, shares(said), shares(saved)))
