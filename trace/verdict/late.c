/* Who is late: ranks that the others wait for, again and again, as a summary of the whole run tells (trouble.h has
 * the thresholds and why). */
#include "trace/verdict/verdict_impl.h"
#include "trace/util/trouble.h"
#include <string.h>

static double seen_ns(const struct ana_summary *s)
{
    double longest = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        longest = (double)s->ranks[i].seen_ns > longest ? (double)s->ranks[i].seen_ns : longest;
    return longest;
}

static bool is_trouble(const struct ana_late *late, const struct ana_summary *s, size_t ranks)
{
    bool costs =
        late->share >= SLOW_SHARE && seen_ns(s) >= SLOW_RUN_NS && late->lost_ns >= SLOW_LOST_NS * (double)ranks;
    bool repeats = late->times >= SLOW_TIMES * (double)(ranks - 1) && late->lost_ns >= SLOW_EACH_NS * late->waits;
    bool noise = late->times < SLOW_ALIKE * late->waits && late->lost_ns < SLOW_SLICE_NS * late->times;
    return costs && repeats && !noise && late->lost_ns >= SLOW_AHEAD * late->next_ns;
}

void ana_verdict_summarized(struct ana_job *job, const struct ana_summary *summary)
{
    struct ana_straggler *known = &job->judgement->straggler, now = {.known = true, .generation = job->generation};
    now.found = job->count >= 2 && ana_late_rank(job, summary, &now.late, now.summary, sizeof now.summary) &&
                is_trouble(&now.late, summary, job->count);
    bool same =
        now.late.ranks == known->late.ranks && memcmp(now.late.rank, known->late.rank, sizeof now.late.rank) == 0;
    if (!known->known || now.found != known->found || now.generation != known->generation || (now.found && !same) ||
        strcmp(now.summary, known->summary) != 0)
        job->revision++;
    *known = now;
}
