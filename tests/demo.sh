#!/bin/bash
# The demo: a 4-rank job under libtrace.so, watched in hpctop.  demo.sh BUILD [seconds]
# In a terminal the screens open on the running job (q leaves); without one the report is printed when it has ended.
set -u
cd "$(dirname "$0")/.." || exit 1
stencil=$1/workloads/stencil
if [ -t 0 ] && [ -t 1 ]; then seconds=${2:-120}; else seconds=${2:-5}; fi

folder=$(mktemp -d)
export HPCTOP_DIR=$folder/hpctop-stencil
LD_PRELOAD=${LIBTRACE:-$PWD/libtrace.so} tests/start mpirun -n 4 "$stencil" "$seconds" >"$folder/output" 2>&1 </dev/null &
job=$!
trap 'kill $job 2>/dev/null; wait $job 2>/dev/null; rm -rf "$folder"' EXIT

for _ in $(seq 100); do
    [ "$(find "$HPCTOP_DIR" -name '*.hpctop' 2>/dev/null | wc -l)" -eq 4 ] && break
    kill -0 $job 2>/dev/null || break
    sleep 0.1
done
if [ -t 0 ] && [ -t 1 ]; then
    "${HPCTOP:-./hpctop}" "$HPCTOP_DIR"
else
    wait $job || { cat "$folder/output"; exit 1; }
    "${HPCTOP:-./hpctop}" report "$HPCTOP_DIR"
fi
