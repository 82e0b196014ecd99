/* Ranks whose recording MPI_Pcontrol has switched off.  They may do anything meanwhile: nobody is blamed for it. */
#include "trace/job/off.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define TOLD 3u /* stretches of time that are listed one by one */

bool ana_find_off(struct ana_case *c)
{
    size_t *index = ana_case_room(c), n = 0;
    int64_t least_ns = INT64_MAX;
    for (size_t i = 0; index && i < c->count; i++) {
        const struct ana_rank *r = &c->members->process[i].rank;
        if (!r->off)
            continue;
        int64_t since = ana_clock_job_time(c->members->clock, i, trc_head(r->file)->off_since);
        least_ns = r->end_ns - since < least_ns ? r->end_ns - since : least_ns;
        index[n++] = i;
    }
    if (n == 0)
        return false;
    c->out->state = ANA_VERDICT_UNKNOWN;
    ANA_SUMMARY(c, ANA_SENTENCE_OFF_NOW, .who = ana_ranks_at(index, n), .time = least_ns > 0 ? least_ns : 0);
    ANA_NEXT(c, ANA_SENTENCE_NEXT_OFF);
    return true;
}

void ana_explain_off(struct ana_case *c)
{
    struct ana_offs offs;
    c->memory |= !ana_offs_find(c->job, &offs);
    for (size_t i = 0; i < offs.count && i < TOLD; i++) {
        const struct ana_off *off = &offs.off[i];
        const bool now = off->end_ns == INT64_MAX;
        size_t *rank = ana_case_room(c);
        if (!rank)
            break;
        memcpy(rank, off->rank, off->ranks * sizeof *rank);
        ANA_FACT(c, now ? ANA_SENTENCE_OFF_SINCE : ANA_SENTENCE_OFF_FROM_TO, .who = ana_ranks_at(rank, off->ranks),
                 .time = off->begin_ns, .other_time = now ? 0 : off->end_ns);
    }
    if (offs.count > TOLD)
        ANA_FACT(c, ANA_SENTENCE_OFF_MORE, .count = (int64_t)offs.times, .time = offs.all_ns);
    ana_offs_free(&offs);
}
