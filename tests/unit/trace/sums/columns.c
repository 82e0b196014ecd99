/* A table says the same as plain numbers, however many bytes each of its columns needs. */
#include "tests/support/check.h"
#include "trace/sums/columns.h"

#define ROWS 64u

static uint64_t plain[ANA_COLUMNS][ROWS];

/* Compares a table of `rows` rows, number by number and in sums. */
static void compare(const struct ana_columns *table, size_t rows, const char *what)
{
    const struct ana_columns_span whole = {.row = 0, .end = rows}, parts = {.part = {1, 5}, .share = {0.5, 0.25}};
    for (int c = 0; c < ANA_COLUMNS; c++) {
        double sum = 0, all = 0, part = 0;
        for (size_t r = 0; r < rows; r++) {
            uint64_t is = ana_columns_get(table, c, r);
            CHECK(is == plain[c][r], "%s: column %d of %d bytes, row %zu: %llu", what, c, table->width[c], r,
                  (unsigned long long)is);
            sum += (double)plain[c][r];
        }
        ana_columns_sum(table, c, &whole, 1, &all, 1);
        ana_columns_sum(table, c, &parts, 1, &part, 1);
        CHECK(all == sum, "%s: the sum of column %d is %g, not %g", what, c, all, sum);
        CHECK(part == 0.5 * (double)plain[c][1] + 0.25 * (double)plain[c][5], "%s: a part of column %d", what, c);
    }
}

int main(void)
{
    struct ana_columns table;
    ana_columns_init(&table, ROWS / 2);
    CHECK(ana_columns_resize(&table, ROWS), "out of memory");
    for (size_t r = 0; r < ROWS; r++) /* column c comes to need c bytes, those from 8 on 7 */
        for (int c = 0; c < ANA_COLUMNS; c++) {
            uint64_t number = c ? (r + 192) << (c < 8 ? 8 * (c - 1) : 48) : 0;
            plain[c][r] += number;
            CHECK(ana_columns_plus(&table, c, r, number), "out of memory");
        }
    for (int c = 1; c < 8; c++)
        CHECK(table.width[c] == c, "column %d has %d bytes", c, table.width[c]);
    compare(&table, ROWS, "as filled");
    CHECK(ana_columns_halve(&table, ROWS), "out of memory");
    for (int c = 0; c < ANA_COLUMNS; c++)
        for (size_t r = 0; r < ROWS; r++)
            plain[c][r] = r < ROWS / 2 ? plain[c][2 * r] + plain[c][2 * r + 1] : 0;
    compare(&table, ROWS, "halved");
    ana_columns_free(&table);
    return check_result();
}
