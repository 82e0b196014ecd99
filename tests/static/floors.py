"""The floors of trace/, interpose/ and tui/: docs/architecture.md says of each folder what it may include, and the sources
do just that.

Private headers (*_impl.h) are included in their own folder only, and detectors of trace/verdict that only need the
wait-for graph see little else.  By the symbols of the object files, folders need each
other one way only, and no more than 4 files go in a circle.
Workloads see nothing of ours: they are programs like those of users."""
import os
import re
import subprocess
import sys

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
ROOMS = ("trace", "interpose", "tui")
MOST = 4  # files in a circle
JUDGES, JUDGE_LINES = ("cycle", "early_exit", "live_lock", "order"), 1400  # detectors that only need the graph
FOREIGN = r"mpi\.h|mpi-ext\.h|cuda|nccl\.h|cupti|curses|panel\.h|menu\.h|form\.h|libunwind"  # whose types have one file
# Libraries, and the one folder or file that may see each.
LIBRARIES = {r"(ncursesw?/)?(n?curses|panel|term)\.h": "tui/term/curses.c", r"cjson/|cJSON\.h": "tui/",
             r"elfutils/|libelf\.h|gelf\.h": "tui/", r"dwarf\.h": "tui/|interpose/unwind/"}
failed = []


def check(good, name, why=""):
    print("%s %s%s" % ("ok" if good else "not ok", name, "" if good else ": " + why))
    if not good:
        failed.append(name)


def sources(*rooms):
    for room in rooms or ROOMS:
        for where, _, names in os.walk(os.path.join(TOP, room)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.relpath(os.path.join(where, name), TOP)


def includes(path):
    with open(os.path.join(TOP, path)) as f:
        return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', f.read(), re.M)


def documented():
    """{folder: (floor, folders it may include)} out of the table in docs/architecture.md: | `folder` | what | `a` `b` |"""
    floors = {}
    with open(os.path.join(TOP, "docs/architecture.md")) as f:
        for line in f:
            row = re.match(r"\| `((?:%s)(?:/[a-z]+)?)` \|[^|]*\|([^|]*)\|" % "|".join(ROOMS), line)
            if row:
                floors[row.group(1)] = (len(floors), re.findall(r"`([a-z/]+)`", row.group(2)))
    return floors


def objects():
    """{source: (symbols it defines, symbols it needs)}; each source once, as it is linked into its own program."""
    table = {}
    for source in sources():
        if not source.endswith(".c"):
            continue
        path = os.path.join(BUILD, source[:-2] + (".pic.o" if source.startswith("interpose/") else ".o"))
        defined, needed = set(), set()
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                needed.add(name)
            elif kind.isupper() and kind not in "WV":
                defined.add(name)
        table[source] = defined, needed
    return table


def needs(table, room):
    """{source: sources of the same room whose symbols it needs}"""
    owner = {symbol: source for source, (defined, _) in table.items() if source.startswith(room) for symbol in defined}
    return {source: {owner[s] for s in needed if s in owner} - {source}
            for source, (_, needed) in table.items() if source.startswith(room)}


def declared_elsewhere(table):
    """Functions whose only declaration stands in a header of another folder."""
    headers = {}
    for path in sources():
        if path.endswith(".h"):
            with open(os.path.join(TOP, path)) as f:
                text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
            for name in set(re.findall(r"^[a-z][^;{}()=]*?\b(\w+)\([^;{]*\)[^;{]*;", text, re.M)):
                headers.setdefault(name, set()).add(os.path.dirname(path))
    return ["%s of %s in %s" % (symbol, source, " ".join(sorted(headers[symbol])))
            for source, (defined, _) in sorted(table.items()) for symbol in sorted(defined)
            if symbol in headers and os.path.dirname(source) not in headers[symbol]]


def circles(edges):
    """Sets of nodes that reach each other, found by what each node reaches: rooms are small."""
    reach = {}
    for node in edges:
        seen, todo = set(), [node]
        while todo:
            for other in edges.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[node] = seen
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in edges if a in reach[a]}
    return sorted((sorted(part) for part in found), key=len, reverse=True)


def check_private():
    """Private headers in the sources, and in unit tests of trace/, which mirror its folders."""
    found = ["%s by %s" % (name, path) for path in sources(*ROOMS, "tests/unit/trace") for name in includes(path)
             if name.endswith("_impl.h") and os.path.dirname(name) != os.path.dirname(path.replace("tests/unit/", ""))]
    check(not found, "a private header is included in its own folder only", ", ".join(sorted(found)))


def check_judges():
    """Lines of our headers and tables that the compiler read for a detector of the wait-for graph."""
    for name in JUDGES:
        with open(os.path.join(BUILD, "trace/verdict", name + ".d")) as deps:
            read = set(re.findall(r"[\w/]+\.(?:h|def)\b", deps.read()))
        lines = 0
        for path in read:
            with open(os.path.join(TOP, path)) as text:
                lines += len(text.read().splitlines())
        check(0 < lines <= JUDGE_LINES, "trace/verdict/%s.c is read with at most %d lines of headers" % (name, JUDGE_LINES),
              "%d" % lines)


def main():
    check_private()
    check_judges()
    floors, actual = documented(), {}
    for path in sources():
        folder = os.path.dirname(path)
        actual.setdefault(folder, set())
        for name in includes(path):
            if name.split("/")[0] in ROOMS and os.path.dirname(name) != folder:
                actual[folder].add(os.path.dirname(name))
            check_library(path, name)
    check(set(floors) == set(actual), "every folder is in docs/architecture.md, and only those",
          "differ: %s" % sorted(set(floors) ^ set(actual)))
    for folder, (floor, allowed) in floors.items():
        used = actual.get(folder, set())
        check(used == set(allowed), "%s includes what the picture says" % folder,
              "not in it: %s; no longer used: %s" % (sorted(used - set(allowed)), sorted(set(allowed) - used)))
        upward = [other for other in allowed if other not in floors or floors[other][0] >= floor]
        check(not upward, "%s stands above what it includes" % folder, "not below it: %s" % upward)
    seen = [path for path in sources("workloads") for name in includes(path)
            if name.split("/")[0] in ROOMS + ("tests",)]
    check(not seen, "workloads see nothing of ours", ", ".join(seen))
    table = objects()
    elsewhere = declared_elsewhere(table)
    check(not elsewhere, "a function is declared in the folder that defines it", ", ".join(elsewhere))
    for room in ROOMS:
        edges = needs(table, room)
        long = [part for part in circles(edges) if len(part) > MOST]
        check(not long, "%s: no circle of more than %d files" % (room, MOST), "; ".join(" ".join(p) for p in long))
        folders = {}
        for source, others in edges.items():
            folders.setdefault(os.path.dirname(source), set()).update(
                os.path.dirname(o) for o in others if os.path.dirname(o) != os.path.dirname(source))
        round_ = circles(folders)
        check(not round_, "%s: folders need each other one way only" % room, str(round_))
    sys.exit(1 if failed else 0)


def check_library(path, name):
    room = path.split("/")[0]
    if re.match(FOREIGN, name) and not re.match(r"(ncursesw?/)?(n?curses|panel|term)\.h", name):
        check(False, "%s sees no library's types" % path, name)
    for library, who in LIBRARIES.items():
        if re.match(library, name) and not re.match(who, path):
            check(False, "%s is not seen outside %s" % (name, who), path)


main()
