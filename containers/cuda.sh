# What cuda.def and cuda.Dockerfile do inside: CUDA, Open MPI, NCCL.  All by name: CUDA 11.8 is in Debian bookworm's
# non-free, NCCL is not in Debian but on PyPI.  With SIMULATE=1 it only shows that the packages can be had.
set -e
export DEBIAN_FRONTEND=noninteractive
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$list" ] || sed -i 's/^\(Components: main\|deb .* main\)$/\1 contrib non-free/' "$list"
done
apt-get update
apt-get install -y --no-install-recommends ${SIMULATE:+--simulate} \
    nvidia-cuda-toolkit openmpi-bin libopenmpi-dev gcc g++ make python3 python3-pip
[ -z "${SIMULATE-}" ] || exit 0
pip3 install --break-system-packages --no-cache-dir --no-deps --target /opt/nccl nvidia-nccl-cu11
nccl=/opt/nccl/nvidia/nccl
ln -sf libnccl.so.2 $nccl/lib/libnccl.so # a shared NCCL is one whose calls can be seen
ln -sf $nccl/include/nccl.h /usr/local/include/nccl.h
ln -sf $nccl/lib/libnccl.so /usr/local/lib/libnccl.so
echo $nccl/lib >/etc/ld.so.conf.d/nccl.conf
ldconfig
apt-get clean
rm -rf /var/lib/apt/lists/*
