/* Tables with a row for each value of an enum. */
#ifndef TRC_ROWS_H
#define TRC_ROWS_H

/* Stops the compiler if the last row of a table is another than `last`, the last value of the enum that indexes it.
 * tests/static/tables.py finds tables without it, values that are not the last, and values without a row. */
#define TRC_ASSERT_ROWS(table, last)                                                                                   \
    _Static_assert(sizeof(table) / sizeof *(table) == (unsigned)(last) + 1, #table " ends with " #last)

#endif
