/* The dlsym that libtrace.so itself uses: the system's, or the next tool's.  Where oldglibc.h is included `dlsym` means
 * ipo_dlsym. */
#ifndef IPO_DLSYM_H
#define IPO_DLSYM_H

#include "interpose/base/ours.h"

#include <stddef.h>

/* As dlsym(3); RTLD_NEXT is counted from libtrace.so. */
void *ipo_dlsym(void *restrict handle, const char *restrict name);

/* The function itself, for a caller that jumps to it; never NULL.  No allocation, no lock; looks for it at the first
 * call, in the loader's list. */
typedef void *(*ipo_lookup)(void *restrict handle, const char *restrict name);
extern IPO_OURS ipo_lookup ipo_dlsym_found; /* NULL: not looked for yet */
ipo_lookup ipo_dlsym_find(void);
static inline ipo_lookup ipo_system_dlsym(void)
{
    ipo_lookup known = __atomic_load_n(&ipo_dlsym_found, __ATOMIC_ACQUIRE);
    return __builtin_expect(known != NULL, 1) ? known : ipo_dlsym_find();
}

#endif
