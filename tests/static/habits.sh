#!/bin/bash
# timeout: 120
# What the Makefile offers to those who work on the house: the wrappers readable, a compile database that is whole.
here=$PWD
cd "$TOP" || exit 1
exec 9<. && flock 9 # as make() of tests/e2e/lib/common.py
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
make -s expand >"$here/expanded" 2>"$here/said"
result $? "make expand" "$(head -3 "$here/said")"
wrappers=$(grep -cE '^(int|double) ipo_w_' "$here/expanded") rows=$(cat interpose/mpi/calls_*.def | grep -c '^CALL(')
[ "$wrappers" -ge "$rows" ] && [ "$rows" -gt 600 ]; result $? "make expand shows the wrappers" "$wrappers of them, $rows rows"
before=$(cksum compile_commands.json 2>/dev/null)
make -s -B compile_commands.json
python3 - <<'PY'
import json, os
entries = json.load(open("compile_commands.json"))
files = {os.path.relpath(os.path.join(e["directory"], e["file"])) for e in entries}
assert "trace/reader/reader.c" in files and "tui/app/app.c" in files and "interpose/mpi/record.c" in files, sorted(files)[:5]
assert all(os.path.exists(f) for f in files)
PY
result $? "compile_commands.json names every file" "it does not"
[ -n "$before" ] || rm -f compile_commands.json
exit $bad
