#!/usr/bin/env python3
"""Runs libFuzzer over the targets of tests/fuzz/targets: over what earlier runs kept in BUILD/corpus_NAME, and the corpus in
the tree.  An input that is a finding lies in BUILD; then the exit status is 1.

  run.py BUILD [-FLAG=VALUE..] [NAME..]     BUILD as `make FUZZ=1 fuzz` makes it; flags of libFuzzer; targets, else all
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Target:
    def __init__(self, name, runs, longest, most, sources):
        self.name, self.runs, self.longest, self.most_mb, self.sources = name, int(runs), int(longest), int(most), sources

    def corpus(self):
        names = [self.name] + (["reader"] if self.name == "job" else [])  # a trace is a job, too
        return [os.path.join(HERE, "corpus/fuzz_" + name) for name in names]


def rows():
    """The targets, and the other sources that read bytes with the reason why no target has them."""
    targets, others = {}, {}
    with open(os.path.join(HERE, "targets"), encoding="ascii") as table:
        for line in table:
            words = line.split()
            if words and words[0] == "-":
                others[words[1]] = " ".join(words[2:])
            elif words and words[0] != "#":
                targets[words[0]] = Target(*words[:4], words[4:])
    return targets, others


def run(target, build, flags):
    kept = os.path.join(build, "corpus_" + target.name)
    os.makedirs(kept, exist_ok=True)
    limits = ["-max_len=%d" % target.longest, "-malloc_limit_mb=%d" % target.most_mb, "-rss_limit_mb=2048", "-timeout=60"]
    command = [os.path.join(build, "tests/fuzz/fuzz_" + target.name)] + limits + flags
    return subprocess.run(command + ["-print_final_stats=1", kept] + target.corpus(), cwd=build, check=False).returncode


def main():
    build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    flags, names = [w for w in words if w[0] == "-"], [w for w in words if w[0] != "-"]
    targets = rows()[0]
    failed = [name for name in names or targets if run(targets[name], build, flags)]
    print("findings: " + (" ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
