/* The Makefile includes this before every source of interpose/: binds what glibc moved between libraries to the old
 * symbol versions, so that the library built on a new system loads on an old one (a test reads the versions).  dlsym
 * and friends moved from libdl to libc in 2.34; libdl.so.2 is named on the link line. */
#pragma once

#include "interpose/arch/arch.h"

/* The program's dlsym is ours (load/lookup.c); the recorder itself calls the system's. */
#define dlsym ipo_dlsym

__asm__(".symver dlopen,dlopen@" IPO_OLD_GLIBC);
__asm__(".symver dlclose,dlclose@" IPO_OLD_GLIBC);
__asm__(".symver dladdr,dladdr@" IPO_OLD_GLIBC);
__asm__(".symver dlerror,dlerror@" IPO_OLD_GLIBC);
