#include "trace/sums/columns.h"
#include "trace/util/archive.h"
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
        void *column = after ? realloc(table->column[c], after + ANA_PACKED_BEHIND) : NULL;
        if (column)
            table->column[c] = column;
        else if (after > before)
            return false; /* columns before this one have more room than they need */
        if (after > before)
            memset((char *)column + before, 0, after - before);
    }
    table->rows = rows;
    return true;
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
    else
        ana_packed_put((uint8_t *)column + row * width, width, value);
}

/* Makes a column wider.  False: out of memory. */
static bool widen(struct ana_columns *table, int column, uint8_t width)
{
    void *wider = calloc(table->rows * (size_t)width + ANA_PACKED_BEHIND, 1);
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
    uint8_t width = ana_packed_width(value);
    if (width > table->width[column] && !widen(table, column, width))
        return false;
    put(table->column[column], table->width[column], row, value);
    return true;
}

/* The largest sum of two numbers, one after the other. */
static uint64_t most_of_two(const struct ana_columns *table, int column, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = ana_columns_get(table, column, 2 * i) + ana_columns_get(table, column, 2 * i + 1);
        most = sum > most ? sum : most;
    }
    return most;
}

bool ana_columns_halve(struct ana_columns *table, size_t rows)
{
    bool done = true;
    for (int c = 0; c < ANA_COLUMNS; c++) {
        uint8_t width = table->width[c];
        uint8_t need = width && width < 8 ? ana_packed_width(most_of_two(table, c, rows / 2)) : width;
        if (need > width && !widen(table, c, need))
            done = false; /* sums that do not fit are cut off */
        width = table->width[c];
        for (size_t i = 0; width && i < rows / 2; i++)
            put(table->column[c], width, i, ana_columns_get(table, c, 2 * i) + ana_columns_get(table, c, 2 * i + 1));
        if (width)
            memset((uint8_t *)table->column[c] + rows / 2 * width, 0, rows / 2 * width);
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

static void sum_of_packed(const uint8_t *at, unsigned width, const struct ana_columns_span *span, size_t n, double *sum,
                          size_t step)
{
    for (const struct ana_columns_span *stop = span + n; span < stop; span++, sum += step) {
        double all = *sum + span->share[0] * (double)ana_packed_get(at + span->part[0] * width, width);
        all += span->share[1] * (double)ana_packed_get(at + span->part[1] * width, width);
        for (size_t r = span->row; r < span->end; r++)
            all += (double)ana_packed_get(at + r * width, width);
        *sum = all;
    }
}

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
    case 0:
        break;
    default:
        sum_of_packed(at, table->width[column], span, n, sum, step);
    }
}

void ana_columns_archive(struct ana_archive *archive, struct ana_columns *table, size_t rows)
{
    for (int c = 0; c < ANA_COLUMNS && !archive->failed; c++) {
        uint8_t width = table->width[c];
        ANA_ARCHIVE(archive, width);
        if (!ana_archive_require(archive, width <= 8) || !width)
            continue;
        if (archive->loads && !widen(table, c, width)) {
            archive->failed = true;
            return;
        }
        ana_archive_rows(archive, table->column[c], rows, width, NULL);
    }
}
