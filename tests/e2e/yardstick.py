# timeout: 300
"""The verdict on random programs whose end is known (tests/yardstick): it is as often right as the tables in
docs/measured.md say."""
import os

import yardstick_table
from common import BUILD, TOP, check, end, run

PROGRAMS, SEED = 40000, 1  # ten_million.py has more

done = run([os.path.join(BUILD, "tests/yardstick/yardstick"), "-n", str(PROGRAMS), "-s", str(SEED)], timeout=1200)
seen = yardstick_table.read(done.out)
with open(os.path.join(TOP, "docs/measured.md")) as f:
    documented = yardstick_table.read(f.read())
print(done.out)
check("programs were judged", done.code == 0 and sum(row["programs"] for row in seen.values()) == PROGRAMS, done)
yardstick_table.compare(check, seen, documented)
end()
