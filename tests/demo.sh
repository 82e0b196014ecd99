#!/bin/bash
# The demo: a 4-rank job under libtrace.so, watched in hpctop.  demo.sh BUILD [seconds]
# In a terminal the screens open on the running job (q leaves); without one the report is printed when it has ended.
set -u
cd "$(dirname "$0")/.." || exit 1
stencil=$1/workloads/stencil
if [ -t 0 ] && [ -t 1 ]; then seconds=${2:-120}; else seconds=${2:-5}; fi

# mpirun refuses root and more ranks than cores unless told; a laptop and a container are both.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
command -v ssh >/dev/null || export OMPI_MCA_plm_rsh_agent=sh

folder=$(mktemp -d)
export HPCTOP_DIR=$folder/hpctop-stencil
LD_PRELOAD=${LIBTRACE:-$PWD/libtrace.so} mpirun -n 4 "$stencil" "$seconds" >"$folder/output" 2>&1 </dev/null &
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
