# What openmpi.def and openmpi.Dockerfile do inside: Open MPI and the programs, without the compiler afterwards.
#   openmpi.sh          keeps Open MPI: the hybrid model
#   openmpi.sh bind     removes it too: the programs find the host's, which is mounted
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends openmpi-bin
apt-mark manual openmpi-bin >/dev/null
apt-get install -y --no-install-recommends gcc libc6-dev libopenmpi-dev
cd /usr/local/src/workloads
for program in hello ring pingpong; do
    mpicc -std=c11 -D_GNU_SOURCE -O1 -g -o "/usr/local/bin/$program" "$program.c" -lpthread -lm
done
unwanted="gcc libc6-dev libopenmpi-dev"
[ "${1-}" != bind ] || unwanted="$unwanted openmpi-bin"
# shellcheck disable=SC2086
apt-get purge -y --auto-remove $unwanted
apt-get clean
rm -rf /var/lib/apt/lists/*
