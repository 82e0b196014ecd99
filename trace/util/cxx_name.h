/* C++ names as people write them: "_ZN7horovod6common10RunLoopOnceERNS0_19HorovodGlobalStateE" is
 * "horovod::common::RunLoopOnce", without arguments and without what stands in for template parameters.
 *
 * The C++ library's own __cxa_demangle (Itanium C++ ABI, 5.1) takes them apart; the program that shows names passes it
 * in.  Without it, and where a name cannot be read, names stay as the linker has them.  Not for the traced process. */
#ifndef TRC_CXX_NAME_H
#define TRC_CXX_NAME_H

#include <stddef.h>

/* A function like __cxa_demangle: returns malloc'ed text, or NULL. */
typedef char *trc_demangle(const char *name, char *buffer, size_t *length, int *status);
/* Sets the function that takes C++ names apart.  Once, before files are opened; NULL: names stay as they are. */
void trc_cxx_use(trc_demangle *demangle);

/* Rewrites `name`, an identifier and possibly "+0x12" behind it, in place.  It never becomes longer: leading namespaces
 * are left out rather. */
void trc_cxx_name(char *name);

#endif
