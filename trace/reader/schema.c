/* Parses the schema's text.  What it does not understand it skips: names may then be missing, never wrong. */
#include "trace/reader/schema.h"
#include "trace/util/text.h"

#include <stdbool.h>
#include <stdlib.h>
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

static bool parse_number(const char *text, size_t limit, size_t *out)
{
    size_t value = 0;
    if (!text || !*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || (value = value * 10 + (size_t)(*text - '0')) >= limit)
            return false;
    }
    *out = value;
    return true;
}

/* The class of a text: another version may number classes differently. */
static enum trc_opclass class_of(const char *text)
{
    for (unsigned i = 0; text && i < TRC_OPCLASSES; i++)
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

static int parse_call(struct trc_schema *schema, size_t *room, char *line)
{
    size_t id;
    if (!parse_number(take_word(&line), TRC_CALLS_MAX, &id))
        return 0;
    char *name = take_word(&line);
    if (!name)
        return 0;
    if (id >= *room) {
        size_t wanted = id < 512 ? 1024 : id * 2;
        void *grown = realloc(schema->calls, wanted * sizeof *schema->calls);
        if (!grown)
            return -1;
        schema->calls = grown;
        memset(schema->calls + *room, 0, (wanted - *room) * sizeof *schema->calls);
        *room = wanted;
    }
    schema->calls[id].name = name;
    schema->calls[id].opclass = class_of(take_word(&line));
    if (schema->call_count <= id)
        schema->call_count = id + 1;
    return 0;
}

int trc_schema_parse(struct trc_schema *schema, const char *text, size_t size, const char **complaint)
{
    *schema = (struct trc_schema){0};
    *complaint = NULL;
    if (size > TRC_SCHEMA_MAX)
        size = TRC_SCHEMA_MAX;
    schema->text = malloc(size + 1);
    if (!schema->text)
        return -1;
    memcpy(schema->text, text, size);
    schema->text[size] = 0;
    size_t room = 0;
    char *rest = schema->text;
    while (rest && *rest) {
        char *line = rest;
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = 0;
        trc_clean_text(line);
        char *first = take_word(&line);
        if (!first)
            continue;
        if (!strcmp(first, "sig"))
            parse_sig(schema, line);
        else if (!strcmp(first, "call") && parse_call(schema, &room, line)) {
            trc_schema_free(schema);
            return -1;
        }
    }
    if (!schema->field_count) {
        *complaint = "the schema has no `sig` line: signatures are read as this version writes them";
        schema->field_count = OWN_FIELDS;
        for (size_t i = 0; i < OWN_FIELDS; i++)
            schema->fields[i] = own_fields[i].field;
    }
    return 0;
}

void trc_schema_free(struct trc_schema *schema)
{
    free(schema->calls);
    free(schema->text);
    *schema = (struct trc_schema){0};
}
