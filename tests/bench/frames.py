#!/usr/bin/env python3
"""make bench: what opening a made-up job, painting its screens and a verdict on it take, in ms of a processor.

  frames.py BUILD [RANKS..]
"""
import os
import subprocess
import sys
import tempfile

SIZE = "200x50"
HPCTOP = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "hpctop")


def used(*command, **extra):
    """Seconds of a processor and peak bytes of a command."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ, **extra))
    _, status, usage = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1), command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def opening(trace, n):
    """What a verdict takes that reads all events, and one from the index, the best of three."""
    read = min(used(HPCTOP, "verdict", trace, HPCTOP_INDEX="no") for _ in range(3))
    subprocess.run([HPCTOP, "analyze", trace], check=True, stdout=subprocess.DEVNULL)
    kept = min(used(HPCTOP, "verdict", trace) for _ in range(3))
    for what, (seconds, size) in ("events", read), ("index", kept):
        print("verdict of %d ranks from %-6s %8.0f ms, %6.0f MB, %5.0f kB a rank" % (n, what, seconds * 1e3, size / 1e6, size / 1e3 / n), flush=True)


def main():
    build, ranks = os.path.abspath(sys.argv[1]), [int(r) for r in sys.argv[2:]] or [64, 1000]
    for n in ranks:
        with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
            trace = os.path.join(folder, "trace")
            subprocess.run([build + "/tests/many/many", "--ranks", str(n), "--hosts", str(max(1, n // 125)), "--rounds", "20",
                            "--late-rank", str(n * 3 // 4), "--late-host", "0", "--files", trace], check=True)
            print("screens of %d ranks, ms" % n, flush=True)
            subprocess.run([build + "/tests/bench/frames", "-s", SIZE, trace], check=True)
            opening(trace, n)


if __name__ == "__main__":
    main()
