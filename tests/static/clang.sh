#!/bin/sh
# timeout: 300
# clang compiles the product without a warning, too (syntax only).
command -v clang >/dev/null 2>&1 || { echo "skip clang: no clang here (Debian's package clang)"; exit 77; }
out=$PWD/clang.out
cd "$TOP" || exit 1
flags="-std=c11 -D_GNU_SOURCE -I. -I${BUILD:-build/plain} -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
find trace tui interpose -name '*.c' | xargs -P "$(nproc)" -n 8 clang $flags -include trace/writer/quiet.h -fsyntax-only >"$out" 2>&1
if [ -s "$out" ]; then
    echo "not ok clang has nothing to say"
    cat "$out"
    exit 1
fi
echo "ok clang has nothing to say"
