#!/bin/bash
# tests/run.py with tests of its own: what it counts, what it lists, and what it does not let pass.
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
mkdir -p tests/e2e tests/static
cp "$TOP/tests/run.py" "$TOP/tests/start" tests/
flaky() { # flaky NAME..: passes at its second try
    for name; do echo "[ -e '$PWD/$name.tried' ] || { : >'$PWD/$name.tried'; echo 'not ok part: $name stumbled'; exit 1; }" >"tests/e2e/$name.sh"; done
}
runs() { # runs OPTION..: its output in ./said, its last line in $last
    rm -f ./*.tried
    python3 tests/run.py "$@" >said 2>&1
    code=$?
    last=$(tail -n 1 said)
}
before_last() { head -n -1 said | grep -qE -- "$1"; }

echo true >tests/static/fine.sh
echo 'echo "skip door: it is locked"' >tests/static/skips.sh
flaky one two three
printf '# why\n1 static/skips door: it is locked\n' >tests/skips
runs --ci
[ "$code" = 0 ] && [ "$last" = "4 passed, 0 failed, 1 skipped" ]; result $? "three flaky tests pass" "exit $code: $last"
before_last '^  e2e/one: not ok part: one stumbled'; result $? "what each said at its first try is listed" "$(cat said)"
before_last '^flaky: 3, of at most 3$'; result $? "and counted" "$(cat said)"
before_last '^on [^ ].*, gcc [0-9]+\.'; result $? "and what they ran on" "$(cat said)"
before_last '^skipped: 1; tests/skips allows 1 in CI$'; result $? "so are skips" "$(cat said)"

runs no_such_test
[ "$code" = 2 ] && echo "$last" | grep -q "no test has 'no_such_test' in its name"; result $? "a name that no test has is an error" "exit $code: $last"

flaky four
runs
[ "$code" = 1 ] && [ "$last" = "5 passed, 1 failed, 1 skipped" ]; result $? "four fail the run" "exit $code: $last"
echo false >tests/e2e/four.sh
runs
[ "$code" = 1 ] && [ "$last" = "4 passed, 1 failed, 1 skipped" ] && before_last '^flaky: 3'
result $? "what fails twice is no flaky test" "exit $code: $last"
rm tests/e2e/*.sh

printf '1 static/skips window: it is locked\n' >tests/skips
runs
[ "$code" = 0 ] && before_last '^  skipped static/skips door'; result $? "a skip with no row is named" "exit $code: $(cat said)"
runs --ci
[ "$code" = 1 ] && [ "$last" = "1 passed, 1 failed, 1 skipped" ]; result $? "and a failure in CI" "exit $code: $last"
echo 'for part in door hatch; do echo "skip $part: it is locked"; done' >tests/static/skips.sh
printf '1 static/skips *: it is locked\n' >tests/skips
runs --ci
[ "$code" = 1 ] && before_last '^  skipped static/skips hatch'; result $? "no more than the row says" "exit $code: $(cat said)"
printf '2 static/skips *: it is locked\n1 static/gone: nobody knows\n' >tests/skips
runs --ci
[ "$code" = 1 ] && before_last 'static/gone: there is no such test'; result $? "a row of a test that is gone" "exit $code: $(cat said)"
rm tests/static/*.sh

# meets NAME HEAD: a test that waits for a while until four such run at once, and says how many it has seen
meets() {
    cat >"tests/static/$1.sh" <<END
$2
touch "$PWD/here.\$\$"
for try in \$(seq "\${TRIES-600}"); do
    n=\$(ls "$PWD"/here.* | wc -l)
    [ "\$n" -lt 4 ] || break
    sleep 0.1
done
sleep 0.5
rm "$PWD/here.\$\$"
echo "ok seen \$n"
END
}
meets one "# computes"
meets two "# computes"
meets three "# waits"
meets four "# waits"
runs -j 2
[ "$code" = 0 ] && [ "$(grep -c 'seen 4$' said)" = 4 ]; result $? "tests that wait run beside as many that compute" "exit $code: $(cat said)"
TRIES=2 runs -j 1
[ "$code" = 0 ] && [ "$(grep -c 'seen 1$' said)" = 4 ]; result $? "with one job, one by one" "exit $code: $(cat said)"
rm tests/static/*.sh

cat >tests/static/leaves.sh <<END
setsid sleep 1000 & echo \$! >"$PWD/left.1"
export HERE=\$PWD TMPDIR=/
cd /
setsid sleep 1000 & echo \$! >"$PWD/left.2"
END
runs
lives() { ps -o stat= -p "$(cat "$1")" | grep -q '^[^Z]'; }
[ "$code" = 0 ] && [ -s left.1 ] && [ -s left.2 ] && ! lives left.1 && ! lives left.2
result $? "what a test leaves in sessions of its own is ended" "$(cat left.* said)"
rm tests/static/*.sh

mkdir -p tests/unit/deep/er build/plain/tests/unit/deep/er
: >tests/unit/deep/er/built.c
: >tests/unit/never.c
printf '#!/bin/sh\nexit 0\n' >build/plain/tests/unit/deep/er/built
cp build/plain/tests/unit/deep/er/built build/plain/tests/unit/stale
chmod +x build/plain/tests/unit/deep/er/built build/plain/tests/unit/stale
runs unit/
[ "$code" = 1 ] && [ "$last" = "1 passed, 1 failed, 0 skipped" ] && before_last '^FAILED  unit/never: could not be run'
result $? "a program that was not built fails, one without a source is not run" "exit $code: $(cat said)"
mv tests/unit/never.c tests/unit/built.c
runs unit/
[ "$code" = 1 ] && [ "$last" = "tests with the same name: unit/built" ]; result $? "two of one name" "exit $code: $last"
said=$(PYTHONPATH="$TOP/tests/e2e/lib" python3 - <<'END'
from common import Result, tried
def after(*codes):
    left = list(codes)
    return lambda *_: Result(left.pop(0), "", "")
print("=", tried(after(None, 1, 0), 2, ["x"]).code, tried(after(None, None, None, 0), 2, ["x"]).code,
      tried(after(None, 0), 2, ["x"], "trace-x").code, tried(after(1, 0), 2, ["x"], "trace-x").code)
END
)
[ "$(echo "$said" | tail -n 1)" = "= 0 None 0 1" ]; result $? "what an MPI loses by itself is tried again, a failure under libtrace.so is not" "$said"
said=$(PYTHONPATH="$TOP/tests/e2e/lib" python3 - <<'END'
import threading
from common import environment, together
places, meeting = [], threading.Barrier(3)
together([lambda: (meeting.wait(50), places.append(environment()["TMPDIR"]))] * 3)
try:
    together([lambda: 1 / 0, lambda: places.append("after")], 1)
except ZeroDivisionError:
    print("=", len(set(places[:3])), places[3])
END
)
[ "$said" = "= 3 after" ]; result $? "parts run together, each with a place of its own, and an error is not lost" "$said"
exit $bad
