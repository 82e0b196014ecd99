#include "trace/metric/csv.h"
#include "trace/metric/exact.h"
#include "trace/util/text.h"
#include <string.h>

struct csv_sink {
    struct ana_sink sink;
    const struct ana_job *job;
    FILE *out;
    bool within; /* a row, behind its first field */
};

static struct csv_sink *csv_of(struct ana_sink *sink)
{
    return (struct csv_sink *)sink;
}

static void begin_line(struct ana_sink *sink)
{
    csv_of(sink)->within = false;
}

/* Puts a text, in quotes if it has a character with a meaning in CSV; a quote within is doubled.  No spreadsheet
 * computes it. */
static void put_field(struct csv_sink *csv, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    fputs(csv->within ? "," : "", csv->out);
    csv->within = true;
    if (quoted)
        fputc('"', csv->out);
    fputs(trc_text_defuse(text), csv->out);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', csv->out);
        fputc(*c, csv->out);
    }
    if (quoted)
        fputc('"', csv->out);
}

static void put_key(struct ana_sink *sink, const struct ana_column *column)
{
    put_field(csv_of(sink), column->title);
}

static void put_value(struct ana_sink *sink, const struct ana_column *column, struct ana_value value)
{
    char text[ANA_EXACT];
    const char *exact = ana_exact(column->metric, value, csv_of(sink)->job, text);
    put_field(csv_of(sink), exact ? exact : "");
}

static void end_line(struct ana_sink *sink, const void *row)
{
    (void)row;
    fputs("\r\n", csv_of(sink)->out);
}

void ana_csv_rows(FILE *out, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                  const struct ana_whole *whole)
{
    struct ana_column columns[ANA_METRICS];
    struct ana_table table = {columns, ana_table_keys(kind, columns), rows, size, count};
    struct csv_sink csv = {{put_key, begin_line, put_value, end_line}, whole->job, out, false};
    ana_table_walk(&table, whole, &csv.sink);
}
