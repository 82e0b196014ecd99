# timeout: 600
# alone
# long
"""Fifty pairs of equal real runs: hpctop diff finds nothing in them.  Their lists are sure by 99 %: one may be wrong."""
import shutil

from changed import at_once, changed, diff, false
from common import check, end

PAIRS, MOST_WRONG = 50, 1

wrong, changes = 0, []
for i in range(PAIRS):
    found = diff("a", "b") if at_once(("a", 2, changed(300, 0)), ("b", 2, changed(300, 0))) else None
    if not check("pair %d" % i, found is not None and found["compared"] > 4, found):
        break
    if false(found):
        wrong += 1
        print("pair %d: %s" % (i, false(found)))
    changes.append(abs(found["change"]))
    shutil.rmtree("a")
    shutil.rmtree("b")
print("%d of %d pairs have a finding; iterations differ by %.2f %% at most" % (wrong, len(changes), 100 * max(changes, default=0)))
check("no more findings than their confidence says", wrong <= MOST_WRONG, wrong)
end()
