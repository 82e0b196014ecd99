#!/bin/bash
# Another Debian release in a folder, for tests that need its MPI, its glibc or its tools.
#   tests/roots.sh RELEASE NAME PACKAGE..      RELEASE: bullseye bookworm trixie sid, or with /arm64 behind it
# Unpacks it with these packages into ${HPCTOP_TEST_ROOTS:-build/roots}/NAME and prints that path; what is there already
# is used again if release and packages are the same.  Packages of another architecture are only unpacked, not set up
# (nothing of it could run here).  Exit 1 and one line on stderr where it cannot be had; the rest is in NAME.log there.
set -u
top=$(dirname "$(dirname "$(readlink -f "$0")")")
[ $# -ge 2 ] || { sed -n '3,6s/^# //p' "$0" >&2; exit 64; }
release=${1%%/*} foreign= name=$2
case $1 in */*) foreign=${1#*/} ;; esac
wanted=$1
shift 2
for package in $(printf '%s\n' "$@" | LC_ALL=C sort -u); do wanted="$wanted $package"; done

roots=${HPCTOP_TEST_ROOTS:-$top/build/roots}
mkdir -p "$roots" && roots=$(readlink -f "$roots") || exit 1
root=$roots/$name mark=$roots/$name.done log=$roots/$name.log
cannot() { echo "roots: no Debian $release here: $1" >&2; exit 1; }

exec 9>"$roots/$name.lock"
flock 9
if [ -d "$root" ] && [ "$(cat "$mark" 2>/dev/null)" = "$wanted" ]; then
    echo "$root"
    exit 0
fi
command -v mmdebstrap >/dev/null || "$top/tests/setup.sh" roots >&2
command -v mmdebstrap >/dev/null || cannot "mmdebstrap is missing"
# One that was killed may have left /proc and the like mounted in it: those are not ours to remove.
awk -v below="$root" 'index($5, below "/") == 1 || index($5, below ".new/") == 1 {exit 1}' /proc/self/mountinfo ||
    cannot "something is still mounted below $root or $root.new; unmount it"
rm -rf --one-file-system "$mark" "$root" "$root.new" || cannot "the old $root cannot be removed"

options=(--format=directory --include="${wanted#* }" --variant=apt
    --dpkgopt=path-exclude=/usr/share/{man,doc,info,locale}/'*' --aptopt='Apt::Install-Recommends "false"'
    --aptopt='Acquire::Languages "none"')
[ -z "$foreign" ] || options+=(--variant=extract --architectures="$foreign")
# Old releases are no longer signed anew, and snapshots of new ones may be some weeks old.
options+=(--aptopt='Acquire::Check-Valid-Until "false"')
mirror=() # The security archive has ended its support of one, and has nothing for the other: only the release itself.
if [ "$release" = bullseye ] || [ "$foreign" = ppc64el ]; then
    site=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -E '/debian/?$' | head -n 1)
    [ -z "$site" ] || mirror=("deb $site $release main")
fi
own= # mounts of its own, which end with it
if [ "$(id -u)" -eq 0 ]; then
    options+=(--mode=root)
    unshare --mount true 2>/dev/null && own="unshare --mount"
fi
if ! $own mmdebstrap "${options[@]}" "$release" "$root.new" ${mirror[@]+"${mirror[@]}"} >"$log" 2>&1 </dev/null; then
    rm -rf --one-file-system "$root.new"
    cannot "$(grep -E '^E: |^Err:|error' "$log" | head -n 1 | cut -c 1-200)"
fi
# Linker and emulator follow links as they are: an absolute one would lead to the loader of this machine.
for link in "$root.new"/lib64/*; do
    [ -z "$foreign" ] || [ "$(readlink "$link" | cut -c 1)" != / ] || ln -sfn "..$(readlink "$link")" "$link"
done
mv "$root.new" "$root" && echo "$wanted" >"$mark" && echo "$root"
