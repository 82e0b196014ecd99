/* Stretches of switched-off recording (MPI_Pcontrol): the ranks' activity meanwhile is not known. */
#pragma once

#include "trace/job/job.h"

/* For how much of [begin_ns, end_ns), in job time, recording of a rank was off, in ns. */
int64_t ana_off_within(const struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns);

/* A stretch of time in which recording was off on some rank without a break. */
struct ana_off {
    int64_t begin_ns, end_ns; /* since the job began; end_ns INT64_MAX: it is off now */
    size_t *rank;             /* indices of the ranks, in order */
    size_t ranks;
};
struct ana_offs {
    struct ana_off *off; /* stretches in order of time */
    size_t count;
    uint64_t times; /* times that a rank was switched off; there may be more than in `off` */
    int64_t all_ns; /* sum over all ranks */
};
/* Fills *out: of each rank with the first 64 intervals, and the one under way.  Free it with ana_offs_free.  False: out
 * of memory. */
bool ana_offs_find(const struct ana_job *job, struct ana_offs *out);
/* Frees what ana_offs_find has filled in. */
void ana_offs_free(struct ana_offs *offs);

/* Writes a stretch as a sentence: "recording was off from 3.2 s to 8.1 s (MPI_Pcontrol), on ranks 0-3". */
void ana_off_words(const struct ana_job *job, const struct ana_off *off, char *out, size_t size);
