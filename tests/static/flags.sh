#!/bin/bash
# Warnings are errors here, but not for users who choose a compiler or flags that nobody has tried.
cd "$TOP" || exit 1
bad=0
unset CC OPT CFLAGS WERROR
strict() { # whether a warning would fail the build
    env "$@" make -n -B BUILD=build/flags build/flags/trace/util/hash.o | grep -q -e ' -Werror '
}
ok() { # ok WHAT COMMAND..
    local what=$1
    shift
    if "$@"; then
        echo "ok $what"
    else
        echo "not ok $what"
        bad=1
    fi
}
lenient() { ! strict "$@"; }
ok "warnings are errors" strict TERM="$TERM"
ok "with ccache, too" strict CC="ccache gcc"
ok "not of another compiler" lenient CC=clang
ok "not with flags of the user's" lenient CFLAGS=-march=native
ok "not with another optimization" lenient OPT=-O3
ok "unless they are wanted" strict CFLAGS=-O3 WERROR=-Werror
rm -rf build/flags
exit $bad
