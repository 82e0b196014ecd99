#!/bin/sh
# A real Horovod for `make check-horovod`: version 0.28.1 by name from PyPI, built against Debian's python3-torch (CPU,
# MPI operations, Open MPI).  Takes some minutes once; what it made is kept in build/horovod.
#   tests/horovod/setup.sh       prints the Python to run it with
# Exit 1, with the reason in one line, where it cannot be had.
set -eu
cd "$(dirname "$0")/../.."
version=0.28.1
dir=$PWD/build/horovod
python=$dir/venv/bin/python3
log=$dir/build.log
packages="python3-torch libtorch-dev pybind11-dev python3-dev python3-venv python3-pip python3-setuptools python3-wheel
python3-numpy python3-cloudpickle python3-psutil python3-yaml python3-packaging python3-cffi python3-mpi4py
g++ cmake make libopenmpi-dev openmpi-bin"
# shellcheck disable=SC2086
packages=$(echo $packages)

fail() { echo "horovod: $*" >&2; exit 1; }
works() { "$python" -c 'import horovod.torch as h; assert h.mpi_built() and h.gloo_built()' >/dev/null 2>&1; }

if [ -x "$python" ] && works; then echo "$python"; exit 0; fi
command -v dpkg-query >/dev/null 2>&1 || fail "made for Debian and Ubuntu, whose PyTorch it is built against"
mkdir -p "$dir"
: >"$log"

missing=
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    root=
    [ "$(id -u)" -eq 0 ] || root=sudo
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
        $missing >>"$log" 2>&1 || fail "could not install$missing: see build/horovod/build.log"
fi

/usr/bin/python3 -m venv --system-site-packages "$dir/venv" >>"$log" 2>&1 || fail "no virtual environment: see build/horovod/build.log"
if ! ls "$dir"/wheels/horovod-$version-*.whl >/dev/null 2>&1; then
    rm -rf "$dir/source"
    mkdir -p "$dir/source" "$dir/wheels"
    "$python" -m pip download --no-deps --no-build-isolation --no-binary :all: -d "$dir/source" horovod==$version >>"$log" 2>&1 ||
        fail "could not download horovod $version: see build/horovod/build.log"
    tar -C "$dir/source" -xzf "$dir"/source/horovod-$version.tar.gz
    source=$dir/source/horovod-$version
    # Its generated header wants the flatbuffers that it brings along; PyTorch's own include path offers Debian's first.
    # Debian's PyTorch leaves out pybind11's headers: those are a package of their own, installed above.
    HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_CPU_OPERATIONS=MPI \
    HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
    CXXFLAGS="-I$source/third_party/flatbuffers/include -w" MAKEFLAGS="-j${JOBS:-2}" \
        nice -n 10 "$python" -m pip wheel --no-deps --no-build-isolation --no-cache-dir -w "$dir/wheels" "$source" \
        >>"$log" 2>&1 || fail "does not build: see build/horovod/build.log"
    rm -rf "$dir/source"
fi
"$python" -m pip install --no-deps --no-index --force-reinstall "$dir"/wheels/horovod-$version-*.whl >>"$log" 2>&1 ||
    fail "does not install: see build/horovod/build.log"
works || fail "was built and cannot be imported: $("$python" -c 'import horovod.torch' 2>&1 | tail -1)"
echo "$python"
