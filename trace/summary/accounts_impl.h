/* The account of time in summaries, and the call sites of ranks that it is of; for the files of the summary. */
#pragma once

#include "trace/summary/summary_impl.h"

/* A call site of one rank. */
struct ana_site_part {
    size_t index;
    uint32_t call;                  /* job-wide */
    uint64_t site;                  /* address, or path */
    uint32_t around;                /* region around the calls (ana_regions_around) */
    const struct ana_site_sum *sum; /* NULL: its only call has not ended */
    bool open;                      /* a call has not ended; it may have begun just at the end of what is known */
    int64_t open_ns;                /* time in it */
    struct ana_account account;     /* filled if the summary has accounts */
};
struct ana_site_parts {
    struct ana_site_part *part; /* for the caller to free */
    size_t n;
};

/* Lists the call sites of all ranks and, for the whole run, cuts the time of the ranks in view: into the accounts of
 * summary, ranks and parts.  False: out of memory. */
bool ana_summary_accounts(struct ana_job *job, struct ana_summary *s, const struct ana_tally *tally,
                          struct ana_site_parts *parts);
/* regions.c: fills the program's own regions, with the accounts of the calls in them.  False: out of memory. */
bool ana_summary_regions(const struct ana_job *job, struct ana_summary *s, const struct ana_site_parts *parts);
