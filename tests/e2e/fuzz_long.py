# timeout: 28800
# long
# cases: reader digest index regions usage job lines
"""As many executions of a fuzz target as tests/fuzz/targets says, with libFuzzer, AddressSanitizer and UBSan; memory and time of
each input are limited."""
import os
import re
import shutil
import sys

from common import TOP, check, end, make, run, skip_all

sys.path.insert(0, os.path.join(TOP, "tests/fuzz"))
from run import rows  # pylint: disable=wrong-import-position

HOURS = 7 * 3600
target = rows()[0][sys.argv[1]]
if not shutil.which("clang"):
    skip_all("no clang here, which has libFuzzer")
built = make("FUZZ=1", "fuzz", timeout=HOURS)
if check("the target is built", built.code == 0, built):
    # In a folder of this run: what earlier runs kept would count as executions.
    os.makedirs("tests/fuzz")
    os.symlink(os.path.join(TOP, "build/fuzz/tests/fuzz/fuzz_" + target.name), "tests/fuzz/fuzz_" + target.name)
    done = run(["nice", "-n", "10", os.path.join(TOP, "tests/fuzz/run.py"), ".", "-runs=%d" % target.runs, target.name], timeout=HOURS)
    ran = re.search(r"number_of_executed_units: (\d+)", done.err)
    found = [name for name in os.listdir(".") if name.startswith(("crash-", "oom-", "timeout-", "leak-"))]
    for name in found:
        shutil.copy(name, os.path.join(TOP, "build/fuzz", name))
    check("%d executions of %s" % (target.runs, target.name), done.code == 0 and ran and int(ran.group(1)) >= target.runs,
          (found, done))
end()
