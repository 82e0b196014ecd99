#!/bin/bash
# timeout: 120
# Every header compiles alone: it includes what it uses.  Headers of interpose/arch are for one processor each.
cd "$TOP" || exit 1
bad=0
for header in $(find trace interpose tui workloads -name '*.h' | sort); do
    case $header in interpose/arch/arch.h | "interpose/arch/$(uname -m).h") ;; interpose/arch/*) continue ;; esac
    compiler=${CC:-gcc}
    [ "${header%%/*}" = workloads ] && compiler=mpicc
    # (workloads/nccl: no CUDA is needed, the double has declarations.)  The probe uses nothing of the header, so static functions in it are unused by design.
    if ! echo "#include \"$header\"" | $compiler -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -I. -Itests/gpu_double/include -fsyntax-only -x c - ; then
        echo "$header does not compile alone"
        bad=1
    fi
done
exit $bad
