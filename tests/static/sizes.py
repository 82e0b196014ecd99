"""Sizes: files have at most 500 lines, half of them at most 250; functions of C have at most 60, and lines of C at most
120 columns, which clang-format leaves to us in comments.

The top folder has the files of a list: anything else was added by accident.

A table may be longer: a file of rows (.def), and a function most of whose lines are the one-line cases of a `switch` or
one-line rows of a table in it."""
import os
import re
import statistics
import subprocess
import sys

TOP = os.environ["TOP"]
FILE, MEDIAN, FUNCTION = 500, 250, 60  # lines
WIDTH = 120  # columns
SOURCES = (".c", ".h", ".py", ".sh", ".f90", ".F90", ".f", ".cpp", ".cu")
AT_TOP = {".clang-format", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"}
ROW = re.compile(r"\s+(case .*: .*;|\{.*\},|\[.*\] = .*,|[A-Z_]+\(.*\),?)$")
failed = []


def check(good, name, why=""):
    print("%s %s%s" % ("ok" if good else "not ok", name, "" if good else ": " + why))
    if not good:
        failed.append(name)


def lines_of(path):
    with open(os.path.join(TOP, path), errors="replace") as f:
        return f.read().splitlines()


def sources():
    for where, folders, names in os.walk(TOP):
        folders[:] = sorted(f for f in folders if f not in ("build", ".git", "shared", "corpus"))
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(where, name), TOP)


def functions(lines):
    """(name, number of its first line, its lines) of each function, as clang-format lays them out: what is behind its "{"."""
    start, name = None, ""
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
            head = " ".join(lines[max(0, number - 6):number - 1])
            found = re.findall(r"(\w+)\((?!\()", head)
            name = found[-1] if found else "?"
            for i in range(number - 2, max(0, number - 6), -1):  # the line that the function's own name is in
                if lines[i] and not lines[i][0].isspace():
                    name = (re.findall(r"(\w+)\(", lines[i]) or [name])[-1 if "__attribute__" in lines[i] else 0]
                    break
        elif line == "}" and start:
            yield name, start, lines[start:number]
            start = None


def is_table(body):
    return 2 * sum(bool(ROW.match(line)) for line in body) > len(body)


sizes, long_functions, long_lines = {}, [], []
for path in sources():
    lines = lines_of(path)
    sizes[path] = len(lines)
    if path.endswith(".c"):
        long_functions += ["%s:%d %s has %d" % (path, at, name, len(body)) for name, at, body in functions(lines)
                           if len(body) > FUNCTION and not is_table(body)]
    if path.endswith((".c", ".h")):
        long_lines += ["%s:%d has %d" % (path, at, len(line)) for at, line in enumerate(lines, 1) if len(line) > WIDTH]

check(len(sizes) > 100, "sources are found", "%d" % len(sizes))
long_files = ["%s has %d" % (path, n) for path, n in sizes.items() if n > FILE]
check(not long_files, "files have at most %d lines" % FILE, "; ".join(long_files))
median = statistics.median(sizes.values()) if sizes else 0
check(median <= MEDIAN, "half of the files have at most %d lines" % MEDIAN, "the median is %d" % median)
check(not long_functions, "functions have at most %d lines" % FUNCTION, "; ".join(long_functions))
check(not long_lines, "lines of C have at most %d columns" % WIDTH, "; ".join(long_lines))
tracked = subprocess.run(["git", "ls-files"], cwd=TOP, stdout=subprocess.PIPE, text=True).stdout.split("\n")
strays = {path for path in tracked if path and "/" not in path} - AT_TOP
check(not strays, "the top folder has no other files", " ".join(sorted(strays)))
sys.exit(bool(failed))
