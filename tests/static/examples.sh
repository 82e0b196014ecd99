#!/bin/bash
# The C code that CONTRIBUTING.md shows compiles: what it names is there.
cd "$TOP" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v to="$work/example" '/^ *```c$/ { n++; on = 1; next } /^ *```$/ { on = 0 } on { sub(/^   /, ""); print > (to n ".c") }' CONTRIBUTING.md
bad=0
for file in "$work"/*.c; do
    [ -e "$file" ] || { echo "not ok there is an example"; exit 1; }
    # A class and a sentence that its example adds are not there yet.
    if gcc -std=c11 -D_GNU_SOURCE -DANA_CLASS_LONELY=ANA_CLASS_NONE -DANA_SENTENCE_LONELY=ANA_SENTENCE_NOTHING -Wall -Wextra -Wno-missing-prototypes -I. -fsyntax-only "$file"; then
        echo "ok $(basename "$file")"
    else
        echo "not ok $(basename "$file")"
        bad=1
    fi
done
exit $bad
