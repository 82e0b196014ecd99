#include "trace/report/page.h"
#include "trace/metric/csv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF = 4 }; /* rows of a table of a brief page */

static struct ana_page *page_of(struct ana_sink *sink)
{
    return (struct ana_page *)sink;
}

static void begin_row(struct ana_sink *sink)
{
    fputc(' ', page_of(sink)->out);
}

static void put_text(struct ana_page *p, const struct ana_column *column, const char *text)
{
    char out[512];
    ana_column(out, sizeof out, text, abs(column->width), column->width > 0);
    size_t length = strlen(out);
    while (column == p->last && length > 0 && out[length - 1] == ' ')
        out[--length] = 0;
    fputs(out, p->out);
}

static void put_title(struct ana_sink *sink, const struct ana_column *column)
{
    put_text(page_of(sink), column, column->title);
}

static void put_cell(struct ana_sink *sink, const struct ana_column *column, struct ana_value v)
{
    struct ana_page *p = page_of(sink);
    char text[ANA_TEXT];
    if (v.type == ANA_WORDS) {
        put_text(p, column, v.text);
        return;
    }
    enum ana_unit unit = column->metric->unit == ANA_UNIT_TEXT ? ANA_COUNT : (enum ana_unit)column->metric->unit;
    bool exact = v.type == ANA_UNSIGNED && unit == ANA_COUNT;
    if (exact)
        exact = snprintf(text, sizeof text, "%" PRIu64, v.integer) < abs(column->width);
    if (v.type == ANA_RANK_INDEX && ana_job_rank(p->job, v.integer))
        put_text(p, column, ana_rank_label(p->job, v.integer).text);
    else
        put_text(p, column, exact ? text : ana_value_text(text, sizeof text, unit, v, p->utf8));
}

static void end_row(struct ana_sink *sink, const void *row)
{
    struct ana_page *p = page_of(sink);
    fputc('\n', p->out);
    if (row && p->below)
        p->below(p, row);
}

void ana_page_open(struct ana_page *page, const struct ana_job *job, const struct ana_summary *summary, bool utf8,
                   FILE *out)
{
    *page = (struct ana_page){.sink = {put_title, begin_row, put_cell, end_row},
                              .job = job,
                              .s = summary,
                              .info = ana_job_info(job),
                              .whole = ana_whole_of(job, summary, NULL),
                              .utf8 = utf8,
                              .out = out};
}

void ana_page_table(struct ana_page *p, const char *title, struct ana_table table, size_t most, const char *what,
                    void (*below)(struct ana_page *page, const void *row))
{
    size_t all = table.count;
    if (p->csv)
        ana_csv_rows(p->csv, table.columns->metric ? table.columns->metric->kind : table.columns[1].metric->kind,
                     table.rows, table.size, all, &p->whole);
    if (all == 0 || p->csv)
        return;
    fprintf(p->out, "\n%s\n", title);
    if (!p->whole_tables)
        table.count = ana_shown(all, p->brief && most > BRIEF ? BRIEF : most);
    p->last = &table.columns[table.column_count - 1];
    p->below = below;
    ana_table_walk(&table, &p->whole, &p->sink);
    ana_page_more(p, table.count, all, what);
}

void ana_page_more(const struct ana_page *p, size_t shown, size_t all, const char *what)
{
    if (all > shown)
        fprintf(p->out, "  ... %zu more %s\n", all - shown, what);
}

/* Text in lines of 80 columns, the later ones indented. */
static void put_paragraph(const struct ana_page *p, const char *text)
{
    size_t at = 0, n = strlen(text);
    while (n - at > 78) {
        size_t cut = 78;
        while (cut > 0 && text[at + cut] != ' ')
            cut--;
        for (cut = cut ? cut : 78; text[at + cut] && text[at + cut] != ' ';)
            cut++; /* a longer word stays whole */
        fprintf(p->out, "  %.*s\n", (int)cut, text + at);
        at += cut + (text[at + cut] == ' ');
    }
    fprintf(p->out, "  %s\n", text + at);
}

void ana_page_line(const struct ana_page *p, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_paragraph(p, text);
}
