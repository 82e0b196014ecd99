# What horovod.def and horovod.Dockerfile do inside: Horovod 0.28.1 from PyPI over Debian's PyTorch (CPU) and Open MPI, its
# operations through MPI.  With SIMULATE=1 it only shows that the packages can be had.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ${SIMULATE:+--simulate} \
    openmpi-bin libopenmpi-dev gcc g++ make cmake python3-dev python3-pip python3-setuptools python3-wheel \
    python3-torch libtorch-dev pybind11-dev python3-numpy python3-cloudpickle python3-psutil python3-yaml \
    python3-packaging python3-cffi
[ -z "${SIMULATE-}" ] || exit 0
cd /usr/local/src
pip3 download --no-deps --no-build-isolation --no-binary :all: horovod==0.28.1
tar -xzf horovod-0.28.1.tar.gz
# Its generated header wants the flatbuffers that it brings along, not Debian's.
export CXXFLAGS="-I$PWD/horovod-0.28.1/third_party/flatbuffers/include -w" MAKEFLAGS="-j$(nproc)"
export HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_CPU_OPERATIONS=MPI
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1
pip3 install --break-system-packages --no-deps --no-build-isolation --no-cache-dir ./horovod-0.28.1
rm -rf horovod-0.28.1*
python3 -c 'import horovod.torch as h; assert h.mpi_built()'
apt-get clean
rm -rf /var/lib/apt/lists/*
