/* Parses the schema's text.  Skips unknown parts: names may then be missing, never wrong. */
#include "trace/reader/schema.h"

#include <string.h>

/* The fields of our struct trc_sig by name. */
static const struct own_field {
    const char *name;
    struct trc_schema_field field;
} own_fields[] = {
#define ZIGZAG_u                0
#define ZIGZAG_s                1
#define FIELD(type, name, kind) {#name, {ZIGZAG_##kind, sizeof(type), offsetof(struct trc_sig, name)}},
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
};
#define OWN_FIELDS (sizeof own_fields / sizeof *own_fields)

struct trc_sig trc_sig_empty(void)
{
    return (struct trc_sig){.peer = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .source = TRC_PEER_NONE, .rtag = TRC_TAG_NONE};
}

/* Takes the next word of the line at *at and terminates it; NULL at the end. */
static char *take_word(char **at)
{
    char *p = *at;
    while (*p == ' ')
        p++;
    if (!*p)
        return NULL;
    char *begin = p;
    while (*p && *p != ' ')
        p++;
    if (*p)
        *p++ = 0;
    *at = p;
    return begin;
}

/* Finds a class by its text: another version may number classes differently. */
enum trc_opclass trc_schema_class(const char *text)
{
    for (unsigned i = 0; i < TRC_OPCLASSES; i++)
        if (!strcmp(text, trc_opclass_text((enum trc_opclass)i)))
            return (enum trc_opclass)i;
    return TRC_OP_OTHER;
}

static void parse_sig(struct trc_schema *schema, char *line)
{
    schema->field_count = 0;
    for (char *name; schema->field_count < TRC_SCHEMA_FIELDS && (name = take_word(&line));) {
        struct trc_schema_field *field = &schema->fields[schema->field_count++];
        char *kind = strchr(name, ':');
        *field = (struct trc_schema_field){.zigzag = kind && kind[1] == 's'};
        if (!kind)
            continue;
        *kind = 0;
        for (size_t i = 0; i < OWN_FIELDS; i++)
            if (!strcmp(name, own_fields[i].name)) {
                field->size = own_fields[i].field.size;
                field->offset = own_fields[i].field.offset;
            }
    }
}

void trc_schema_parse(struct trc_schema *schema, char *text, size_t size, const char **complaint)
{
    *schema = (struct trc_schema){0};
    *complaint = NULL;
    text[size] = 0;
    for (char *rest = text; rest && *rest;) {
        char *line = rest;
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = 0;
        char *first = take_word(&line);
        if (first && !strcmp(first, "sig"))
            parse_sig(schema, line);
    }
    if (schema->field_count)
        return;
    *complaint = "the schema has no `sig` line: signatures are read as this version writes them";
    schema->field_count = OWN_FIELDS;
    for (size_t i = 0; i < OWN_FIELDS; i++)
        schema->fields[i] = own_fields[i].field;
}
