"""Each function that a header declares has a contract of its own: a comment directly above it, or beside it.

None begins with "The same", which loses its meaning when its neighbour moves.  Folders that are done are in DONE."""
import os
import re
import sys

TOP = os.environ["TOP"]
DONE = ("trace", "tui", "interpose")
ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"

LABEL = r"/\*[- ]*[\w.*]+\.c[- ]*\*/$"  # where functions are: no contract


def headers():
    for folder in DONE:
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            yield from sorted(os.path.relpath(os.path.join(where, name), TOP) for name in names if name.endswith(".h"))


def blank(text, pattern):
    """The text with what matches replaced by blanks, line ends kept."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S | re.M)


def declarations(text):
    """(name, first line, last line) of each function declared or defined outside braces; lines count from 0."""
    code = blank(blank(text, r"/\*.*?\*/"), r"^#(?:\\\n|[^\n])*")
    depth, begin = 0, 0
    for at, c in enumerate(code):
        if depth == 0 and c in ";{":
            head = blank(code[begin:at], ATTRIBUTE).strip()
            name = re.match(r"(?!typedef|_Static_assert|__asm__)[\w\s*]*?\b(\w+)\s*\((?!\*)", head)
            if name and "=" not in head.split("(")[0]:
                first = begin + len(code[begin:at]) - len(code[begin:at].lstrip())
                yield name.group(1), code.count("\n", 0, first), code.count("\n", 0, at)
        depth += (c == "{") - (c == "}")
        if depth == 0 and c in ";}":
            begin = at + 1


def main():
    bad = 0
    for path in headers():
        with open(os.path.join(TOP, path)) as f:
            text = f.read()
        lines = text.splitlines()
        described = set()  # a function may be declared, and defined below
        for name, first, last in declarations(text):
            above = first > 0 and re.match(r"( \*/|(/\*| \*).*\*/)$", lines[first - 1]) and not re.match(LABEL, lines[first - 1])
            beside = any("/*" in line for line in lines[first:last + 1])
            if above or beside:
                described.add(name)
            elif name not in described:
                print("not ok %s:%d: %s has no contract" % (path, first + 1, name))
                bad += 1
        for at, line in enumerate(lines):
            if re.search(r"/\* The same\b", line):
                print("not ok %s:%d: begins with \"The same\"" % (path, at + 1))
                bad += 1
    print("%s contracts of %s" % ("not ok" if bad else "ok", ", ".join(DONE)))
    sys.exit(1 if bad else 0)


main()
