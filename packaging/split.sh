#!/bin/sh
# split.sh FILE FOLDER: moves FILE's debug information to FOLDER/.build-id/xx/yyyy.debug, where gdb finds it by
# `set debug-file-directory FOLDER`, and strips FILE of all but what the loader needs.
set -e
id=$(readelf -n "$1" | sed -n 's/^ *Build ID: *//p')
[ -n "$id" ] || { echo "$1 has no build id" >&2; exit 1; }
rest=${id#??}
debug=$2/.build-id/${id%"$rest"}/$rest.debug
mkdir -p "$(dirname "$debug")"
objcopy --only-keep-debug --compress-debug-sections "$1" "$debug"
chmod 644 "$debug"
strip --strip-unneeded "$1"
