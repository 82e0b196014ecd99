#!/bin/sh
# Prints the linker version script of libtrace.so: of the table given, the core calls that are wrapped, and nothing else.
# Usage: export-map.sh mpi_calls.def > export.map
set -eu
awk -F '[(, ]+' '
    BEGIN { print "{"; print "global:" }
    $1 == "CALL" && $4 == "CORE" && $6 != "PASS" { print "    MPI_" $3 ";"; n++ }
    END { print "local:"; print "    *;"; print "};"; if (!n) exit 1 }' "$1"
