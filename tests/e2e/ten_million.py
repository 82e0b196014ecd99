# timeout: 20000
# long
"""10,000,000 random programs (tests/yardstick), in batches: what was judged by this very program is kept in
build/yardstick, so that a run that was ended goes on where it was.  Two hours on two cores."""
import hashlib
import os

import yardstick_table
from common import BUILD, TOP, check, end, run

BATCH, BATCHES = 100000, 100
MARGIN = 1.0  # percent: between the share of one batch, which is documented, and that of all

program = os.path.join(BUILD, "tests/yardstick/yardstick")
with open(program, "rb") as f:
    kept = os.path.join(BUILD, "..", "yardstick", hashlib.sha256(f.read()).hexdigest()[:16])
os.makedirs(kept, exist_ok=True)
total = {}
for batch in range(BATCHES):
    path = os.path.join(kept, "%d" % batch)
    if not os.path.exists(path):
        done = run([program, "-n", str(BATCH), "-s", str(1 + batch * BATCH)], timeout=3600)
        if not check("batch %d" % batch, done.code == 0, done):
            break
        with open(path + ".new", "w") as f:
            f.write(done.out)
        os.rename(path + ".new", path)
    with open(path) as f:
        yardstick_table.add(total, yardstick_table.read(f.read()))
with open(os.path.join(TOP, "docs/verdicts.md")) as f:
    documented = yardstick_table.read(f.read())
for kind, row in sorted(total.items()):
    print(kind, [round(n, 1) for n in row])
    if kind[1] == "finishes":
        check("%s, %s: no alarm" % kind, row[6] == 0, row)
    if kind[1] == "hangs":
        check("%s, %s: none is missed" % kind, row[2] == 0, row)
    if documented.get(kind, [0])[0] >= 1000:
        check("%s, %s: as often right as documented" % kind, row[1] >= documented[kind][1] - MARGIN, row)
end()
