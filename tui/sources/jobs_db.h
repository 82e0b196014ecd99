/* What a site has recorded: a row a job, in a file of SQLite's that several may write at once.  SQLite is found at run
 * time. */
#ifndef TUI_JOBS_DB_H
#define TUI_JOBS_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job.  Texts are "" and numbers NAN or -1 where they are not known. */
struct tui_job_row {
    char folder[1024]; /* of its traces: what it is known by */
    char page[1024];   /* the report in HTML */
    char id[64];       /* in the batch system, else of the launcher */
    char name[128], user[64];
    char state[16];   /* finished, aborted, hung, running */
    char verdict[16]; /* healthy, slow, hung, aborted, unknown */
    char class[40];
    char answer[512];
    int64_t begin_s; /* seconds since 1970 */
    int64_t ranks, nodes;
    double elapsed_s, efficiency, saves_s; /* what the first thing to mend would save */
};

struct tui_jobs_db;

/* Opens the file, and makes it if `make`.  NULL, with one line in `error`: it cannot be, or SQLite is not here. */
struct tui_jobs_db *tui_jobs_open(const char *path, bool make, char *error, size_t error_size);
/* Closes it; NULL is none. */
void tui_jobs_close(struct tui_jobs_db *db);
/* Adds a job, or what is known of it now.  Waits half a minute for others who write.  False, with one line in `error`. */
bool tui_jobs_put(struct tui_jobs_db *db, const struct tui_job_row *row, char *error, size_t error_size);

/* Which jobs are wanted. */
struct tui_jobs_wanted {
    const char *user; /* NULL: of all */
    int64_t since_s;  /* begun at this time or later, in seconds since 1970 */
    bool trouble;     /* only those that are not healthy */
    int64_t most;     /* rows; -1: all */
};
/* Calls `take` with each of them, the latest first.  False, with one line in `error`. */
bool tui_jobs_each(struct tui_jobs_db *db, const struct tui_jobs_wanted *wanted,
                   void (*take)(void *context, const struct tui_job_row *row), void *context, char *error,
                   size_t error_size);

#endif
