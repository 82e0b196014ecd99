/* A table of 64-bit numbers, a column of which takes only as many bytes a row as its largest number needs, none while
 * all are 0.  Negative ones need 8.  Nothing is lost: a column becomes wider when it has to.  One thread at a time. */
#pragma once

#include "trace/util/packed.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_archive;

#define ANA_COLUMNS 14

struct ana_columns {
    uint32_t rows;
    uint8_t width[ANA_COLUMNS]; /* bytes of each number; 0: all are 0 */
    void *column[ANA_COLUMNS];  /* numbers of 1, 2, 4 or 8 bytes are integers, others packed */
};

/* Makes an empty table of `rows` rows; allocates nothing. */
void ana_columns_init(struct ana_columns *table, uint32_t rows);
/* Makes rows, or gives up the last ones.  False: out of memory, there are as many as before. */
bool ana_columns_resize(struct ana_columns *table, uint32_t rows);
/* Frees the columns; the struct is the caller's. */
void ana_columns_free(struct ana_columns *table);

/* The number in a row. */
static inline uint64_t ana_columns_get(const struct ana_columns *table, int column, size_t row)
{
    switch (table->width[column]) {
    case 1:
        return ((const uint8_t *)table->column[column])[row];
    case 2:
        return ((const uint16_t *)table->column[column])[row];
    case 4:
        return ((const uint32_t *)table->column[column])[row];
    case 8:
        return ((const uint64_t *)table->column[column])[row];
    case 0:
        return 0;
    default:
        return ana_packed_get((const uint8_t *)table->column[column] + row * table->width[column],
                              table->width[column]);
    }
}

/* The slow path of ana_columns_plus: sets a number, in a wider column where it needs that.  False: out of memory, and
 * nothing has changed. */
bool ana_columns_set(struct ana_columns *table, int column, size_t row, uint64_t value);

/* Adds to the number in a row.  False: out of memory, and nothing has changed. */
static inline bool ana_columns_plus(struct ana_columns *table, int column, size_t row, uint64_t value)
{
    uint64_t sum = ana_columns_get(table, column, row) + value;
    uint8_t width = table->width[column];
    if (width == 4 && sum <= UINT32_MAX && sum >= value)
        ((uint32_t *)table->column[column])[row] = (uint32_t)sum;
    else if (width == 2 && sum <= UINT16_MAX && sum >= value)
        ((uint16_t *)table->column[column])[row] = (uint16_t)sum;
    else
        return ana_columns_set(table, column, row, sum);
    return true;
}

/* Makes one row of each two: the sums of their numbers, of the first `rows`, an even number; the rows behind are 0
 * then.  False: out of memory, some are lost. */
bool ana_columns_halve(struct ana_columns *table, size_t rows);
/* Rows of a table to be added up: parts of single rows, if any, followed by whole ones. */
struct ana_columns_span {
    size_t part[2];
    double share[2]; /* shares of these rows; 0: none */
    size_t row, end; /* whole rows */
};
/* Adds the numbers of a column in n spans, one after the other, to sum[0], sum[step] and so on.  Columns of 8 bytes
 * count as signed. */
void ana_columns_sum(const struct ana_columns *table, int column, const struct ana_columns_span *span, size_t n,
                     double *sum, size_t step);
/* Saves the first `rows` rows, or loads them into an empty table. */
void ana_columns_archive(struct ana_archive *archive, struct ana_columns *table, size_t rows);
