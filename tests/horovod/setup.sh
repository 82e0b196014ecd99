#!/bin/sh
# A real Horovod for `make check-horovod`: version 0.28.1 by name from PyPI, built once with Open MPI and Gloo and kept in
# build/horovod.
#   tests/horovod/setup.sh [torch|tensorflow]       prints the Python to run it with
# torch: against Debian's python3-torch (CPU).  tensorflow: against tensorflow-cpu 2.12 of PyPI and its Keras, in a virtual
# environment of its own without Debian's packages: 15 minutes of processor time, on two cores, and 1.8 GB of disk.
# Exit 1, with the reason in one line, where it cannot be had.
set -eu
cd "$(dirname "$0")/../.."
version=0.28.1
framework=${1:-torch}
dir=$PWD/build/horovod
packages="python3-dev python3-venv python3-pip g++ cmake make libopenmpi-dev openmpi-bin"
case $framework in
torch)
    module=horovod.torch
    packages="$packages python3-torch libtorch-dev pybind11-dev python3-setuptools python3-wheel python3-numpy
        python3-cloudpickle python3-psutil python3-yaml python3-packaging python3-cffi python3-mpi4py"
    venv=--system-site-packages
    ;;
tensorflow)
    module=horovod.tensorflow.keras
    dir=$dir/tensorflow
    venv=
    ;;
*) echo "usage: tests/horovod/setup.sh [torch|tensorflow]" >&2; exit 64 ;;
esac
python=$dir/venv/bin/python3
log=$dir/build.log

fail() { echo "horovod: $*" >&2; exit 1; }
works() { "$python" -c "import $module as h; assert h.mpi_built() and h.gloo_built()" >/dev/null 2>&1; }

if [ -x "$python" ] && works; then echo "$python"; exit 0; fi
command -v dpkg-query >/dev/null 2>&1 || fail "made for Debian and Ubuntu, whose packages it is built with"
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
        $missing >>"$log" 2>&1 || fail "could not install$missing: see $log"
fi

# shellcheck disable=SC2086
/usr/bin/python3 -m venv $venv "$dir/venv" >>"$log" 2>&1 || fail "no virtual environment: see $log"
if [ "$framework" = tensorflow ]; then
    /usr/bin/python3 -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 12))' ||
        fail "tensorflow-cpu 2.12 needs Python 3.8 to 3.11, and this is $(/usr/bin/python3 -V)"
    "$python" -m pip install --no-cache-dir "tensorflow-cpu==2.12.*" "setuptools<70" wheel packaging cloudpickle psutil \
        pyyaml cffi >>"$log" 2>&1 || fail "could not install tensorflow-cpu 2.12: see $log"
fi
if ! ls "$dir"/wheels/horovod-$version-*.whl >/dev/null 2>&1; then
    rm -rf "$dir/source"
    mkdir -p "$dir/source" "$dir/wheels"
    "$python" -m pip download --no-deps --no-build-isolation --no-binary :all: -d "$dir/source" horovod==$version >>"$log" 2>&1 ||
        fail "could not download horovod $version: see $log"
    tar -C "$dir/source" -xzf "$dir"/source/horovod-$version.tar.gz
    source=$dir/source/horovod-$version
    case $framework in
    torch) with="HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1" ;;
    *) with="HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITH_TENSORFLOW=1" ;;
    esac
    # Its generated header wants the flatbuffers that it brings along; PyTorch's own include path offers Debian's first.
    # Debian's PyTorch leaves out pybind11's headers: those are a package of their own, installed above.
    # shellcheck disable=SC2086
    env $with HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_CPU_OPERATIONS=MPI \
        CXXFLAGS="-I$source/third_party/flatbuffers/include -w" MAKEFLAGS="-j${JOBS:-2}" \
        nice -n 10 "$python" -m pip wheel --no-deps --no-build-isolation --no-cache-dir -w "$dir/wheels" "$source" \
        >>"$log" 2>&1 || fail "does not build: see $log"
    rm -rf "$dir/source"
fi
"$python" -m pip install --no-deps --no-index --force-reinstall "$dir"/wheels/horovod-$version-*.whl >>"$log" 2>&1 ||
    fail "does not install: see $log"
works || fail "was built and cannot be imported: $("$python" -c "import $module" 2>&1 | tail -1)"
echo "$python"
