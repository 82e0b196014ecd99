#!/usr/bin/env python3
"""How near hpctop whatif comes: a planted straggler taken away, beside a run without it; and a loopback of half the speed, beside
a run on it.  Needs SimGrid, and for the second root and `tc` with the queue tbf.  Prints one line a case: what whatif says, what was
measured, and how far they are apart.

    tests/bench/whatif.py [TIMES]"""
import os
import re
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 3
WORKLOADS = os.path.join(TOP, "build/plain/workloads")
SLOW = "ip link set lo mtu 1500 up; tc qdisc add dev lo root tbf rate %dmbit burst 16kb latency 2s; exec \"$@\""


def record(folder, ranks, command, rate=None):
    mpirun = [TOP + "/tests/start", "mpirun", "-n", str(ranks)]
    if rate:
        mpirun = ["unshare", "-n", "sh", "-c", SLOW % rate, "sh"] + mpirun + ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
    env = dict(os.environ, LD_PRELOAD=TOP + "/libtrace.so", HPCTOP_DIR=folder)
    subprocess.run(mpirun + command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def whatif(folder, *change):
    """What it took, how far the replay of that was off, what it would take."""
    out = subprocess.run([TOP + "/hpctop", "whatif", *change, folder], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    return [float(x) for x in re.search(r"took +(\S+) s.*replayed +\S+ s, (\S+) %.*would +take (\S+) s", out, re.S).groups()]


def compare(name, before, change, after):
    """Medians of several runs: predicted from those before, measured in those after."""
    said = [whatif(before(i), *change) for i in range(TIMES)]
    measured = statistics.median(whatif(after(i), "--network", "1x")[0] for i in range(TIMES))
    predicted = statistics.median(s[2] for s in said)
    print("%-44s took %.3f s, replayed %+.1f %%, predicted %.3f s, measured %.3f s: %+.1f %%" % (
        name, statistics.median(s[0] for s in said), statistics.median(s[1] for s in said), predicted, measured, 100 * (predicted / measured - 1)), flush=True)


def main():
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for mode, rank in (("one", 1), ("chain", 0), ("hidden", 1), ("sender", 0)):
            planted = [os.path.join(WORKLOADS, "planted"), mode]
            compare("planted %s without its delays" % mode, lambda i: record("%s%d" % (mode, i), 3, planted),
                    ["--without-delay", "rank:%d" % rank] if mode != "hidden" else ["--without-delay", "1-2"],
                    lambda i: record("%s%d-0" % (mode, i), 3, planted + ["0"]))
        subprocess.run(["mpicc", "-O2", "-o", "halo", os.path.join(TOP, "tests/bench/whatif.c")], check=True)
        for ranks in (2, 4):
            for rate in (800, 400, 200):
                halo = ["./halo", "60", "131072"]
                compare("halo on %d ranks, %d -> %d Mbit/s" % (ranks, rate, rate / 2), lambda i: record("h%d-%d-%d" % (ranks, rate, i), ranks, halo, rate),
                        ["--network", "0.5x"], lambda i: record("g%d-%d-%d" % (ranks, rate, i), ranks, halo, rate // 2))


main()
