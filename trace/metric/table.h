/* Tables: rows of one kind, and their columns.  There is one walk over their cells; a sink makes text, JSON or CSV from
 * them. */
#pragma once

#include "trace/metric/metric.h"

struct ana_column {
    int width; /* width in text: positive to the right, negative to the left; other sinks have no use for it */
    const char *title;
    const struct ana_metric *metric;                        /* NULL: `words` tell, or nothing does: a gap */
    void (*words)(const void *row, char *out, size_t size); /* text of a column that is no metric */
};
#define ANA_COLUMN(width, title, id)                                                                                   \
    {                                                                                                                  \
        width, title, &ana_metrics[ANA_METRIC_##id], NULL                                                              \
    }
#define ANA_COLUMN_WORDS(width, title, words)                                                                          \
    {                                                                                                                  \
        width, title, NULL, words                                                                                      \
    }
#define ANA_COLUMN_GAP(width)                                                                                          \
    {                                                                                                                  \
        width, "", NULL, NULL                                                                                          \
    }

struct ana_table {
    const struct ana_column *columns;
    size_t column_count;
    const void *rows; /* rows: `count`, `size` bytes each */
    size_t size, count;
};
#define ANA_TABLE(columns, rows, count)                                                                                \
    {                                                                                                                  \
        columns, sizeof(columns) / sizeof *(columns), rows, sizeof *(rows), count                                      \
    }

/* Sink for the cells.  The first member of a sink's own struct. */
struct ana_sink {
    void (*title)(struct ana_sink *sink, const struct ana_column *column); /* NULL: it writes no titles */
    void (*begin)(struct ana_sink *sink);                                  /* starts a row, or the titles */
    void (*cell)(struct ana_sink *sink, const struct ana_column *column, struct ana_value value);
    void (*end)(struct ana_sink *sink, const void *row); /* `row` is NULL after the titles */
};

/* Hands all titles, then all cells to the sink: row by row, each from the first column to the last.  Text of a value
 * lives until the sink's function returns. */
void ana_table_walk(const struct ana_table *table, const struct ana_whole *whole, struct ana_sink *sink);

/* The columns of a kind for scripts: all metrics that have a key, titled by it.  Returns how many. */
size_t ana_table_keys(enum ana_metric_kind kind, struct ana_column out[ANA_METRICS]);
