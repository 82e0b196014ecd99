#include "trace/metric/table.h"

static struct ana_value value_of(const struct ana_column *column, const void *row, const struct ana_whole *whole,
                                 char *text, size_t size)
{
    if (column->metric)
        return ana_metric_value(column->metric, row, whole);
    *text = 0;
    if (column->words)
        column->words(row, text, size);
    return (struct ana_value){.type = ANA_WORDS, .text = text};
}

void ana_table_walk(const struct ana_table *table, const struct ana_whole *whole, struct ana_sink *sink)
{
    const struct ana_column *first = table->columns, *end = first + table->column_count;
    char text[256];
    if (sink->title) {
        sink->begin(sink);
        for (const struct ana_column *column = first; column < end; column++)
            sink->title(sink, column);
        sink->end(sink, NULL);
    }
    for (size_t i = 0; i < table->count; i++) {
        const void *row = (const char *)table->rows + i * table->size;
        sink->begin(sink);
        for (const struct ana_column *column = first; column < end; column++)
            sink->cell(sink, column, value_of(column, row, whole, text, sizeof text));
        sink->end(sink, row);
    }
}

size_t ana_table_keys(enum ana_metric_kind kind, struct ana_column out[ANA_METRICS])
{
    size_t n = 0;
    for (int m = 0; m < ANA_METRICS; m++)
        if (ana_metrics[m].kind == kind && ana_metrics[m].key)
            out[n++] = (struct ana_column){.title = ana_metrics[m].key, .metric = &ana_metrics[m]};
    return n;
}
