#!/bin/bash
# The parts of CUPTI's records that libtrace.so reads lie where interpose/cuda/cupti_records.h says, in every generation of the
# struct that the headers of each toolkit on this machine (and in CUPTI_INCLUDES, if set) know.
cd "$TOP" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
found=0 bad=0
for header in /usr/local/cuda*/include/cupti_activity.h /usr/local/cuda*/extras/CUPTI/include/cupti_activity.h \
    /usr/include/cupti_activity.h ${CUPTI_INCLUDES:+$(printf '%s/cupti_activity.h ' $CUPTI_INCLUDES)}; do
    [ -f "$header" ] || continue
    folder=$(dirname "$header")
    kernels=$(cat "$folder"/cupti_activity*.h | grep -ohE 'CUpti_ActivityKernel([4-9]|1[0-9])\b' | sort -u)
    copies=$(cat "$folder"/cupti_activity*.h | grep -ohE 'CUpti_ActivityMemcpy(PtoP)?[0-9]*\b' | sort -u | grep -vE 'Kind|Mask')
    [ -n "$kernels" ] || { echo "$header knows no kernel's record"; bad=1; continue; }
    {
        echo '#include <cuda.h>'
        echo '#include <cupti.h>'
        for old in "$folder"/cupti_activity_deprecated.h; do [ -f "$old" ] && echo "#include <cupti_activity_deprecated.h>"; done
        echo '#include "interpose/cuda/cupti_records.h"'
        echo '#define SAME(theirs, their, ours, our) _Static_assert(offsetof(theirs, their) == offsetof(struct ours, our), #theirs "." #their);'
        for k in $kernels; do
            for f in start:start end:end deviceId:device contextId:context streamId:stream correlationId:correlation name:name kind:kind; do
                echo "SAME($k, ${f%:*}, ipo_cupti_kernel, ${f#*:})"
            done
        done
        for c in $copies; do
            for f in kind:kind copyKind:copy_kind bytes:bytes start:start end:end deviceId:device contextId:context streamId:stream; do
                echo "SAME($c, ${f%:*}, ipo_cupti_copy, ${f#*:})"
            done
        done
        echo '_Static_assert((int)CUPTI_ACTIVITY_KIND_MEMCPY == IPO_CUPTI_MEMCPY && (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL =='
        echo '    IPO_CUPTI_CONCURRENT_KERNEL && (int)CUPTI_ACTIVITY_KIND_MEMCPY2 == IPO_CUPTI_MEMCPY2, "kinds");'
        echo '_Static_assert((int)CUPTI_ACTIVITY_MEMCPY_KIND_HTOD == IPO_CUPTI_HTOD && (int)CUPTI_ACTIVITY_MEMCPY_KIND_DTOH =='
        echo '    IPO_CUPTI_DTOH && (int)CUPTI_ACTIVITY_MEMCPY_KIND_DTOD == IPO_CUPTI_DTOD && (int)CUPTI_ACTIVITY_MEMCPY_KIND_HTOH =='
        echo '    IPO_CUPTI_HTOH && (int)CUPTI_ACTIVITY_MEMCPY_KIND_PTOP == IPO_CUPTI_PTOP, "copies");'
        echo 'int main(void) { return 0; }'
    } >"$work/offsets.c"
    if ! gcc -I. -I"$folder" -o "$work/offsets" "$work/offsets.c" 2>"$work/errors"; then
        if grep -q "cuda.h: No such file" "$work/errors"; then echo "$folder has no cuda.h: not compiled"; continue; fi
        echo "$folder:"; grep -E 'error' "$work/errors" | head -20; bad=1
    fi
    found=$((found + 1))
    echo "$folder: $(echo $kernels $copies)"
done
[ $bad = 0 ] || exit 1
[ $found -gt 0 ] || { echo "no toolkit's cupti.h is here"; exit 77; }
