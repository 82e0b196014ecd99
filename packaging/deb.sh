#!/bin/sh
# deb.sh VERSION INTO: builds hpctop_VERSION_ARCH.deb of what git has here, and hpctop-dbgsym with the debug information
# that was stripped from it; asks lintian.
set -e
version=$1
into=$(mkdir -p "$2" && cd "$2" && pwd)
tree=$into/deb/hpctop-$version
rm -rf "$into/deb"
mkdir -p "$tree"
git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$tree"
cp -r packaging/debian "$tree/debian"
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
printf 'hpctop (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- the hpctop authors <hpctop@example.org>  %s\n' \
    "$version" "$date" > "$tree/debian/changelog"
cp CHANGELOG.md "$tree/debian/NEWS.md"
(cd "$tree" && dpkg-buildpackage -us -uc -b -d > "$into/deb/log" 2>&1) || { tail -n 30 "$into/deb/log" >&2; exit 1; }
cp "$into"/deb/hpctop_"$version"_*.deb "$into"/deb/hpctop-dbgsym_"$version"_*.deb "$into/"
ls "$into"/hpctop_"$version"_*.deb "$into"/hpctop-dbgsym_"$version"_*.deb
if command -v lintian >/dev/null; then
    lintian --no-tag-display-limit --fail-on error,warning "$into"/hpctop_"$version"_*.deb
else
    echo "lintian is not installed; the package was not looked at" >&2
fi
