/* Jobs that a site has recorded: a row a job, in a file of SQLite's that several may write at once.  SQLite is found
 * at run time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job.  Texts are "", numbers 0 and reals NAN where they are not known. */
struct tui_job_row {
#define TEXT(name, room) char name[room];
#define WHOLE(name)      int64_t name;
#define REAL(name)       double name;
#include "tui/sources/jobs_db.def"
};

struct tui_jobs_db;

/* Opens the file, and makes it if `make`.  NULL, with one line in `error`: it cannot be, or SQLite is not here. */
struct tui_jobs_db *tui_jobs_open(const char *path, bool make, char *error, size_t error_size);
/* Closes it; NULL is none. */
void tui_jobs_close(struct tui_jobs_db *db);
/* Adds a job, with the data known by now; a text without an end is cut to the available room.  Waits half a minute
 * for other writers.  False, with one line in `error`. */
bool tui_jobs_put(struct tui_jobs_db *db, const struct tui_job_row *row, char *error, size_t error_size);

/* Filter on jobs. */
struct tui_jobs_wanted {
    const char *user; /* NULL: of all */
    int64_t since_s;  /* begun at this time or later, in seconds since 1970 */
    bool trouble;     /* only unhealthy jobs */
    int64_t most;     /* rows; -1: all */
};
/* Calls `take` with each selected job, the latest first.  False, with one line in `error`. */
bool tui_jobs_each(struct tui_jobs_db *db, const struct tui_jobs_wanted *wanted,
                   void (*take)(void *context, const struct tui_job_row *row), void *context, char *error,
                   size_t error_size);
