#!/bin/bash
# Unit tests have one dialect: CHECK of tests/support/check.h, and its result.
cd "$TOP" || exit 1
bad=0
tests=$(find tests/unit -name '*.c' | sort)
[ -n "$tests" ] || { echo "no unit tests"; exit 1; }
own=$(grep -nE '#[[:space:]]*define[[:space:]]+(CHECK|ASSERT|EXPECT)|\<assert\(|static int (failed|failures)\>' $tests)
[ -z "$own" ] || { echo "checks of their own, not those of tests/support/check.h:"; echo "$own" | sed 's/^/  /'; bad=1; }
silent=$(grep -L 'return check_result();' $tests)
[ -z "$silent" ] || { echo "do not return check_result():"; echo "$silent" | sed 's/^/  /'; bad=1; }
exit $bad
