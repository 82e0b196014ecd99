#!/usr/bin/env python3
"""make bench: how fast a trace becomes numbers.  Decoding, merging, matching and the whole pass of a report, each with
what comes before it, of one core: million items a second (the best of three runs, by the process's own time) and
instructions an item (callgrind; the difference of two lengths of trace, so that start and end cancel).

  analysis.py BUILD [--quick]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STAGES = (("decode", "decoded"), ("merge", "merged"), ("match", "matched, waits"), ("job", "the whole pass"))
# What, and the rounds of a short and a long trace: about as many items of each kind.  Wide is a halo of 200 ranks.
KINDS = (("ping-pong", 25000, 500000), ("halo", 1250, 25000), ("wide", 25, 1000))


def run(program, *arguments, before=()):
    done = subprocess.run([*before, program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit("%s failed: %s" % (" ".join((program,) + arguments), done.stderr.decode(errors="replace")[-400:]))
    return done.stdout.decode(), done.stderr.decode(errors="replace")


def instructions(program, stage, traces):
    seen = []
    for trace in traces:
        out, err = run(program, stage, trace, before=("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"))
        seen.append((int(re.search(r"Collected : (\d+)", err).group(1)), int(out.split()[0])))
    return (seen[1][0] - seen[0][0]) / (seen[1][1] - seen[0][1])


def main():
    program = os.path.join(os.path.abspath(sys.argv[1]), "tests/bench/relations")
    quick = "--quick" in sys.argv
    count = shutil.which("valgrind") and not quick
    print("%-29s %14s %18s" % ("analysis", "M items/s", "instructions"))
    with tempfile.TemporaryDirectory(prefix="hpct-") as folder:
        for what, short, long in KINDS:
            traces = []
            for rounds in (short, 2 * short, short if quick else long):
                traces.append(os.path.join(folder, "%s-%d" % (what, len(traces))))
                os.mkdir(traces[-1])
                run(program, "make", what, str(rounds), traces[-1])
            for stage, title in STAGES:
                rate = max(float(run(program, stage, traces[2])[0].split()[2]) for _ in range(1 if quick else 3))
                text = "%.0f" % instructions(program, stage, traces[:2]) if count else "-"
                print("%-29s %14.1f %18s" % (what + ", " + title, rate, text), flush=True)


if __name__ == "__main__":
    main()
