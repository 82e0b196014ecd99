/* All that depends on the processor.  A processor is one header with the names of x86_64.h; no other file of the
 * recorder may test for one. */
#pragma once

#if defined(__x86_64__)
#include "interpose/arch/x86_64.h"
#elif defined(__aarch64__)
#include "interpose/arch/aarch64.h"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#include "interpose/arch/ppc64le.h"
#else
#error "libtrace.so is for x86-64, aarch64 and ppc64le; another processor needs a header in interpose/arch"
#endif
