#!/bin/bash
# What there is one of: each pattern is in the files that own it, and in no other.
cd "$TOP" || exit 1
bad=0
once() { # once WHAT PATTERN OWNERS FOLDER..: PATTERN is in OWNERS, a pattern of paths, and only there
    local what=$1 pattern=$2 owners=$3 hits others
    shift 3
    hits=$(grep -rlE --include='*.[ch]' -- "$pattern" "$@")
    others=$(echo "$hits" | grep -vxE "$owners")
    if [ -n "$hits" ] && [ -z "$others" ]; then
        echo "ok $what"
    else
        echo "not ok $what:" ${others:-nowhere}
        bad=1
    fi
}
once "one clock of what reads traces" 'clock_gettime\(' 'trace/(util|writer)/now\.h' trace tui
once "one table of operation classes" 'opclass\.def"' 'trace/format/opclass\.[ch]' trace interpose tui
once "one way to sort, which takes an empty array" '\bqsort(_r)?\(' 'trace/util/sort\.h' trace tui
once "one hash of bytes" 'XXH3_' 'trace/util/hash\.c' trace tui
others=$(for kind in tests/*/; do
    for file in "$kind"lib/*.py tests/e2e/lib/*.py; do
        [ ! -e "$kind$(basename "$file")" ] || echo "$kind$(basename "$file")"
    done
done | sort -u)
if [ -z "$others" ]; then
    echo "ok a test and a part that tests share have different names"
else
    echo "not ok a test and a part that tests share have different names:" $others "is what import finds"
    bad=1
fi
others=$(grep -rlE --include='*.py' '"make", ("-s", )?"-C", TOP\b' tests/e2e tests/containers | grep -v 'e2e/lib/common\.py')
if [ -z "$others" ]; then
    echo "ok one make at a time in the source tree"
else
    echo "not ok one make at a time in the source tree:" $others "should call make() of common.py"
    bad=1
fi
others=$(grep -rnE --include='*.[ch]' --include='*.def' --include='*.js' '"[^"]*([KMGTPE]iB|\bKB)\b' trace tui interpose
    grep -rnE '[0-9] ([KMGTPE]iB|KB)\b' tests/golden)
if [ -z "$others" ]; then
    echo "ok one kind of units of bytes: kB, MB, GB"
else
    echo "not ok one kind of units of bytes: kB, MB, GB: $others"
    bad=1
fi
exit $bad
