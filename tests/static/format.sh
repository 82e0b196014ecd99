#!/bin/bash
# timeout: 120
# Every C file looks as .clang-format says.  Other versions of the tool differ in details, so only 14 judges.
command -v clang-format >/dev/null || { echo "clang-format is missing"; exit 77; }
version=$(clang-format --version | grep -o 'version [0-9]*' | grep -o '[0-9]*')
[ "$version" = 14 ] || { echo "clang-format is version $version, the tree is formatted with 14"; exit 77; }
cd "$TOP" || exit 1
if git rev-parse --git-dir >/dev/null 2>&1; then
    list=$(git ls-files '*.c' '*.h')
else
    list=$(find trace interpose tui workloads tests -name '*.[ch]')
fi
bad=0
for file in $list; do
    [ -f "$file" ] || continue
    clang-format --dry-run --Werror "$file" >/dev/null 2>&1 || { echo "not formatted: $file (clang-format -i $file)"; bad=1; }
done
exit $bad
