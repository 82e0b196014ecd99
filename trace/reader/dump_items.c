/* Dump of items that are no events: rounds, regions, and the kernel's counts. */
#include "trace/reader/dump_impl.h"
#include "trace/reader/usage.h"
#include "trace/util/rows.h"

#include <string.h>

static const char *const said_name[] = {
    [TRC_ROUND_AND] = "and", [TRC_ROUND_OR] = "or", [TRC_ROUND_REQUEST] = "request", [TRC_ROUND_RESPONSE] = "response"};
TRC_ASSERT_ROWS(said_name, TRC_ROUND_RESPONSE);

/* Writes the words of a round in hexadecimal, input and result; for lists, their entries. */
void trc_dump_round(const struct trc_record *record, FILE *out)
{
    const struct trc_words *said = &record->said;
    bool known = said->kind < sizeof said_name / sizeof *said_name && said_name[said->kind];
    fprintf(out, "ROUND %s comm=%" PRIu32 " sequence=%" PRIu64 " round=%" PRIu64 " size=%" PRIu64,
            known ? said_name[said->kind] : "?", said->comm, record->sequence, said->round, said->size);
    if (said->kind == TRC_ROUND_AND || said->kind == TRC_ROUND_OR) {
        for (size_t i = 0; i + 8 <= said->kept; i += 8) {
            uint64_t word;
            memcpy(&word, said->bytes + i, sizeof word);
            fprintf(out, "%s%" PRIx64, i == 0 ? " in=" : i * 2 == said->kept ? " out=" : ",", word);
        }
    } else {
        fputs(" text=", out);
        for (size_t i = 0; i < said->kept; i++)
            if (said->bytes[i] > ' ' && said->bytes[i] < 0x7f)
                fputc(said->bytes[i], out);
    }
    fputc('\n', out);
}

void trc_dump_region(const struct trc_file *file, const struct trc_record *record, FILE *out)
{
    static const char *const word[] = {
        [TRC_RECORD_BEGIN] = "BEGIN", [TRC_RECORD_END] = "END", [TRC_RECORD_OPEN] = "OPEN"};
    TRC_ASSERT_ROWS(word, TRC_RECORD_OPEN);
    const char *name = trc_region(file, (uint32_t)record->sequence);
    fprintf(out, "%s region=%" PRIu64 " name=%s", word[record->kind], record->sequence, name ? name : "-");
    if (record->kind == TRC_RECORD_OPEN)
        fprintf(out, " depth=%" PRIu64, record->count);
    fputc('\n', out);
}

/* Writes a line for each owner: when, whose, and what rose. */
static void dump_entry(const struct trc_file *file, const struct trc_usage_item *item, const struct trc_usage *usage,
                       FILE *out)
{
    fprintf(out, "USAGE %.6f %.6f ", trc_dump_since(file, item->begin), trc_dump_since(file, item->end));
    if (usage->whose >= TRC_USAGE_THREAD)
        fprintf(out, "thread=%" PRIu32, usage->whose - TRC_USAGE_THREAD);
    else
        fputs(usage->whose == TRC_USAGE_NODE ? "node" : "process", out);
    for (uint32_t i = 0; i < TRC_USAGE_FIELDS; i++)
        if (usage->fields >> i & 1)
            fprintf(out, " %s=%" PRIu64, trc_usage_name((enum trc_usage_field)i), usage->value[i]);
    fputc('\n', out);
}

bool trc_dump_usage(struct trc_file *file, FILE *out)
{
    struct trc_usage_cursor *cursor = trc_usage_open(file);
    struct trc_usage_item item;
    while (cursor && trc_usage_next(cursor, &item) == TRC_OK)
        for (size_t i = 0; i < item.n; i++)
            dump_entry(file, &item, &item.entry[i], out);
    trc_usage_close(cursor);
    return cursor;
}
