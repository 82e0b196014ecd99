/* Ranks that the others wait for again and again: trace/headline finds them in summaries, and verdicts name them. */
#pragma once

#include "trace/why/reason.h"

struct ana_job;
struct ana_price;

/* The ranks that make others wait most. */
#define ANA_LATE_RANKS 64u /* ranks named one by one */
struct ana_late {
    size_t rank[ANA_LATE_RANKS], ranks; /* first ranks by index; number of all */
    size_t worst;                       /* rank that takes longest */
    bool one_host, uneven;              /* all are on one; some take much less longer than the worst */
    double share;                       /* share of all ranks' time, as far as it was analysed */
    double times;             /* times that one rank waited for it, were all waits alike: a single long wait gives 1 */
    double lost_ns;           /* time lost to it by all others together */
    double waits;             /* waits of all others together */
    double next_ns;           /* lost to the next worst rank */
    struct ana_reason reason; /* reason why the worst rank takes longer */
    const struct ana_price *price; /* price of the segment with most of lost_ns, owned by the summary; NULL: none */
};

/* A rank that the others wait for again and again, if the newest summary of the whole run tells one. */
struct ana_straggler {
    bool known; /* a summary was available */
    bool found;
    bool lately;          /* found in the last minute, not over the whole run */
    int64_t next_look_ns; /* reader's clock: earliest time of the next reading of the last minute */
    unsigned generation;  /* generation of the job's rank indices */
    struct ana_late late;
    char summary[512]; /* the sentence about it */
    char saving[540];  /* saving if they were as fast as the others; "": little, or not known */
};
/* The straggler of a job.  Who writes it raises the revision of the job's members. */
struct ana_straggler *ana_job_straggler(const struct ana_job *job);
