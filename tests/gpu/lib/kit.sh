#!/bin/sh
# kit.sh BUILD KIT: libtrace.so, hpctop with the libraries it needs, the double and every program of tests/gpu, compiled without
# MPI and against the double's headers, so that they run where there is nothing but CUDA and NCCL.
set -e
build=$1 kit=$2
rm -rf "$kit"
mkdir -p "$kit/lib" "$kit/alone"
cp libtrace.so "$kit/"
cp hpctop "$kit/lib/hpctop"
for library in $(ldd hpctop | awk '$2 == "=>" { print $3 }'); do
    case $library in */libc.so.* | */libm.so.* | */libpthread.so.* | */libdl.so.*) ;; *) cp -L "$library" "$kit/lib/" ;; esac
done
cat >"$kit/hpctop" <<'SH'
#!/bin/sh
# Copied to the top of the tree; its libraries stay in the kit.
here=$(dirname "$(readlink -f "$0")")
for kit in "$here" "$here/build/gpu-kit"; do
    [ -d "$kit/lib" ] && exec env LD_LIBRARY_PATH="$kit/lib:$LD_LIBRARY_PATH" HPCTOP_LIBTRACE="${HPCTOP_LIBTRACE:-$kit/libtrace.so}" "$kit/lib/hpctop" "$@"
done
SH
chmod +x "$kit/hpctop"
cp -RL "$build/gpu_double" "$kit/"
for source in workloads/nccl/*.c tests/gpu/programs/*.c; do
    name=$(basename "$source" .c)
    gcc -std=c11 -D_GNU_SOURCE -O1 -g -DWITHOUT_MPI -Iworkloads/nccl/alone -Iworkloads -Iworkloads/nccl -Itests/gpu_double/include \
        -o "$kit/alone/$name" "$source" -L"$build/gpu_double" -Wl,-rpath-link,"$build/gpu_double" \
        $([ "$name" = profiler ] && echo -lcupti) -lnccl -lcudart -ldl -lm -lpthread
done
du -sh "$kit"
