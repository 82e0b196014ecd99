"""Tables that an enum indexes have a row for each of its values.

A table without a length (`name[] = {`) says how long it is (sizeof, or a last row of NULL or 0), is made of the rows of a
.def file, or asserts its last row: TRC_ASSERT_ROWS(name, LAST) of trace/util/rows.h, TRC_ASSERT_BITS where its rows
name bits, or a _Static_assert of `LAST + 1`.  LAST is the last value of its enum, and a table with rows `[VALUE] =` has one
for each value of that enum."""
import os
import re
import sys

TOP = os.environ["TOP"]
ROOMS = ("trace", "tui", "interpose")
# Tables that have no row for some values, and why.
PARTIAL = {
    "interpose/fortran/fortran.c handle_of": "other roles are no handles",
    "interpose/mpi/living.c what": "no object",
    "interpose/nccl/nccl.c moves": "moves nothing",
    "trace/export/csv.c region": "records of regions only",
    "trace/reader/dump_items.c word": "records of regions only",
    "trace/verdict/deaths.c by": "signals have sentences of their own",
    "trace/verdict/missing.c says": "epochs have a sentence of their own, collectives have no single partner",
    "tui/views/timeline_rows.c by": "by size: stands for one of the others",
}
TABLE = re.compile(r"^([ \t]*)([^\n;{}()=#]*[ *]|\}\s*)(\w+)\[([^\]\n]*)\]\s*=\s*\{", re.M)
failed = 0


def check(wrong, name):
    global failed
    failed |= bool(wrong)
    print("not ok %s: %s" % (name, "; ".join(wrong)) if wrong else "ok " + name)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def sources():
    for room in ROOMS:
        for where, _, names in os.walk(os.path.join(TOP, room)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.join(where, name)
                    with open(path) as f:
                        yield os.path.relpath(path, TOP), without_comments(f.read())


def enums_of(text):
    """Lists of values; of enums whose values all stand there."""
    for body in re.findall(r"\benum(?: \w+)? \{([^}]*)\}", text):
        if "#" not in body and not re.search(r"\w\(\w+\)", body):
            yield re.findall(r"(?:^|,)\s*(\w+)", body)


def body_of(text, begin):
    """What stands behind a "{" at begin - 1, and where it ends."""
    depth, at = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1], at


def outer(body):
    """A body without what is in braces of its own."""
    while re.search(r"\{[^{}]*\}", body):
        body = re.sub(r"\{[^{}]*\}", " 0 ", body)
    return body


def is_bounded(name, body, scope):
    rows = [row.strip() for row in outer(body).rstrip().rstrip(",").split(",")]
    ended = re.fullmatch(r"NULL|0|\w+_NONE", rows[-1]) or re.search(r"\{\s*(0|NULL\b[^{}]*)?\}\s*,?\s*$", body)
    asked = re.search(r"(sizeof \(?\*?|\b(TRC_ASSERT_ROWS|TRC_ASSERT_BITS|ONE_OF|COUNT|ANA_TABLE|TUI_COLUMNS)\()%s\b" % name, scope)
    return ended or asked or "#define" in body


def last_rows(text):
    """(table, value) of each assertion."""
    yield from re.findall(r"\bTRC_ASSERT_(?:ROWS|BITS)\((\w+), (\w+)\)", text)
    yield from re.findall(r"_Static_assert\(sizeof (\w+) / sizeof \*\w+ == (\w+) \+ 1,", text)


def main():
    texts = dict(sources())
    everywhere = {value: values for text in texts.values() for values in enums_of(text) for value in values}
    lengths = {length for text in texts.values() for length in re.findall(r"\w\[([A-Z]\w+)\]", text)}
    endless, early, holes, tables = [], [], [], 0
    for path, text in texts.items():
        enum_of = dict(everywhere, **{value: values for values in enums_of(text) for value in values})
        for name, last in last_rows(text):
            if enum_of.get(last, [last])[-1] != last:
                early.append("%s %s: %s" % (path, name, last))
        for m in TABLE.finditer(text):
            inside, kind, name, length = m.groups()
            body, end = body_of(text, m.end())
            scope = text[end:text.find("\n}\n", end)] if inside else text[end:]
            fixed_in_frame = inside and not kind.strip().startswith(("static", "}"))
            if not length.strip() and not fixed_in_frame:
                tables += 1
                if not is_bounded(name, body, scope):
                    endless.append("%s:%d %s" % (path, text.count("\n", 0, m.start()) + 1, name))
            rows = set(re.findall(r"(?:^|,)\s*\[(\w+)\] =", outer(body)))
            values = next((enum_of[row] for row in rows if row in enum_of), [])
            without = [v for v in values if v not in rows and v not in lengths]
            if without and "%s %s" % (path, name) not in PARTIAL:
                holes.append("%s:%d %s has no %s" % (path, text.count("\n", 0, m.start()) + 1, name, ", ".join(without)))
    check([] if tables > 100 else [str(tables)], "tables are found")
    check(endless, "tables have a length, an end, or a last row that is asserted")
    check(early, "what is asserted is the last value of its enum")
    check(holes, "tables have a row for each value")
    sys.exit(failed)


main()
