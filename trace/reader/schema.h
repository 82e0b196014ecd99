/* Reading the schema of a file (trace/format/schema.h): what its numbers mean. */
#ifndef TRC_READER_SCHEMA_H
#define TRC_READER_SCHEMA_H

#include "trace/format/schema.h"

/* One field of a signature as a file has it: where it goes in our struct trc_sig. */
struct trc_schema_field {
    uint8_t zigzag;
    uint8_t size;    /* bytes of our member: 4 or 8; 0: a field that we do not know, skipped */
    uint16_t offset; /* offset in struct trc_sig */
};

#define TRC_SCHEMA_FIELDS 64u

struct trc_schema {
    struct trc_schema_field fields[TRC_SCHEMA_FIELDS];
    size_t field_count;
};

/* Parses `size` bytes of schema text.  Content never makes it fail: it skips unknown parts.  Without a `sig` line the
 * fields are this version's, and *complaint says so; else *complaint is NULL.  The text is changed; `text[size]` must
 * be there too. */
void trc_schema_parse(struct trc_schema *schema, char *text, size_t size, const char **complaint);
/* The class of calls that a text names; TRC_OP_OTHER where this version knows none. */
enum trc_opclass trc_schema_class(const char *text);

/* A signature without any field set: peers and tags are NONE, the rest is zero. */
struct trc_sig trc_sig_empty(void);

#endif
