#!/bin/bash
# timeout: 300
# Every C file looks as .clang-format says.  Other versions of the tool differ in details, so only 14 judges.
command -v clang-format >/dev/null || { echo "clang-format is missing"; exit 77; }
version=$(clang-format --version | grep -o 'version [0-9]*' | grep -o '[0-9]*')
[ "$version" = 14 ] || { echo "clang-format is version $version, the tree is formatted with 14"; exit 77; }
said=$(mktemp)
trap 'rm -f "$said"' EXIT
cd "$TOP" || exit 1
if git rev-parse --git-dir >/dev/null 2>&1; then
    list=$(git ls-files '*.c' '*.h')
else
    list=$(find trace interpose tui workloads tests -name '*.[ch]')
fi
for file in $list; do
    [ -f "$file" ] && echo "$file"
done | xargs -P 2 -n 50 clang-format --dry-run --Werror >"$said" 2>&1 && exit 0
cut -d: -f1 "$said" | grep '\.[ch]$' | sort -u | sed 's/.*/not formatted: & (clang-format -i &)/'
exit 1
