# timeout: 100
"""The verdict on random programs whose end is known (tests/yardstick): none that finished is in trouble, none that hangs
is missed, and the shares of right answers are not below those of the table in docs/verdicts.md."""
import os
import re

from common import BUILD, TOP, check, end, run

PROGRAMS, SEED = 4000, 1


def table(text):
    """{(fault, end): (programs, right in percent, missed, names nobody, names others too, names others, false alarms, proven and wrong)}"""
    found = {}
    for line in text.splitlines():
        cells = [c.strip(" %") for c in line.strip().strip("|").split("|")]
        if len(cells) == 10 and re.fullmatch(r"[\d.]+", cells[3]):
            found[cells[0], cells[1]] = (int(cells[2]), float(cells[3])) + tuple(int(c) for c in cells[4:])
    return found


done = run([os.path.join(BUILD, "tests/yardstick/yardstick"), str(PROGRAMS), str(SEED)], timeout=90)
seen = table(done.out)
with open(os.path.join(TOP, "docs/verdicts.md")) as f:
    documented = table(f.read())
print(done.out)
check("programs were judged", done.code == 0 and len(seen) > 12, done)
check("the kinds of the table in docs/verdicts.md", set(seen) == set(documented), sorted(set(seen) ^ set(documented)))
for kind in sorted(seen):
    programs, right, missed, _, _, _, alarms, _ = seen[kind]
    name = "%s, %s" % kind
    if kind[1] == "finishes":
        check(name + ": no alarm", alarms == 0, seen[kind])
    if kind[1] == "hangs":
        check(name + ": none is missed", missed == 0, seen[kind])
    if kind in documented:
        check(name + ": as often right as docs/verdicts.md says", right >= documented[kind][1], (right, documented[kind]))
end()
