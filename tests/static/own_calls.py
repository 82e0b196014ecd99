"""Each call of MPI that the recorder makes for itself has a row in interpose/mpi/own_calls.def, which says what MPI may
refuse and why that is not asked for; each row is used."""
import os
import re

TOP = os.environ["TOP"]
bad = False


def check(name, wrong, why):
    global bad
    bad |= bool(wrong)
    print("not ok %s: %s" % (name, why % ", ".join(sorted(wrong))) if wrong else "ok " + name)


with open(os.path.join(TOP, "interpose/mpi/own_calls.def")) as f:
    rows = re.findall(r'^OWN\((\w+), "([^"]*)", "([^"]*)"\)$', f.read(), re.M)
with open(os.path.join(TOP, "interpose/mpi/own_calls.def")) as f:
    lines = sum(line.startswith("OWN(") for line in f)
used = set()
for where, _, names in os.walk(os.path.join(TOP, "interpose")):
    for name in names:
        if name.endswith((".c", ".h")):
            with open(os.path.join(where, name)) as f:
                text = f.read()
            for inside in re.findall(r"\bipo_own\[([^\]]*)\]", text):
                used |= set(re.findall(r"\bIPO_(\w+)", inside))
            used |= set(re.findall(r"\bREAL\((\w+),", text)) - {"name"}
            if "ipo_own[converters" in text:
                used |= set(re.findall(r"\bIPO_(\w+_(?:f2c|fromint))", text))
used.discard("CALLS")
named = {name for name, _, _ in rows}
check("each row can be read", lines != len(rows) and {"%d of %d" % (len(rows), lines)}, "read %s")
check("each call has a row", used - named, "%s have none")
check("each row is used", named - used, "%s are not")
check("what may be refused is guarded", {name for name, refuses, guard in rows if bool(refuses) != bool(guard)},
      "%s: one of refusal and guard is missing")
raise SystemExit(bad)
