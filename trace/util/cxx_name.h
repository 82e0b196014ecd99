/* C++ names as people write them: "_ZN7horovod6common10RunLoopOnceERNS0_19HorovodGlobalStateE" is
 * "horovod::common::RunLoopOnce", without arguments and without stand-ins of template parameters.
 *
 * The C++ library's own __cxa_demangle (Itanium C++ ABI, 5.1) takes them apart; the program that shows names passes it
 * in.  Without it, and if a name cannot be read, names stay as the linker has them.  Not for the traced process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A function like __cxa_demangle: returns malloc'ed text, or NULL. */
typedef char *trc_demangle(const char *name, char *buffer, size_t *length, int *status);
/* Sets the function that takes C++ names apart.  Once, before files are opened; NULL: names stay as they are. */
void trc_cxx_use(trc_demangle *demangle);
/* Whether there is one. */
bool trc_cxx_used(void);

/* Detail of a name: "a::b", "a::b(float) const" or "a::b<int>(float) const". */
enum trc_cxx_detail { TRC_CXX_SHORT, TRC_CXX_PARAMETERS, TRC_CXX_TEMPLATES };
/* Returns a linker name of `length` bytes as malloc'ed text; NULL: it is no C++ name, or cannot be
 * read.  Any thread. */
char *trc_cxx_text(const char *name, size_t length, enum trc_cxx_detail detail);
/* The length of a name without "+0x12" behind it. */
size_t trc_cxx_length(const char *name);

/* Overloads: functions whose short names are equal.  Adds the linker name of a call site, an identifier and possibly
 * "+0x12" behind it.  The result lives until the program ends; NULL: it is no C++ name.  Any thread. */
const struct trc_cxx *trc_cxx_add(const char *name);
/* Returns the name of the place with as many arguments as set it apart from other functions that were
 * added: "Foam::reduce(double&, ..)+0x12"; NULL: its short name does.  Lives until the program ends.  Any thread. */
const char *trc_cxx_shown(const struct trc_cxx *place);

/* Returns `text` if it has at most `width` characters; else a copy in `room`, of `size` bytes, without its leftmost
 * qualifiers ("Foam::", "std::vector<int>::"), as few as make it fit, or without any.  Any thread. */
const char *trc_cxx_fit(const char *text, size_t width, char *room, size_t size);

/* Rewrites `name`, an identifier and possibly "+0x12" behind it, in place.  It never becomes longer: leading namespaces
 * are left out rather. */
void trc_cxx_name(char *name);
