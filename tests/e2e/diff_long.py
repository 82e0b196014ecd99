# timeout: 14400
# alone
# long
"""Two hundred pairs of real runs at a load of four times the cores: of equal ones at most one in a hundred differs, of those with
10 % more in one piece of work nine in ten do, and each with 14 times the work does.  HPCTOP_PAIRS: another number of pairs."""
import os
import shutil
import subprocess
import sys

from changed import at_once, changed, claims, diff
from common import check, end

PAIRS = int(os.environ.get("HPCTOP_PAIRS", "200"))
ITERATIONS, WORK = 300, 500  # percent: some milliseconds of additions, a time slice of most schedulers
CORES = len(os.sched_getaffinity(0))
hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * CORES - 2)]


def record(name, percent, iterations=ITERATIONS):
    shutil.rmtree(name, ignore_errors=True)
    return at_once((name, 2, changed(iterations, percent, mode="sums")))


def planted(percent, pairs, iterations=ITERATIONS):
    """Returns how many pairs with so many percent in place of WORK are found slower."""
    found = 0
    for i in range(pairs):
        if not check("pair %d" % i, record("a", WORK, iterations) and record("b", percent, iterations)):
            break
        result = diff("a", "b")
        found += result["answer"] == "slower"
        print("%d %%, pair %d: %s" % (percent, i, result["words"]))
    return found


def equal(pairs):
    wrong = 0
    record("b", WORK)
    for i in range(pairs):
        os.rename("b", "a")
        if not check("pair %d" % i, record("b", WORK)):
            break
        result = diff("a", "b")
        wrong += bool(claims(result))
        print("equal, pair %d: %s" % (i, claims(result) or result["words"]))
        shutil.rmtree("a")
    return wrong


try:
    wrong, found, times = equal(PAIRS), planted(WORK + (100 + WORK) // 10, PAIRS), planted(14 * (100 + WORK) - 100, PAIRS // 10, 60)
finally:
    for hog in hogs:
        hog.kill()
print("of %d pairs %d equal ones differ, %d with 10 %%; of %d with 14 times the work %d" % (PAIRS, wrong, found, PAIRS // 10, times))
check("of equal pairs at most 1 %", wrong <= PAIRS / 100, wrong)
check("of those with 10 % at least 90 %", found >= 0.9 * PAIRS, found)
check("all with 14 times the work", times == PAIRS // 10, times)
end()
