/* dlsym as libtrace.so itself uses it: the system's, or the next tool's.  In here `dlsym` means this one (oldglibc.h).
 */
#ifndef IPO_DLSYM_H
#define IPO_DLSYM_H

/* As dlsym(3); RTLD_NEXT is counted from libtrace.so. */
void *ipo_dlsym(void *restrict handle, const char *restrict name);

#endif
