/* The page for a ticket: what its sections share.  Its tables are a sink of ana_table_walk. */
#pragma once

#include "trace/metric/table.h"
#include "trace/summary/alike.h"
#include <stdio.h>

struct ana_page {
    struct ana_sink sink;
    const struct ana_job *job;
    const struct ana_summary *s;
    struct ana_job_info info;
    struct ana_whole whole;
    bool utf8;
    bool brief;        /* few rows, and none that do not matter */
    bool whole_tables; /* no table has an end that is left out */
    FILE *out;
    FILE *csv;                                             /* rows as CSV and nothing else; NULL: text to `out` */
    const struct ana_alike *alike;                         /* groups that have one row each; NULL: all ranks have */
    const struct ana_column *last;                         /* columns of the table being written */
    void (*below)(struct ana_page *page, const void *row); /* prints below a row; may be NULL */
};

/* Makes the page ready to be written to `out`, which stays the caller's. */
void ana_page_open(struct ana_page *page, const struct ana_job *job, const struct ana_summary *summary, bool utf8,
                   FILE *out);

/* Writes a table with its title and up to `most` rows (one more where only one more is left), then how many more there
 * are of `what`.  Writes nothing if there are no rows.  `below` writes lines below a row; NULL: none. */
void ana_page_table(struct ana_page *page, const char *title, struct ana_table table, size_t most, const char *what,
                    void (*below)(struct ana_page *page, const void *row));
/* Writes how many rows there are beyond those shown, if there are more; `what` is what the rows are. */
void ana_page_more(const struct ana_page *page, size_t shown, size_t all, const char *what);

/* Writes a paragraph in lines of 80 columns. */
void ana_page_line(const struct ana_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a section of the page; nothing where it has nothing to say. */
typedef void ana_section(struct ana_page *page);
/* A table of the page. */
struct ana_page_part {
    const char *name; /* NULL behind the last */
    ana_section *write;
    bool prose; /* no rows, so no CSV */
};
/* The tables of a page, GPUs and NCCL included, in the order of the whole page. */
extern const struct ana_page_part ana_page_parts[];
/* The tables of a brief page, the most important first; NULL behind the last. */
extern ana_section *const ana_page_brief[];
/* Writes the tables of GPUs and NCCL; nothing where there are none. */
void ana_page_devices(struct ana_page *page);
/* Writes the selected part of the job and its outliers; nothing for all of the job. */
void ana_page_window(struct ana_page *page);
/* Writes the lines about facts (TRC_DEF_FACT); nothing where the files have none. */
void ana_page_facts(const struct ana_page *page);
