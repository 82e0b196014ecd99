/* One rank at one time, in words of screens and commands: its call with callers, partner and wait, who caused that, and
 * the program's lines. */
#pragma once

#include "trace/timeline/state_at.h"
#include <cjson/cJSON.h>
#include "tui/sources/source.h"

struct tui_moment {
    size_t index; /* rank index */
    int64_t at_ns;
    struct ana_state_at state;
    struct ana_state_at culprit;    /* state of the rank that caused the wait, in its middle */
    uint64_t iteration, iterations; /* number from 1, and how many the rank's loop has; 0: in none */
    struct tui_source source;       /* lines at the innermost caller of the program's own */
};
/* Fills *out for a rank at `at_ns`, in job time; `summary` has the job's iterations.  Waits for source lines as long as
 * tui_lines_use allows. */
void tui_inspect(struct ana_job *job, const struct ana_summary *summary, size_t index, int64_t at_ns,
                 struct tui_moment *out);

/* Writes the activity of a rank as one sentence, "in MPI_Recv from rank 0, tag 7, 1.2 ms, 64 B at app.c:17 in step",
 * "outside MPI 3.1 ms, after MPI_Barrier at app.c:12 in main; in solve". */
void tui_inspect_doing(const struct ana_job *job, size_t index, const struct ana_state_at *state, char *out,
                       size_t size);
/* Writes the other ranks of a call: "WORLD #7: rank 3 came last, 6.0 ms after the first"; "" for none. */
void tui_inspect_partners(const struct ana_job *job, const struct ana_state_at *state, char *out, size_t size);

/* Gets a row: a label, "" where it goes on, and its text. */
typedef void tui_inspect_row(void *user, const char *label, const char *text);
/* Writes a moment row by row. */
void tui_inspect_rows(const struct ana_job *job, const struct tui_moment *of, tui_inspect_row *row, void *user);

/* Returns it as JSON, for the caller to delete; NULL when out of memory.  Keys: json_keys.def. */
cJSON *tui_inspect_json(const struct ana_job *job, const struct tui_moment *of);
