#!/bin/sh
# needs.sh VERSION FILE..: fails, and names the symbols, where a file needs more of glibc than that version had.
most=$1
shift
for file; do
    symbols=$(objdump -T "$file") && [ -n "$symbols" ] || exit 1
    for need in $(echo "$symbols" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\))\{0,1\} *\([^ ]*\)$/\1:\2/p'); do
        newest=$(printf '%s\n' "$most" "${need%%:*}" | sort -V | tail -n 1)
        [ "$newest" = "$most" ] || { echo "$file needs ${need#*:} of glibc ${need%%:*}, later than $most" >&2; bad=1; }
    done
done
exit ${bad-0}
