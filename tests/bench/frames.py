#!/usr/bin/env python3
"""make bench: what opening a made-up job and painting its screens takes, in ms of a processor.

  frames.py BUILD [RANKS..]
"""
import os
import subprocess
import sys
import tempfile

SIZE = "200x50"


def main():
    build, ranks = os.path.abspath(sys.argv[1]), [int(r) for r in sys.argv[2:]] or [64, 1000]
    for n in ranks:
        with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
            trace = os.path.join(folder, "trace")
            subprocess.run([build + "/tests/many/many", "--ranks", str(n), "--hosts", str(max(1, n // 125)), "--rounds", "20",
                            "--late-rank", str(n * 3 // 4), "--late-host", "0", "--files", trace], check=True)
            print("screens of %d ranks, ms" % n, flush=True)
            subprocess.run([build + "/tests/bench/frames", "-s", SIZE, trace], check=True)


if __name__ == "__main__":
    main()
