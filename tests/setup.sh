#!/bin/sh
# Installs what is missing to build and test, by package name; asks nothing, except sudo its password.
#   tests/setup.sh build    what `make` needs and what the demo runs
#   tests/setup.sh check    that, and what the tests need
#   tests/setup.sh long     that, and what the long tests need
#   tests/setup.sh roots    what unpacks other Debian releases and runs programs in them
#   tests/setup.sh programs programs of Debian's that speak MPI: all of make check-programs
#   tests/setup.sh matrix   that, and compilers and emulator for other processors: all of make check-matrix
# Does nothing where everything is there.  Where it cannot install, it says what is missing and goes on: make will tell.
set -u

build="gcc make libc6-dev openmpi-bin libopenmpi-dev libncurses-dev libcjson-dev libdw-dev libxxhash-dev libzstd-dev"
check="$build tmux python3 python3-pip python3-mpi4py strace binutils clang clang-format valgrind procps bindfs mpich libmpich-dev iproute2 slurmctld slurmd slurm-client munge"
check="$check musl-tools python3-venv python3-numpy libunwind-dev g++ libgloo-dev"
check="$check python3-jsonschema python3-prometheus-client libotf2-trace-dev otf2-tools python3-otf2 zsh fish groff-base libbz2-dev libsqlite3-0"
roots="mmdebstrap debian-archive-keyring bubblewrap uidmap"
matrix="$check $roots gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross qemu-user python3-dev"
programs="$check hpcc netpipe-openmpi scalapack-mpi-test lammps python3-petsc4py python3-h5py-mpi python3-mpi4py-fft nwchem-openmpi"

case "${1-check}" in
build) want=$build ;;
check) want="$check gfortran libmpich-dev" ;;
long) want="$check gfortran libmpich-dev prometheus rpm cpio vite cppcheck python3-torch jupyter-nbconvert python3-ipykernel
    python3-ipyparallel openssh-server" ;;
roots) want=$roots ;;
programs) want=$programs ;;
matrix) want=$matrix ;;
*) echo "usage: $0 [build|check|long|roots|programs|matrix]" >&2; exit 64 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian or Ubuntu system; please install the counterparts of: $want" >&2
    exit 0
fi

# What of $@ is not there, or only half.
missing_of() {
    for package; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' ok installed$' || printf ' %s' "$package"
    done
}

# shellcheck disable=SC2086
missing=$(missing_of $want)
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "setup: missing:$missing; neither root nor sudo here, so install them by hand" >&2
        exit 0
    fi
    root=sudo
    if ! refusal=$($root true 2>&1 </dev/null); then
        echo "setup: not root, and $(echo "$refusal" | tail -n 1); as root: apt-get install --no-install-recommends$missing" >&2
        exit 0
    fi
fi
echo "setup: installing$missing"
log=$(mktemp) || exit 0
trap 'rm -f "$log"' EXIT

logged() { $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" >"$log" 2>&1 </dev/null; }
# A mirror stumbles, a colleague or a timer of the system holds the lock, dpkg was interrupted: none of these is final.
# Everything else is, and where no name is resolved there is mostly no network at all: that is tried only twice.
passing='Could not get lock|is another process using it|dpkg was interrupted|^dpkg: error|Sub-process .*dpkg|^Err:|(Failed|Unable) to fetch|failed to download'
offline() { grep -m 1 -oE '(Could not resolve|Temporary failure resolving).*' "$log"; } # says why
patiently() { # patiently COMMAND..: up to 4 times
    for pause in 5 15 45 ""; do
        logged "$@" && return 0
        [ -n "$pause" ] && grep -qE "$passing" "$log" || return 1
        [ "$pause" = 5 ] || ! offline >/dev/null || return 1
        sleep "${SETUP_PAUSE-$pause}"
        $root env DEBIAN_FRONTEND=noninteractive LC_ALL=C dpkg --configure -a >/dev/null 2>&1 </dev/null
    done
}
last_error() { grep -E '^(E|Err|dpkg: error)' "$log" | tail -n 1 | cut -c 1-200; }
apt="apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"

# shellcheck disable=SC2086
patiently $apt -o APT::Update::Error-Mode=any update ||
    echo "setup: apt-get update failed, trying with the lists that are here: $(last_error)" >&2
# shellcheck disable=SC2086
if ! patiently $apt install -y --no-install-recommends $missing; then
    if why=$(offline); then
        echo "setup: no network ($why), still missing:$(missing_of $missing)" >&2
        exit 0
    fi
    # One package that this release lacks must not keep the others away.
    for package in $(missing_of $missing); do
        logged apt-get install -y --no-install-recommends "$package" ||
            echo "setup: could not install $package: $(last_error)" >&2
    done
fi
exit 0
