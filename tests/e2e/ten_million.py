# timeout: 40000
# long
"""10,000,000 random programs (tests/yardstick), in batches: what was judged by this very program is kept in
build/yardstick, so that a run that was ended goes on where it was.  Some hours on two cores."""
import hashlib
import os

import yardstick_table
from common import BUILD, TOP, check, end, run

PROGRAMS = 10000000

program = os.path.join(BUILD, "tests/yardstick/yardstick")
kept = os.path.join(BUILD, "..", "yardstick")
os.makedirs(kept, exist_ok=True)
with open(program, "rb") as f:
    path = os.path.join(kept, hashlib.sha256(f.read()).hexdigest()[:16])
done = run([program, "-n", str(PROGRAMS), "-k", path], timeout=100000)
print(done.out)
seen = yardstick_table.read(done.out)
with open(os.path.join(TOP, "docs/measured.md")) as f:
    documented = yardstick_table.read(f.read())
check("programs were judged", done.code == 0 and sum(row["programs"] for row in seen.values()) == PROGRAMS, done)
yardstick_table.compare(check, seen, documented)
end()
