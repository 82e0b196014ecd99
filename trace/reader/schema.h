/* Reading the schema of a file (trace/format/schema.h): what its numbers mean. */
#ifndef TRC_READER_SCHEMA_H
#define TRC_READER_SCHEMA_H

#include "trace/format/schema.h"

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
