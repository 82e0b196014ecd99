#!/usr/bin/env python3
"""Prints the table of what was tested, as it stands in docs/tested.md, from build/results/*.jsonl (docs/testing.md draws them).

  tests/table.py [FILE..]

A row an MPI; a column a language; then containers and launchers it was tested with."""
import glob
import json
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIGN = {"passed": "yes", "failed": "**fails**", "skipped": "-"}


def results(paths):
    """The last line of each kind counts."""
    last = {}
    for path in paths:
        with open(path) as f:
            for line in f:
                r = json.loads(line)
                last[tuple(r[k] for k in ("mpi", "language", "container", "launcher", "release"))] = r
    return list(last.values())


def in_order(text):
    """4.1.10 after 4.1.9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def worst(these):
    for result in ("failed", "passed", "skipped"):
        if any(r["result"] == result for r in these):
            return result
    return None


def cell(these):
    result = worst(these)
    return SIGN[result] if result else ""


def listed(these, key):
    """Names under `key` that were tested with success; those that failed say so."""
    names = sorted({r[key] for r in these if r[key] != "-" and r["result"] != "skipped"})
    return "; ".join(n if worst([r for r in these if r[key] == n]) == "passed" else n + " **fails**" for n in names)


def table(rows):
    languages = sorted({r["language"] for r in rows}, key=lambda l: (l != "C", l))
    releases = {}
    for r in rows:
        releases.setdefault(r["mpi"], set()).add(r["release"])
    head = ["MPI"] + languages + ["launchers", "containers", "Debian"]
    yield head
    yield ["---"] * len(head)
    for mpi in sorted(releases, key=in_order):
        these = [r for r in rows if r["mpi"] == mpi]
        yield ([mpi] + [cell([r for r in these if r["language"] == l]) for l in languages] +
               [listed(these, "launcher"), listed(these, "container"), ", ".join(sorted(releases[mpi] - {"-"}))])


def main():
    paths = sys.argv[1:] or sorted(glob.glob(os.path.join(TOP, "build/results/*.jsonl")))
    rows = results(paths)
    if not rows:
        sys.exit("table: no results; make check-matrix writes some")
    for line in table(rows):
        print("| %s |" % " | ".join(line))


if __name__ == "__main__":
    main()
