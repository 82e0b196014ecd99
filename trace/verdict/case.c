/* One judgement: what all detectors read and write. */
#include "trace/verdict/verdict_impl.h"

struct trc_file *ana_case_file(const struct ana_case *c, size_t index)
{
    return c->members->process[index].rank.file;
}

const struct trc_head *ana_case_head(const struct ana_case *c, size_t index)
{
    return trc_head(ana_case_file(c, index));
}

int64_t ana_case_end(const struct ana_case *c, size_t index)
{
    int64_t end = c->members->process[index].rank.end_ns;
    return end < c->until_ns ? end : c->until_ns;
}

bool ana_case_ended(const struct ana_case *c, size_t index)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    return r->state == ANA_RANK_DONE || (!r->counted && trc_head(r->file)->state == TRC_STATE_FINALIZED);
}

int64_t ana_case_lasted(const struct ana_case *c, const size_t *index, size_t n)
{
    int64_t least = INT64_MAX;
    for (size_t k = 0; k < n; k++)
        for (const struct ana_waiting *p = ana_waits(c, index[k]); p < ana_waits(c, index[k] + 1); p++)
            if (p->blocked && !p->aside && p->lasted_ns < least)
                least = p->lasted_ns;
    return least == INT64_MAX ? 0 : least;
}

bool ana_case_known(const struct ana_case *c, size_t index)
{
    return c->members->process[index].rank.counted;
}

bool ana_case_events_known(const struct ana_case *c, size_t index)
{
    return ana_case_known(c, index) && !trc_truncated(ana_case_file(c, index));
}

const struct ana_stacks *ana_case_stacks(struct ana_case *c)
{
    if (!c->stacks_taken)
        c->memory |= !ana_stacks_read(c->job, c->stacks);
    c->stacks_taken = true;
    return c->stacks;
}

const struct trc_sig *ana_last_call(const struct trc_file *file, uint32_t *thread)
{
    const struct trc_sig *found = NULL;
    uint64_t end = 0;
    for (uint32_t t = 0; t < trc_threads(file); t++) {
        const struct trc_sig *sig = trc_live_sig(file, t, trc_thread(file, t)->last);
        if (!sig || trc_thread(file, t)->last_end < end)
            continue;
        found = sig;
        end = trc_thread(file, t)->last_end;
        if (thread)
            *thread = t;
    }
    return found;
}

bool ana_group_misses(const struct ana_group *g, size_t index)
{
    for (size_t i = 0; i < g->missing_count; i++)
        if (g->missing[i] == index)
            return true;
    return false;
}
