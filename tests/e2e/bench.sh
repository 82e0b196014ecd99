#!/bin/bash
# long
# timeout: 120
# The benches still work: one quick round each, no judgement of their figures.
cd "$TOP" || exit 1
out=$(python3 tests/bench/bench.py "$BUILD" --quick 2>&1) || { echo "$out"; exit 1; }
[ "$(echo "$out" | wc -l)" -ge 7 ] && echo "$out" | grep -q "ping-pong" || { echo "$out"; exit 1; }
out=$(python3 tests/bench/site.py "$BUILD" --quick 2>&1) || { echo "$out"; exit 1; }
[ "$(echo "$out" | grep -c "^epilog of")" -eq 3 ] && echo "$out" | grep -q "task prolog" || { echo "$out"; exit 1; }
