#!/bin/bash
# libtrace.so may need libc and libdl of an old glibc and nothing else, and may show the program only MPI_* names, the four of NCCL
# that its call table exports, dlsym, what NCCL and hpctop.h look up, and what CUDA's driver calls in a library that it is told to load: one
# library more that a container lacks, and every process in it ends.
command -v readelf >/dev/null || { echo "readelf is missing"; exit 77; }
[ -f "$LIBTRACE" ] || { echo "no $LIBTRACE"; exit 1; }
bad=0

needed=$(readelf -dW "$LIBTRACE" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
[ "$needed" = "libc.so.6 libdl.so.2 " ] || { echo "DT_NEEDED is: $needed(wanted: libc.so.6 libdl.so.2)"; bad=1; }

newest=$(readelf -VW "$LIBTRACE" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
[ -n "$newest" ] || { echo "no symbol version found"; bad=1; }
if [ "$(printf '%s\n2.17\n' "$newest" | sort -V | tail -n 1)" != 2.17 ]; then
    echo "needs glibc $newest, the limit is 2.17:"
    readelf --dyn-syms -W "$LIBTRACE" | grep "@GLIBC_$newest"
    bad=1
fi

exported=$(readelf --dyn-syms -W "$LIBTRACE" | awk '$7 != "UND" && $5 != "LOCAL" && NR > 3 && $8 != "" {print $8}' | sed 's/@.*//')
gloo=$(grep -o '_ZN[A-Za-z0-9_]*' "$TOP/interpose/gloo/gloo_calls.def")
foreign=$(echo "$exported" | grep -vxF "$gloo" | grep -vE '^(MPI_[A-Z][A-Za-z0-9_]*|nccl(GetVersion|GetUniqueId|CommInitRank|CommInitAll)|dlsym|hpctop_quiet|hpctop_regions|ncclProfiler_v[1-6]|InitializeInjection(Nvtx(2|Extension))?)$' | grep .)
[ -z "$foreign" ] || { echo "exports more than MPI calls: $(echo $foreign)"; bad=1; }
# What RTLD_NEXT means to others is decided by who calls: our dlsym must end in a jump, and call the real one nowhere else.
jumps=$(objdump -d --no-show-raw-insn --disassemble=dlsym "$LIBTRACE" | awk '/<dlsym>:/ {on = 1} on' | grep -cE '\sjmpq? +\*%|\sbr\s+x')
[ "$jumps" -ge 1 ] || { echo "dlsym does not end in a jump to the real one"; bad=1; }
# A thread that syscall(2) starts finds on its stack what its starter put there: our wrapper adds nothing.
objdump -d --no-show-raw-insn --disassemble=filter_syscall "$LIBTRACE" | grep -qE '\s(jmp|b) .*<syscall' ||
    { echo "the wrapper of syscall does not end in a jump"; bad=1; }
count=$(echo "$exported" | grep -c '^MPI_')
[ "$count" -ge 300 ] || { echo "exports only $count MPI calls"; bad=1; }

if readelf -dW "$LIBTRACE" | grep -qE 'RELR|TEXTREL'; then echo "has DT_RELR or DT_TEXTREL"; bad=1; fi
if readelf -lW "$LIBTRACE" | grep -q 'GNU_STACK.*E'; then
    readelf -lW "$LIBTRACE" | grep GNU_STACK | grep -q RWE && { echo "wants an executable stack"; bad=1; }
fi
exit $bad
