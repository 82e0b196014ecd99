/* The list of a site: rows that are put in come out, and a row whose texts have no end harms nobody. */
#include "tests/support/check.h"
#include "tui/sources/jobs_db.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct tui_job_row found[4];
static size_t rows;

static void take(void *context, const struct tui_job_row *row)
{
    (void)context;
    if (rows < 4)
        found[rows] = *row;
    rows++;
}

static void look(struct tui_jobs_db *db)
{
    char error[256] = "";
    rows = 0;
    CHECK(tui_jobs_each(db, &(struct tui_jobs_wanted){.most = -1}, take, NULL, error, sizeof error), "%s", error);
}

/* The reference is the list of columns itself: every text, number and real has a value of its own. */
static void test_round(struct tui_jobs_db *db)
{
    struct tui_job_row row;
    char error[256] = "";
    int n = 1;
    memset(&row, 0, sizeof row);
#define TEXT(name, room) snprintf(row.name, sizeof row.name, "t%d", n++);
#define WHOLE(name)      row.name = n++;
#define REAL(name)       row.name = n++ + 0.5;
#include "tui/sources/jobs_db.def"
#undef TEXT
#undef WHOLE
#undef REAL
    row.saves_s = NAN;
    CHECK(tui_jobs_put(db, &row, error, sizeof error), "%s", error);
    look(db);
    CHECK(rows == 1 && isnan(found[0].saves_s), "%zu rows", rows);
#define TEXT(name, room) CHECK(strcmp(found[0].name, row.name) == 0, #name ": %s", found[0].name);
#define WHOLE(name)      CHECK(found[0].name == row.name, #name);
#define REAL(name)       CHECK(found[0].name == row.name || isnan(row.name), #name);
#include "tui/sources/jobs_db.def"
#undef TEXT
#undef WHOLE
#undef REAL
}

static void test_without_end(struct tui_jobs_db *db)
{
    struct tui_job_row row;
    char error[256] = "";
    memset(&row, 'x', sizeof row);
    row.begin_s = 0;
    CHECK(tui_jobs_put(db, &row, error, sizeof error), "%s", error);
    look(db);
    CHECK(rows == 2);
#define TEXT(name, room)                                                                                               \
    CHECK(strlen(found[1].name) == sizeof row.name - 1, #name ": %zu characters", strlen(found[1].name));
#define WHOLE(name)
#define REAL(name)
#include "tui/sources/jobs_db.def"
}

/* Opened again, and by the columns' names. */
int main(void)
{
    char path[64], error[256] = "";
    snprintf(path, sizeof path, "jobs-%d.db", (int)getpid());
    struct tui_jobs_db *db = tui_jobs_open(path, true, error, sizeof error);
    if (!db && strstr(error, "libsqlite3")) {
        puts(error);
        return 77;
    }
    CHECK(db, "%s", error);
    if (db) {
        test_round(db);
        test_without_end(db);
    }
    tui_jobs_close(db);
    unlink(path);
    return check_result();
}
