# timeout: 200
"""The verdict on random programs whose end is known (tests/yardstick): none that finished is in trouble, none that hangs
is missed, and the shares of right answers are not below those of the table in docs/verdicts.md."""
import os

import yardstick_table
from common import BUILD, TOP, check, end, run

PROGRAMS, SEED = 100000, 1

done = run([os.path.join(BUILD, "tests/yardstick/yardstick"), "-n", str(PROGRAMS), "-s", str(SEED)], timeout=800)
seen = yardstick_table.read(done.out)
with open(os.path.join(TOP, "docs/verdicts.md")) as f:
    documented = yardstick_table.read(f.read())
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
