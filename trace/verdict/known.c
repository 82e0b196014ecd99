/* Data of each rank that stay known from one verdict to the next. */
#include "trace/job/upper.h"
#include "trace/verdict/epochs.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

void ana_known_forget(struct ana_judgement *judgement)
{
    for (size_t i = 0; i < judgement->known_ranks; i++) {
        ana_last_events_free(judgement->known[i].events);
        ana_epochs_free(judgement->known[i].epochs);
    }
    free(judgement->known);
    judgement->known = NULL;
    judgement->known_ranks = 0;
}

struct ana_known *ana_known_of(const struct ana_case *c, size_t index)
{
    struct ana_judgement *judgement = ana_job_judgement(c->job);
    if (judgement->known_ranks != c->count || judgement->known_generation != c->members->generation) {
        ana_known_forget(judgement);
        judgement->known = calloc(c->count + 1, sizeof *judgement->known);
        judgement->known_ranks = judgement->known ? c->count : 0;
        judgement->known_generation = c->members->generation;
    }
    return judgement->known ? &judgement->known[index] : NULL;
}
