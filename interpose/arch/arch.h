/* All that depends on the processor.  A processor is one header with the names of x86_64.h; no other file of the
 * recorder may test for one. */
#ifndef IPO_ARCH_H
#define IPO_ARCH_H

#if defined(__x86_64__)
#include "interpose/arch/x86_64.h"
#elif defined(__aarch64__)
#include "interpose/arch/aarch64.h"
#else
#error "libtrace.so is for x86-64 and aarch64; another processor needs a header in interpose/arch"
#endif

/* Words at __builtin_frame_address(0), equal on all processors. */
enum { IPO_FRAME_CALLER /* the caller's frame */, IPO_FRAME_RETURN /* return address */, IPO_FRAME_WORDS };

#endif
