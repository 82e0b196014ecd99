/* The schema: lines of text in each trace file that say what its numbers mean, so that a newer or an older hpctop than
 * the recorder still reads it.
 *
 *   hpctop-trace 1
 *   class <id> <text>                          operation classes of opclass.def
 *   sig <field>:<u|s> ...                      fields of a signature in their order; s = zigzag
 *   item <text>                                what the items are, for people
 *   gpu <text>                                 the table of device operations, for people
 *   def <text>                                 definitions that came later, for people
 *   call <id> <name> <class text> <roles>      every call; roles = what its arguments are, for people; may be missing
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

struct trc_schema_call {
    const char *name; /* "MPI_Send"; its index in the array is its id */
    enum trc_opclass opclass;
    const char *roles; /* argument roles, separated as you like; NULL for none */
};

/* Writes the schema text to `out`, without a NUL, at most `size` bytes of it.  Returns the length of the whole: call it
 * with size 0 to learn the room it needs.  Calls nothing; any thread. */
size_t trc_schema_write(char *out, size_t size, const struct trc_schema_call *calls, size_t n);

/* ---- reading: schema.c ----------------------------------------------------------------------------------------- */

/* One field of a signature as a file has it: where it goes in our struct trc_sig. */
struct trc_schema_field {
    uint8_t zigzag;
    uint8_t size;    /* bytes of our member: 4 or 8; 0: a field that we do not know, skipped */
    uint16_t offset; /* in struct trc_sig */
};

#define TRC_SCHEMA_FIELDS 64u

struct trc_schema {
    struct trc_schema_parsed_call {
        char *name; /* points into the text; NULL: no such id */
        enum trc_opclass opclass;
    } * calls;
    size_t call_count; /* highest id + 1 */
    struct trc_schema_field fields[TRC_SCHEMA_FIELDS];
    size_t field_count;
    char *text; /* owned */
};

/* Parses `size` bytes of schema text.  Content never makes it fail: it skips what it does not understand.  Without a
 * `sig` line the fields are those of this version, and *complaint says so; else *complaint is NULL.  Returns 0, or -1
 * when out of memory.  Release with trc_schema_free. */
int trc_schema_parse(struct trc_schema *schema, const char *text, size_t size, const char **complaint);
/* Frees what trc_schema_parse allocated; the struct itself is the caller's. */
void trc_schema_free(struct trc_schema *schema);

/* A signature without any field set: peers and tags are NONE, the rest is zero. */
struct trc_sig trc_sig_empty(void);

#endif
