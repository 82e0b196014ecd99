/* What a dump says of items that are no events: rounds and regions. */
#include "trace/reader/dump_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const said_name[] = {
    [TRC_SAID_AND] = "and", [TRC_SAID_OR] = "or", [TRC_SAID_REQUEST] = "request", [TRC_SAID_RESPONSE] = "response"};

/* Writes the words of a round in hexadecimal, those that went in and those that came out; of lists, their entries. */
void trc_dump_said(const struct trc_record *record, FILE *out)
{
    const struct trc_words *said = &record->said;
    bool known = said->kind < sizeof said_name / sizeof *said_name && said_name[said->kind];
    fprintf(out, "SAID %s comm=%" PRIu32 " sequence=%" PRIu64 " round=%" PRIu64 " size=%" PRIu64,
            known ? said_name[said->kind] : "?", said->comm, record->sequence, said->round, said->size);
    if (said->kind == TRC_SAID_AND || said->kind == TRC_SAID_OR) {
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
    const char *name = trc_region(file, (uint32_t)record->sequence);
    fprintf(out, "%s region=%" PRIu64 " name=%s", word[record->kind], record->sequence, name ? name : "-");
    if (record->kind == TRC_RECORD_OPEN)
        fprintf(out, " depth=%" PRIu64, record->count);
    fputc('\n', out);
}
