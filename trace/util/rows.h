/* Tables with a row for each value of an enum, or for each of its bits. */
#pragma once

/* Stops the compiler if the last row of a table is another than `last`, the last value of the enum that indexes it.
 * tests/static/tables.py finds tables without it, values that are not the last, and values without a row. */
#define TRC_ASSERT_ROWS(table, last)                                                                                   \
    _Static_assert(sizeof(table) / sizeof *(table) == (unsigned)(last) + 1, #table " ends with " #last)

/* Stops the compiler if the last name in a table of the names of bits is of another bit than `last`, the last flag of
 * its enum.  tests/static/tables.py wants it for each table whose names PUT_FLAGS prints. */
#define TRC_ASSERT_BITS(table, last)                                                                                   \
    _Static_assert(1u << (sizeof(table) / sizeof *(table)-1) == (unsigned)(last), #table " ends with " #last)
