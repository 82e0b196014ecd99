#include "trace/report/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ana_page_cell(struct ana_page *p, const char *text)
{
    char out[512];
    int width = p->next++->width;
    bool last = p->next->width == 0;
    if (last && width < 0 && (int)strlen(text) < -width)
        fputs(text, p->out); /* no blanks at the end of a line */
    else
        fputs(ana_column(out, sizeof out, text, abs(width), width > 0), p->out);
    if (last)
        fputc('\n', p->out);
}

void ana_page_number(struct ana_page *p, enum ana_unit unit, double value)
{
    char text[ANA_TEXT];
    ana_page_cell(p, ana_number(text, sizeof text, unit, value, p->utf8));
}

/* Exact while it fits. */
static void put_integer(struct ana_page *p, uint64_t value)
{
    char text[ANA_TEXT];
    snprintf(text, sizeof text, "%" PRIu64, value);
    if ((int)strlen(text) >= abs(p->next->width))
        ana_number(text, sizeof text, ANA_COUNT, (double)value, p->utf8);
    ana_page_cell(p, text);
}

void ana_page_cells(struct ana_page *p, const void *row)
{
    for (; p->next->width && (p->next->metric || (p->next->width > 0 && !*p->next->title));) {
        const struct ana_metric *metric = p->next->metric;
        struct ana_value v = metric ? metric->value(row, &p->whole) : (struct ana_value){ANA_WORDS, {.text = ""}};
        if (v.type == ANA_WORDS)
            ana_page_cell(p, v.text);
        else if (v.type == ANA_UNSIGNED && metric->unit == ANA_COUNT)
            put_integer(p, v.integer);
        else if (v.type == ANA_RANK_INDEX && ana_job_rank(p->job, v.integer))
            ana_page_cell(p, ana_rank_label(p->job, v.integer).text);
        else
            ana_page_number(p, metric->unit == ANA_UNIT_TEXT ? ANA_COUNT : (enum ana_unit)metric->unit,
                            ana_metric_number(metric, row, &p->whole));
    }
}

void ana_page_row(struct ana_page *p, const struct ana_page_column *columns)
{
    p->next = columns;
    fputc(' ', p->out);
}

void ana_page_table(struct ana_page *p, const char *title, const struct ana_page_column *columns)
{
    fprintf(p->out, "\n%s\n", title);
    for (ana_page_row(p, columns); p->next->width;)
        ana_page_cell(p, p->next->title);
}

void ana_page_more(const struct ana_page *p, size_t shown, size_t all, const char *what)
{
    if (all > shown)
        fprintf(p->out, "  ... %zu more %s\n", all - shown, what);
}
