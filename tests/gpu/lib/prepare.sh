#!/bin/sh
# prepare.sh BUILD: builds what check-gpu runs, as far as this machine can; the rest comes from build/gpu-kit, if that is here.
kit=build/gpu-kit
if command -v gcc >/dev/null && command -v make >/dev/null && echo '#include <curses.h>
#include <cjson/cJSON.h>
#include <elfutils/libdw.h>' | gcc -E - >/dev/null 2>&1; then
    make --no-print-directory all nccl
    exit 0
fi
[ -d $kit ] || { echo "check-gpu: neither what hpctop is built with is here (gcc, ncurses, cJSON, libdw) nor build/gpu-kit, which make gpu-kit makes elsewhere"; exit 0; }
for product in libtrace.so hpctop; do
    [ -e $product ] || cp $kit/$product .
done
[ -d "$1/gpu_double" ] || { mkdir -p "$1" && cp -R $kit/gpu_double "$1/"; }
