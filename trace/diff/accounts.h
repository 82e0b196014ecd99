/* The difference of two accounts of time: of the jobs, and of their call sites and segments. */
#ifndef ANA_DIFF_ACCOUNTS_H
#define ANA_DIFF_ACCOUNTS_H

#include "trace/diff/diff.h"

/* Places of both runs, and the first run's number of each place of the second (ana_align). */
struct ana_diff_names {
    const struct ana_portion_place *place[2];
    size_t places[2];
    const uint32_t *of_b;
};

/* Fills *out from the summaries of both jobs; out->known is false for selections of a part.  False: out of memory. */
bool ana_diff_accounts_find(struct ana_job *const job[2], const struct ana_selection selection[2],
                            const struct ana_diff_names *names, struct ana_diff_accounts *out);

#endif
