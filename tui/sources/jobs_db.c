#include "tui/sources/jobs_db.h"
#include "trace/util/text.h"
#include "trace/util/rows.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 30000 /* for others who write */

/* Functions used of SQLite, by its own names. */
enum { OK = 0, ROW = 100, DONE = 101, OPEN_READ = 1, OPEN_WRITE = 2, OPEN_MAKE = 4 };
typedef void destructor(void *);
#define FUNCTIONS(F)                                                                                                   \
    F(int, open_v2, (const char *path, void **db, int flags, const char *vfs))                                         \
    F(int, close, (void *db))                                                                                          \
    F(int, busy_timeout, (void *db, int ms))                                                                           \
    F(int, exec, (void *db, const char *sql, void *callback, void *context, char **error))                             \
    F(const char *, errmsg, (void *db))                                                                                \
    F(int, prepare_v2, (void *db, const char *sql, int bytes, void **statement, const char **tail))                    \
    F(int, bind_text, (void *statement, int column, const char *text, int bytes, destructor *destroy))                 \
    F(int, bind_int64, (void *statement, int column, int64_t value))                                                   \
    F(int, bind_double, (void *statement, int column, double value))                                                   \
    F(int, step, (void *statement))                                                                                    \
    F(int, finalize, (void *statement))                                                                                \
    F(const unsigned char *, column_text, (void *statement, int column))                                               \
    F(int64_t, column_int64, (void *statement, int column))                                                            \
    F(double, column_double, (void *statement, int column))                                                            \
    F(int, column_type, (void *statement, int column))

struct tui_jobs_db {
    void *library, *db;
    bool older; /* the last column is not there */
#define F(type, name, parameters) type(*name) parameters;
    FUNCTIONS(F)
#undef F
};

/* The columns, in their order: of texts, whole numbers and reals. */
enum column_kind { TEXT, WHOLE, REAL };
static const struct column {
    const char *name;
    enum column_kind kind;
    size_t offset, size;
} columns[] = {
#define COLUMN(name, kind)                                                                                             \
    {                                                                                                                  \
#name, kind, offsetof(struct tui_job_row, name), sizeof((struct tui_job_row *)NULL)->name                      \
    }
#define TEXT(name, room) COLUMN(name, TEXT),
#define WHOLE(name)      COLUMN(name, WHOLE),
#define REAL(name)       COLUMN(name, REAL),
#include "tui/sources/jobs_db.def"
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Writes SQL: `each` (NULL: its type) for each column, with commas between, inside of `before` and `after`. */
static void with_columns(char *out, size_t size, const char *before, const char *each, bool named, const char *after)
{
    static const char *const types[] = {[TEXT] = " TEXT", [WHOLE] = " INTEGER", [REAL] = " REAL"};
    TRC_ASSERT_ROWS(types, REAL);
    size_t n = (size_t)snprintf(out, size, "%s", before);
    for (int c = 0; c < COLUMNS && n < size; c++)
        n += (size_t)snprintf(out + n, size - n, "%s%s%s", c ? "," : "", named ? columns[c].name : "",
                              each ? each : types[columns[c].kind]);
    if (n < size)
        snprintf(out + n, size - n, "%s", after);
}
enum { SQL = 1024 };

static bool find_functions(struct tui_jobs_db *db)
{
    db->library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    bool found = db->library != NULL;
#define F(type, name, parameters)                                                                                      \
    {                                                                                                                  \
        void *at = found ? dlsym(db->library, "sqlite3_" #name) : NULL;                                                \
        memcpy(&db->name, &at, sizeof at);                                                                             \
        found = at != NULL;                                                                                            \
    }
    FUNCTIONS(F)
#undef F
    return found;
}

/* Whether the list has the last column. */
static bool has_last(struct tui_jobs_db *db)
{
    char sql[SQL];
    void *statement = NULL;
    snprintf(sql, sizeof sql, "SELECT %s FROM jobs LIMIT 0", columns[COLUMNS - 1].name);
    bool has = db->prepare_v2(db->db, sql, -1, &statement, NULL) == OK;
    db->finalize(statement);
    return has;
}

/* Adds the last column to a list of an older version. */
static bool renew(struct tui_jobs_db *db)
{
    char sql[SQL];
    snprintf(sql, sizeof sql, "ALTER TABLE jobs ADD COLUMN %s TEXT", columns[COLUMNS - 1].name);
    return has_last(db) || db->exec(db->db, sql, NULL, NULL, NULL) == OK || has_last(db); /* another one has */
}

struct tui_jobs_db *tui_jobs_open(const char *path, bool make, char *error, size_t error_size)
{
    struct tui_jobs_db *db = calloc(1, sizeof *db);
    if (!db || !find_functions(db)) {
        snprintf(error, error_size, "%s",
                 db ? "libsqlite3.so.0 is not here; its package is libsqlite3-0 or sqlite-libs" : "out of memory");
        tui_jobs_close(db);
        return NULL;
    }
    char sql[SQL];
    with_columns(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS jobs (", NULL, true,
                 ", PRIMARY KEY (folder, run)); CREATE INDEX IF NOT EXISTS by_begin ON jobs (begin_s);");
    if (db->open_v2(path, &db->db, make ? OPEN_WRITE | OPEN_MAKE : OPEN_READ, NULL) == OK &&
        db->busy_timeout(db->db, WAIT_MS) == OK &&
        (!make || (db->exec(db->db, sql, NULL, NULL, NULL) == OK && renew(db)))) {
        db->older = !make && !has_last(db);
        return db;
    }
    snprintf(error, error_size, "%s: %s", path, db->db ? db->errmsg(db->db) : "out of memory");
    tui_jobs_close(db);
    return NULL;
}

void tui_jobs_close(struct tui_jobs_db *db)
{
    if (!db)
        return;
    if (db->db)
        db->close(db->db);
    if (db->library)
        dlclose(db->library);
    free(db);
}

static bool print_error(struct tui_jobs_db *db, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s", db->errmsg(db->db));
    return false;
}

static void bind_column(struct tui_jobs_db *db, void *statement, int c, const struct tui_job_row *row)
{
    const char *at = (const char *)row + columns[c].offset;
    int64_t whole;
    double real;
    switch (columns[c].kind) {
    case TEXT:
        db->bind_text(statement, c + 1, at, (int)strnlen(at, columns[c].size), NULL);
        break;
    case WHOLE:
        memcpy(&whole, at, sizeof whole);
        db->bind_int64(statement, c + 1, whole);
        break;
    case REAL:
        memcpy(&real, at, sizeof real);
        if (!isnan(real)) /* else it stays null */
            db->bind_double(statement, c + 1, real);
    }
}

bool tui_jobs_put(struct tui_jobs_db *db, const struct tui_job_row *row, char *error, size_t error_size)
{
    void *statement = NULL;
    char sql[SQL];
    with_columns(sql, sizeof sql, "INSERT OR REPLACE INTO jobs VALUES (", "?", false, ")");
    if (db->prepare_v2(db->db, sql, -1, &statement, NULL) != OK)
        return print_error(db, error, error_size);
    for (int c = 0; c < COLUMNS; c++)
        bind_column(db, statement, c, row);
    bool done = db->step(statement) == DONE || print_error(db, error, error_size);
    db->finalize(statement);
    return done;
}

static void read_column(struct tui_jobs_db *db, void *statement, int c, struct tui_job_row *row)
{
    char *at = (char *)row + columns[c].offset;
    int64_t whole = db->column_int64(statement, c);
    const unsigned char *text;
    double number;
    switch (columns[c].kind) {
    case TEXT:
        text = db->column_text(statement, c);
        snprintf(at, columns[c].size, "%s", text ? (const char *)text : "");
        trc_clean_text(at); /* it will be printed, and others may have written it */
        break;
    case WHOLE:
        memcpy(at, &whole, sizeof whole);
        break;
    case REAL:
        number = db->column_type(statement, c) == 5 ? NAN : db->column_double(statement, c);
        memcpy(at, &number, sizeof number);
    }
}

#define FROM(table)                                                                                                    \
    " FROM " table " WHERE begin_s >= ?1 AND (?2 IS NULL OR user = ?2) AND (NOT ?3 OR verdict <> 'healthy') "          \
    "ORDER BY begin_s DESC, folder, run LIMIT ?4"

bool tui_jobs_each(struct tui_jobs_db *db, const struct tui_jobs_wanted *wanted,
                   void (*take)(void *context, const struct tui_job_row *row), void *context, char *error,
                   size_t error_size)
{
    void *statement = NULL;
    char sql[SQL];
    with_columns(sql, sizeof sql, "SELECT ", "", true,
                 db->older ? FROM("(SELECT *, '' AS said FROM jobs)") : FROM("jobs"));
    if (db->prepare_v2(db->db, sql, -1, &statement, NULL) != OK)
        return print_error(db, error, error_size);
    db->bind_int64(statement, 1, wanted->since_s);
    if (wanted->user)
        db->bind_text(statement, 2, wanted->user, -1, NULL);
    db->bind_int64(statement, 3, wanted->trouble);
    db->bind_int64(statement, 4, wanted->most);
    int status;
    while ((status = db->step(statement)) == ROW) {
        struct tui_job_row row;
        for (int c = 0; c < COLUMNS; c++)
            read_column(db, statement, c, &row);
        take(context, &row);
    }
    bool done = status == DONE || print_error(db, error, error_size);
    db->finalize(statement);
    return done;
}
