/* The dlsym that libtrace.so itself uses: the system's, or the next tool's.  By oldglibc.h `dlsym` means ipo_dlsym. */
#pragma once

#include "interpose/base/ours.h"

#include <stddef.h>

/* Does what dlsym(3) does, but RTLD_NEXT means the objects behind libtrace.so.  May take the loader's lock and
 * allocate. */
void *ipo_dlsym(void *restrict handle, const char *restrict name);

/* A function with the parameters of dlsym(3). */
typedef void *(*ipo_lookup)(void *restrict handle, const char *restrict name);
extern IPO_OURS ipo_lookup ipo_dlsym_found; /* NULL: not looked for yet */
/* Finds the real dlsym in the loader's list and keeps it in ipo_dlsym_found.  Never NULL: without one, a function that
 * finds nothing.  Any thread; no allocation, no lock. */
ipo_lookup ipo_dlsym_find(void);
/* The real dlsym, for a caller that jumps to it; never NULL.  Any thread; no allocation, no lock. */
static inline ipo_lookup ipo_system_dlsym(void)
{
    ipo_lookup known = __atomic_load_n(&ipo_dlsym_found, __ATOMIC_ACQUIRE);
    return __builtin_expect(known != NULL, 1) ? known : ipo_dlsym_find();
}
