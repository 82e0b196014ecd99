/* The schema: lines of text in each trace file that say what its numbers mean, so that a newer or an older hpctop than
 * the recorder still reads it.
 *
 *   hpctop-trace 3
 *   class <id> <text>                          operation classes of opclass.def
 *   sig <field>:<u|s> ...                      fields of a signature in their order; s = zigzag
 *   item <text>                                what the items are, for people
 *   gpu <text>                                 the table of device operations, for people
 *   usage <text>                               what the kernel counts, for people
 *   def <text>                                 definitions that came later, for people
 *   page <text>                                entries of live pages, for people
 *
 * Lines with another first word are skipped. */
#ifndef TRC_SCHEMA_H
#define TRC_SCHEMA_H

#include "trace/format/format.h"
#include "trace/format/opclass.h"
#include <stddef.h>

#define TRC_SCHEMA_MAX (1u << 20) /* bytes; readers look at no more */
#define TRC_CALLS_MAX  16384u     /* ids are below */

/* ---- writing: schema_write.c; no allocation, no stdio, no libc: part of libtrace.so ---------------------------- */

/* A call as its definition says it (TRC_DEF_CALL). */
struct trc_schema_call {
    const char *name; /* "MPI_Send"; its index in the array is its id */
    enum trc_opclass opclass;
    const char *roles; /* argument roles, separated as you like; NULL for none */
};

/* Writes the schema text to `out`, without a NUL, at most `size` bytes of it.  Returns the length of the whole: call it
 * with size 0 to learn the room it needs.  Calls nothing; any thread. */
size_t trc_schema_write(char *out, size_t size);

#define TRC_CALL_TEXT 192u /* room for the text of any call */

/* Writes the text of a call's definition to `out`, TRC_CALL_TEXT bytes; a longer one is cut.  Returns its length.
 * Calls nothing; any thread. */
size_t trc_schema_call(char *out, const struct trc_schema_call *call);

#endif
