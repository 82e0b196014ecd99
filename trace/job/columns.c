#include "trace/job/columns.h"
#include "trace/util/keep.h"
#include <stdlib.h>
#include <string.h>

void ana_columns_init(struct ana_columns *table, uint32_t rows)
{
    *table = (struct ana_columns){.rows = rows};
}

void ana_columns_free(struct ana_columns *table)
{
    for (int c = 0; c < ANA_COLUMNS; c++)
        free(table->column[c]);
    ana_columns_init(table, table->rows);
}

bool ana_columns_resize(struct ana_columns *table, uint32_t rows)
{
    for (int c = 0; c < ANA_COLUMNS; c++) {
        size_t width = table->width[c], before = table->rows * width, after = rows * width;
        void *column = after ? realloc(table->column[c], after) : NULL;
        if (column)
            table->column[c] = column;
        else if (after > before)
            return false; /* those before this one have more room than they need */
        if (after > before)
            memset((char *)column + before, 0, after - before);
    }
    table->rows = rows;
    return true;
}

static uint8_t width_of(uint64_t value)
{
    return value > UINT32_MAX ? 8 : value > UINT16_MAX ? 4 : value > UINT8_MAX ? 2 : value ? 1 : 0;
}

static void put(void *column, uint8_t width, size_t row, uint64_t value)
{
    if (width == 1)
        ((uint8_t *)column)[row] = (uint8_t)value;
    else if (width == 2)
        ((uint16_t *)column)[row] = (uint16_t)value;
    else if (width == 4)
        ((uint32_t *)column)[row] = (uint32_t)value;
    else if (width == 8)
        ((uint64_t *)column)[row] = value;
}

/* Makes a column wider.  False: out of memory. */
static bool widen(struct ana_columns *table, int column, uint8_t width)
{
    void *wider = calloc(table->rows, width);
    if (!wider)
        return false;
    for (size_t r = 0; table->width[column] && r < table->rows; r++)
        put(wider, width, r, ana_columns_get(table, column, r));
    free(table->column[column]);
    table->column[column] = wider;
    table->width[column] = width;
    return true;
}

bool ana_columns_set(struct ana_columns *table, int column, size_t row, uint64_t value)
{
    uint8_t width = width_of(value);
    if (width > table->width[column] && !widen(table, column, width))
        return false;
    put(table->column[column], table->width[column], row, value);
    return true;
}

/* Of numbers of one width: the largest sum of two, and these sums. */
#define PAIRS(type)                                                                                                    \
    static uint64_t most_of_##type(const type *at, size_t n)                                                           \
    {                                                                                                                  \
        uint64_t most = 0;                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                                               \
            uint64_t sum = (uint64_t)at[2 * i] + at[2 * i + 1];                                                        \
            most = sum > most ? sum : most;                                                                            \
        }                                                                                                              \
        return most;                                                                                                   \
    }                                                                                                                  \
    static void halve_##type(type *at, size_t n)                                                                       \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            at[i] = (type)(at[2 * i] + at[2 * i + 1]);                                                                 \
        memset(at + n, 0, n * sizeof *at);                                                                             \
    }
PAIRS(uint8_t)
PAIRS(uint16_t)
PAIRS(uint32_t)
PAIRS(uint64_t)

static uint64_t most_of(const void *column, uint8_t width, size_t n)
{
    return width == 1   ? most_of_uint8_t(column, n)
           : width == 2 ? most_of_uint16_t(column, n)
           : width == 4 ? most_of_uint32_t(column, n)
                        : most_of_uint64_t(column, n);
}

bool ana_columns_halve(struct ana_columns *table, size_t rows)
{
    bool done = true;
    for (int c = 0; c < ANA_COLUMNS; c++) {
        uint8_t width = table->width[c];
        uint8_t need = width && width < 8 ? width_of(most_of(table->column[c], width, rows / 2)) : width;
        if (need > width && !widen(table, c, need))
            done = false; /* sums that do not fit are cut off */
        width = table->width[c];
        if (width == 1)
            halve_uint8_t(table->column[c], rows / 2);
        else if (width == 2)
            halve_uint16_t(table->column[c], rows / 2);
        else if (width == 4)
            halve_uint32_t(table->column[c], rows / 2);
        else if (width == 8)
            halve_uint64_t(table->column[c], rows / 2);
    }
    return done;
}

#define SUM(type)                                                                                                      \
    static void sum_of_##type(const type *at, const struct ana_columns_span *span, size_t n, double *sum, size_t step) \
    {                                                                                                                  \
        for (const struct ana_columns_span *stop = span + n; span < stop; span++, sum += step) {                       \
            double all = *sum + span->share[0] * (double)at[span->part[0]];                                            \
            all += span->share[1] * (double)at[span->part[1]];                                                         \
            for (size_t r = span->row; r < span->end; r++)                                                             \
                all += (double)at[r];                                                                                  \
            *sum = all;                                                                                                \
        }                                                                                                              \
    }
SUM(uint8_t)
SUM(uint16_t)
SUM(uint32_t)
SUM(int64_t)

void ana_columns_sum(const struct ana_columns *table, int column, const struct ana_columns_span *span, size_t n,
                     double *sum, size_t step)
{
    const void *at = table->column[column];
    switch (table->width[column]) {
    case 1:
        sum_of_uint8_t(at, span, n, sum, step);
        break;
    case 2:
        sum_of_uint16_t(at, span, n, sum, step);
        break;
    case 4:
        sum_of_uint32_t(at, span, n, sum, step);
        break;
    case 8:
        sum_of_int64_t(at, span, n, sum, step);
        break;
    }
}

void ana_columns_keep(struct ana_keep *keep, struct ana_columns *table, size_t rows)
{
    for (int c = 0; c < ANA_COLUMNS && !keep->failed; c++) {
        uint8_t width = table->width[c];
        ANA_KEEP(keep, width);
        bool sane = width == 0 || width == 1 || width == 2 || width == 4 || width == 8;
        if (!ana_keep_holds(keep, sane) || !width)
            continue;
        if (keep->loads && !widen(table, c, width)) {
            keep->failed = true;
            return;
        }
        ana_keep_rows(keep, table->column[c], rows, width, NULL);
    }
}
