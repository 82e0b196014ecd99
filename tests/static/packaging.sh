#!/bin/bash
# The Debian package is stripped by debhelper, whose debug information is a package of its own: nothing may turn that off.
cd "$TOP" || exit 1
grep -nE 'override_dh_strip|nostrip|noautodbgsym' packaging/debian/* packaging/deb.sh && { echo "the package would not be stripped"; exit 1; }
grep -qF 'hpctop-dbgsym_"$version"' packaging/deb.sh || { echo "deb.sh leaves the debug information out"; exit 1; }
grep -q 'split.sh .*libtrace.so' packaging/packaging.mk || { echo "the tarball's libtrace.so is not split"; exit 1; }
