/* The folder of a job, in memory, and the questions that reports and screens ask of it. */
#ifndef FUZZ_JOB_H
#define FUZZ_JOB_H

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pack.h"
#include "tests/support/trace_builder.h"
#include "trace/index/index.h"
#include "trace/summary/summary.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"

#include <string.h>

static char fuzz_folder[64], fuzz_path[FUZZ_FILES][96];
static FILE *fuzz_nowhere;

static inline void fuzz_remove_folder(void)
{
    for (unsigned i = 0; i < FUZZ_FILES; i++)
        unlink(fuzz_path[i]);
    rmdir(fuzz_folder);
}

/* Makes the folder and names its files; it is removed at the end. */
static inline void fuzz_make_folder(void)
{
    snprintf(fuzz_folder, sizeof fuzz_folder, "%s/fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    fuzz_nowhere = fopen("/dev/null", "w");
    if (!fuzz_nowhere || !mkdtemp(fuzz_folder))
        exit(1);
    for (unsigned i = 0; i < FUZZ_FILES; i++)
        snprintf(fuzz_path[i], sizeof fuzz_path[i], "%s/%u.hpctop", fuzz_folder, i);
    atexit(fuzz_remove_folder);
}

static inline void fuzz_check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* Opens the job, which must be accepted: its heads are good. */
static inline struct ana_job *fuzz_open_job(void)
{
    const char *folders[] = {fuzz_folder};
    struct ana_job *job = NULL;
    char error[512] = "";
    fuzz_check(ana_job_open(folders, 1, &job, error, sizeof error) == TRC_OK, error);
    ana_job_set_index(job, false);
    return job;
}

/* Checks sums that hold whatever a file says. */
static inline void fuzz_check_summary(const struct ana_summary *s)
{
    for (size_t i = 0; i < s->region_count; i++) {
        const struct ana_region_stat *r = &s->regions[i];
        fuzz_check(r->total_ns >= 0 && r->own_ns >= 0 && r->mpi_ns >= 0 && r->longest_ns >= 0, "times of a region");
    }
    for (size_t i = 0; i < s->segment_count; i++)
        fuzz_check(s->segments[i].times > 0, "a segment that never was");
}

/* Reads all events, sums up the whole and a part, judges and prints. */
static inline void fuzz_ask(struct ana_job *job)
{
    static const struct ana_selection part[] = {{.begin_ns = 0, .end_ns = INT64_MAX},
                                                {.begin_ns = 20000, .end_ns = 90000}};
    for (int i = 0; i < 2; i++) {
        struct ana_summary s;
        if (ana_summarize_all(job, part[i], &s) != TRC_OK)
            exit(1);
        fuzz_check_summary(&s);
        if (!i)
            ana_report_text(job, &s, true, fuzz_nowhere);
        ana_summary_free(&s);
    }
    ana_job_verdict(job);
}

#endif
