#!/bin/bash
# Records workloads/heat.py on four ranks of a host called node01, as a frame of zstd for each trace file.  sample.sh FILE
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
into=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$top/workloads/heat.py" "$top/include/hpctop.py" "$folder"
cd "$folder"
unshare --uts bash -c 'hostname node01 && "$@"' - "$top/tests/start" "$top/hpctop" record -q -o trace -- \
    mpirun -n 4 /usr/bin/python3 heat.py
zstd -q -19 -c trace/*.hpctop >"$into"
