#!/bin/bash
# timeout: 120
# The bench still works: one quick round, no judgement of its figures.
cd "$TOP" || exit 1
out=$(python3 tests/bench/bench.py "$BUILD" --quick 2>&1) || { echo "$out"; exit 1; }
[ "$(echo "$out" | wc -l)" -ge 7 ] && echo "$out" | grep -q "ping-pong" || { echo "$out"; exit 1; }
