#!/bin/bash
# timeout: 60
# The demo without a terminal: the job runs under libtrace.so and the report names the late rank.
cd "$TOP" || exit 1
out=$(bash tests/demo.sh "$BUILD" 2 2>&1 </dev/null) || { echo "$out"; exit 1; }
for word in "rank 3 is late" MPI_Allreduce MPI_Waitall "4 ranks"; do
    echo "$out" | grep -q "$word" || { echo "$out"; echo "the report lacks: $word"; exit 1; }
done
