/* The order of the check. */
#include "trace/check/check_impl.h"
#include <stdlib.h>

/* Notes what the files leave open. */
static void note_limits(struct ana_check *c)
{
    bool ended = true, unknown = false;
    for (size_t i = 0; i < ana_job_ranks(c->job); i++) {
        ended &= c->player[i].finalized;
        unknown |= trc_head(ana_job_rank(c->job, i)->file)->unknown_requests > 0;
    }
    if (c->partial)
        ana_found_limit(c, "events are missing: messages, their order, and what was never completed are not checked");
    else if (unknown)
        ana_found_limit(c, "some requests could not be followed: whether all were completed is not checked there");
    if (!ended)
        ana_found_limit(c, "not all ranks have finalized: what they had still to complete or free is not checked");
    if (ana_job_info(c->job).world_size > ana_job_ranks(c->job))
        ana_found_limit(c, "some ranks have no trace file: what they did is not known");
}

const struct ana_findings *ana_check(struct ana_job *job)
{
    struct ana_check c = {.job = job};
    if (!ana_found_begin(&c))
        return NULL;
    ana_ends_begin(&c);
    ana_meetings_begin(&c);
    if (ana_check_load(&c) && ana_check_replay(&c)) {
        ana_check_incomplete(&c);
        ana_check_unreceived(&c);
        ana_check_open_epochs(&c);
        ana_check_left(&c);
        note_limits(&c);
    } else {
        c.memory = true;
    }
    const struct ana_findings *findings = ana_found_end(&c);
    ana_meetings_free(&c);
    ana_ends_free(&c);
    ana_pool_free(&c.stamps);
    free(c.turn);
    ana_check_unload(&c);
    return findings;
}
