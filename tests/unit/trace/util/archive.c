/* Rows come back as they were, whatever their numbers are and however many bytes they have; parts written anew take the
 * place of parts that did not fit; how columns are told is not trusted. */
#include "trace/util/archive.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3000, MOST = 40 };

static uint64_t random_state = 88172645463325252u;
static uint64_t any(void)
{
    return draw_bits(&random_state);
}

/* Numbers of many kinds: times that rise, times at a constant distance from these, noise, nothing, negative ones. */
static uint64_t number_of(size_t row, size_t word)
{
    uint64_t kind = word * 7 + row / 1000;
    return kind % 5 == 0   ? row * 1000003
           : kind % 5 == 1 ? row * 1000003 + 17 + any() % 3
           : kind % 5 == 2 ? any()
           : kind % 5 == 3 ? 0
                           : 0 - any() % 100;
}

static void fill(uint8_t *rows, size_t size)
{
    for (size_t r = 0; r < ROWS; r++)
        for (size_t at = 0; at < size; at += 8) {
            uint64_t number = number_of(r, at / 8);
            memcpy(rows + r * size + at, &number, size - at < 8 ? size - at : 8);
        }
}

static void rows_come_back(size_t size, size_t n)
{
    struct ana_archive archive;
    struct ana_budget budget = {.most = n * size};
    FILE *file = tmpfile();
    uint8_t *rows = malloc(ROWS * size), *back = malloc(ROWS * size);
    fill(rows, size);
    fputs("head", file);
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_archive_rows(&archive, rows, n, size, NULL);
    ana_archive_part(&archive);
    CHECK(ana_archive_end(&archive) && fflush(file) == 0);
    ana_archive_load(&archive, file, 4, &budget);
    ana_archive_rows(&archive, back, n, size, NULL);
    CHECK(ana_archive_end(&archive) && memcmp(rows, back, n * size) == 0, "%zu rows of %zu bytes", n, size);
    free(rows);
    free(back);
    fclose(file);
}

/* A thousand times that rise, and another at the same distance from each, take little. */
static void regular_rows_are_small(void)
{
    uint64_t rows[1000][2];
    struct ana_archive archive;
    FILE *file = tmpfile();
    for (size_t r = 0; r < 1000; r++) {
        rows[r][0] = r * 1000003 + any() % 256;
        rows[r][1] = rows[r][0] + 70000;
    }
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_archive_rows(&archive, rows, 1000, sizeof *rows, NULL);
    ana_archive_part(&archive);
    CHECK(ana_archive_end(&archive) && archive.bytes < 2000, "%llu bytes", (unsigned long long)archive.bytes);
    fclose(file);
}

static void what_does_not_fit_is_taken_back(void)
{
    struct ana_archive archive;
    struct ana_budget none = {0};
    uint64_t noise[1000], one = 1, two = 0;
    FILE *file = tmpfile();
    for (size_t i = 0; i < 1000; i++)
        noise[i] = any();
    fputs("head", file);
    ana_archive_save(&archive, file, 4000);
    ANA_ARCHIVE(&archive, one);
    ana_archive_part(&archive);
    uint64_t bytes = archive.bytes;
    ana_archive_rows(&archive, noise, 1000, sizeof *noise, NULL);
    ana_archive_part(&archive);
    CHECK(archive.failed && archive.bytes > archive.most);
    CHECK(ana_archive_truncate(&archive, bytes));
    ana_archive_rows(&archive, noise, 300, sizeof *noise, NULL);
    ana_archive_part(&archive);
    CHECK(ana_archive_truncate(&archive, bytes), "once more");
    ANA_ARCHIVE(&archive, one);
    ana_archive_part(&archive);
    CHECK(ana_archive_end(&archive) && fflush(file) == 0);
    uint64_t begin[3] = {4};
    CHECK(ana_archive_find(file, begin, 2), "two parts and nothing else");
    ana_archive_load(&archive, file, begin[1], &none);
    ANA_ARCHIVE(&archive, two);
    CHECK(ana_archive_end(&archive) && two == 1);
    fclose(file);
}

/* Ways to tell a column that there are not, and one from a column before the first. */
static void forget_first(void *row)
{
    *(uint64_t *)row = 0;
}

/* No pointer is ever left that a file has. */
static void columns_are_not_trusted(void)
{
    for (uint8_t how = 0; how < 8; how++) {
        uint8_t head[] = {how, 1, 1, 1}, bytes[] = {3, 5};
        uint64_t row[2];
        struct ana_archive archive;
        struct ana_budget budget = {.most = sizeof row};
        FILE *file = tmpfile();
        ana_archive_save(&archive, file, UINT64_MAX);
        ANA_ARCHIVE(&archive, head);
        ANA_ARCHIVE(&archive, bytes);
        ana_archive_part(&archive);
        CHECK(ana_archive_end(&archive) && fflush(file) == 0);
        ana_archive_load(&archive, file, 0, &budget);
        ana_archive_rows(&archive, row, 1, sizeof row, forget_first);
        CHECK(row[0] == 0, "way %d: a pointer is left", how);
        CHECK(ana_archive_end(&archive) == (how == 0 || how == 2), "way %d", how);
        fclose(file);
    }
}

int main(void)
{
    for (size_t size = 1; size <= MOST; size++) {
        rows_come_back(size, ROWS);
        rows_come_back(size, 1 + (size_t)any() % 5);
    }
    rows_come_back(70001, 2);
    regular_rows_are_small();
    what_does_not_fit_is_taken_back();
    columns_are_not_trusted();
    return check_result();
}
