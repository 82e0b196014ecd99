#!/bin/sh
# Prints the linker version script of libtrace.so: the exported calls of the tables given, dlsym (load/lookup.c),
# what NCCL searches (nccl/nvtx.c, nccl/plugin.c), and what hpctop.h does (regions/regions.c).
# Usage: export-map.sh calls_p2p.def .. nccl_calls.def gloo_calls.def > export.map
set -eu
awk -F '[(, ]+' '
    BEGIN { print "{"; print "global:"; print "    dlsym;\n    hpctop_quiet;\n    hpctop_regions;"
            print "    InitializeInjectionNvtx2;\n    InitializeInjectionNvtxExtension;"
            for (v = 1; v <= 6; v++) print "    ncclProfiler_v" v ";" }
    $1 == "CALL" && $4 == "CORE" && $6 != "PASS" { print "    MPI_" $3 ";"; n++ }
    $1 ~ /^NCCL/ && $4 == "EXPORT" { print "    nccl" $3 ";"; n++ }
    /_ZN/ { match($0, /_ZN[A-Za-z0-9_]+/); print "    " substr($0, RSTART, RLENGTH) ";" }
    END { print "    InitializeInjection;"; print "local:"; print "    *;"; print "};"; if (!n) exit 1 }' "$@"
