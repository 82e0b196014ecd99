# timeout: 1500
# cases: openmpi-4.1.0 openmpi-4.1.4 openmpi-5.0 openmpi-6.0 mpich-3.4 mpich-4.0 mpich-4.2 mpich-5.0
"""The Fortran workloads of all three bindings in one MPI of the matrix, built by its own compiler there."""
import sys

import cell
from common import skip
from fortran_more import BINDINGS, UNSOUND, constants, spawned
from truths import FORTRAN, hold, most_ranks

# As the Makefile does it.
BUILD = r"""
made=/tmp/bin/fortran
mkdir -p $made && cd /tmp/workloads/fortran || exit
[ $made/stamp -nt ../truth.h ] && [ -z "$(find . -newer $made/stamp -type f)" ] && exit
fine=1
try() { "$@" 2>/tmp/errors || { echo "$source: $(grep -m 1 Error /tmp/errors)"; fine=; }; }
fc="%(fc)s -w -O1 -g -ffree-line-length-none -I$made -J$made"
source=truth; try %(cc)s -w -I.. -c -o $made/truth_c.o truth.c; try $fc -c -o $made/truth.o truth.f90
with="$made/truth.o $made/truth_c.o"
for source in *.f90 *.f; do
    case $source in truth.f90|large_count.f90) continue;; esac
    try $fc -o $made/${source%%.*} $source $with
done
for source in *.F90; do
    try $fc -std=legacy -DBINDING_mpifh -I. -o $made/${source%%.*}_mpifh $source $with
    for binding in mpi f08; do
        try $fc -DBINDING_$binding -I. -o $made/${source%%.*}_$binding $source $with
    done
done
[ -z "$fine" ] || touch $made/stamp
"""
job = cell.Cell(sys.argv[1])
job.script(BUILD % {"cc": job.library.cc, "fc": job.library.fc})
for name, arguments, counts in FORTRAN:
    unsound = UNSOUND.get(job.library.name, {}).get(name)
    if unsound:
        skip(name, "without libtrace.so too: " + unsound)
        continue
    # Many cells: two ranks say it.
    both = hold(name, arguments, most_ranks(counts, 2), job.mpirun, lambda n: job.program("fortran/" + n), job.library.codes,
                brief=True)
    job.seen(both[1] if both else None)
for binding in BINDINGS:
    if "constants_" + binding not in UNSOUND.get(job.library.name, {}):
        constants("constants_" + binding, job.mpirun, job.program("fortran/constants_" + binding))
    spawned("spawn_" + binding, lambda *a: job.mpirun(*a, **job.without_shared_memory()), job.program("fortran/spawn_" + binding))
job.end("Fortran")
