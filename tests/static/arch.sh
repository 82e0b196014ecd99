#!/bin/bash
# What depends on the processor is in interpose/arch: one header a processor, all with the same names.
cd "$TOP" || exit 1
bad=0
result() { if [ -z "$3" ]; then echo "ok $1"; else echo "not ok $1: $2:" $3; bad=1; fi; }
processor='__(x86_64|amd64|i386|aarch64|arm|powerpc64?|ppc64|riscv|s390x)__|\<(R_(X86_64|AARCH64)|REG_R[A-Z0-9])|__builtin_(ia32|arm|aarch64)_|gregs'
result "no other file knows a processor" "these do" "$(grep -rlE --include='*.[chS]' --include='*.def' -- "$processor" interpose trace/writer trace/format |
    grep -v '^interpose/arch/')"
names() { # names FILE: of macros, functions and constants, guards left out; of what it includes here, too
    sed 's|/\*[^*]*\*/||g' "$1" $(sed -n 's/^#include "\(.*\)"$/\1/p' "$1") | tr '{,' '\n\n' | grep -oE '^#define IPO_[A-Z_]+[ (]|\<ipo_[a-z_]+\(|\<IPO_[A-Z_]+ = ' | grep -v '_H ' |
        sed 's/#define//' | tr -d '=( ' | sort -u
}
[ "$(names interpose/arch/x86_64.h | wc -l)" -ge 15 ] || result "names are found" "only" "$(names interpose/arch/x86_64.h)"
for header in interpose/arch/*.h; do
    case $header in */arch.h | */code.h | */chained.h) continue ;; esac
    result "$header has the names of x86_64.h" "they differ" "$(diff <(names interpose/arch/x86_64.h) <(names "$header") | grep '^[<>]')"
done
said=$(echo '#include "interpose/arch/arch.h"' | ${CC:-gcc} -I. -U__x86_64__ -U__aarch64__ -U__powerpc64__ -D__riscv -fsyntax-only -x c - 2>&1)
result "another processor, riscv64 say, stops the compiler with one line" "it says" \
    "$(echo "$said" | grep 'error:' | grep -cv 'another processor needs a header' | grep -qx 0 && [ -n "$said" ] || echo "${said:-nothing}")"
exit $bad
