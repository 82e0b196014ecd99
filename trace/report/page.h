/* Tables of the page: columns are metrics with widths. */
#ifndef ANA_PAGE_H
#define ANA_PAGE_H

#include "trace/metric/metric.h"
#include <stdio.h>

struct ana_page {
    const struct ana_job *job;
    const struct ana_summary *s;
    struct ana_job_info info;
    struct ana_whole whole;
    bool utf8;
    FILE *out;
    const struct ana_page_column *next; /* of the row that is being written */
};

/* Positive width: to the right, with at least a blank before it in most rows; negative: to the left; 0: past the last.
 * Without a metric: a gap where there is no title and the width is positive, else written by the caller. */
struct ana_page_column {
    int width;
    const char *title;
    const struct ana_metric *metric;
};
#define ANA_COLUMN(width, title, id)                                                                                   \
    {                                                                                                                  \
        width, title, &ana_metrics[ANA_METRIC_##id]                                                                    \
    }

/* Writes a table's title and the line with the titles of its columns. */
void ana_page_table(struct ana_page *page, const char *title, const struct ana_page_column *columns);
/* Begins a row: the next cell goes into the first column. */
void ana_page_row(struct ana_page *page, const struct ana_page_column *columns);
/* Writes a text into the next column. */
void ana_page_cell(struct ana_page *page, const char *text);
/* Writes a number into the next column; NAN is a dash. */
void ana_page_number(struct ana_page *page, enum ana_unit unit, double value);
/* Writes the metrics of a row into the next columns, as far as they have metrics or are gaps; ends the line after the
 * last column. */
void ana_page_cells(struct ana_page *page, const void *row);
/* Writes how many rows there are beyond those shown, if there are more; `what` is what the rows are. */
void ana_page_more(const struct ana_page *page, size_t shown, size_t all, const char *what);

#endif
