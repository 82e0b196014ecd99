/* The calls that install a seccomp filter. */
#ifndef IPO_STACKS_FILTER_H
#define IPO_STACKS_FILTER_H

#include "interpose/load/names.h"

/* The wrapper for prctl and syscall, which pass everything on; NULL for other names. */
void (*ipo_filter_wrapper_of(enum ipo_libc row))(void);

#endif
