#!/bin/bash
# README's two commands as a new user types them, in fresh Debian releases; prints a table of what became of them.
#   tests/releases.sh [RELEASE..]        default: bullseye bookworm trixie sid; TESTS="word .." for some of the tests only
# Each is unpacked anew (tests/roots.sh) with make and git, holds a clone of this tree's last commit, and is entered as root
# by pivot_root.  An hour for all four on two cores.  What they print is in build/releases/.  Exit 1 when something failed.
set -u
top=$(dirname "$(dirname "$(readlink -f "$0")")")
roots=${HPCTOP_TEST_ROOTS:-$top/build/roots} logs=$top/build/releases failed=0
[ "$(id -u)" -eq 0 ] || { echo "releases: needs root, to enter another Debian" >&2; exit 1; }
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid
mkdir -p "$logs"

inside() { # inside ROOT COMMAND..: in the clone, with processes of its own
    local root=$1
    shift
    # The shell stays, as process 1: what a test orphans is its to bury.
    # shellcheck disable=SC2016
    unshare --pid --fork --kill-child "$top/tests/containers/lib/enter.sh" "$root" -0 -n fresh -- \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" \
        bash -c 'cd /root/hpctop || exit; "$@"; exit $?' - "$@" </dev/null
}
version() { inside "$1" sh -c "$2" 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; }

rows=
for release; do
    rm -f "$roots/fresh-$release.done"
    root=$("$top/tests/roots.sh" "$release" "fresh-$release" make git mount ca-certificates) || { failed=1; continue; }
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    echo "127.0.0.1 localhost fresh" >"$root/etc/hosts"
    # Where this machine has a package index and certificates of its own, so has that.
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e $file ] || cp $file "$root$file"
    done
    git clone -q --no-hardlinks "$top" "$root/root/hpctop" || exit 1
    echo "releases: $release: make demo"
    demo=works check=
    inside "$root" make demo >"$logs/$release.demo" 2>&1 && grep -q "rank 3 is late" "$logs/$release.demo" || demo="**fails**" failed=1
    echo "releases: $release: make check"
    inside "$root" make check TESTS="${TESTS-}" >"$logs/$release.check" 2>&1 || failed=1
    check=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$release.check" | tail -n 1)
    rows+="| $release | $(version "$root" 'gcc -dumpfullversion') | $(version "$root" 'mpirun.openmpi --version') |"
    rows+=" $(version "$root" 'mpichversion || mpirun.mpich --version') | $demo | ${check:-no end} |"$'\n'
    rm -rf --one-file-system "$roots/fresh-$release.done" "$root"
done
{
    echo "| Debian | gcc | Open MPI | MPICH | make demo | make check${TESTS:+ TESTS=\"$TESTS\"} |"
    echo "| --- | --- | --- | --- | --- | --- |"
    printf '%s' "$rows"
} | tee "$logs/table.md"
exit $failed
