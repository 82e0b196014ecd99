/* C++ names as people write them: "_ZN7horovod6common10RunLoopOnceERNS0_19HorovodGlobalStateE" is
 * "horovod::common::RunLoopOnce", without arguments and without what stands in for template parameters.
 *
 * Taken apart by the C++ library's own __cxa_demangle (Itanium C++ ABI, 5.1), which the program that shows names hands
 * in if it has found one; else, and where a name cannot be read, names stay as the linker has them.
 * Not for the traced process. */
#ifndef TRC_CXX_NAME_H
#define TRC_CXX_NAME_H

#include <stddef.h>

/* As __cxa_demangle: malloc'ed text, or NULL. */
typedef char *trc_demangle(const char *name, char *buffer, size_t *length, int *status);
void trc_cxx_use(trc_demangle *demangle); /* once, before files are opened */

/* Rewrites `name`, an identifier and possibly "+0x12" behind it, in its place: it never becomes longer, leading
 * namespaces are left out rather. */
void trc_cxx_name(char *name);

#endif
