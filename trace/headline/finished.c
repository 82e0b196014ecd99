/* Jobs that finished without trouble: whether heads and live pages prove that the events cannot change that. */
#include "trace/members/members.h"
#include "trace/summary/summary.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline.h"

#define FITTED 0.99 /* fitting clocks changes durations by less */

/* Whether a thread's record is more than calls of MPI that have returned: kernels, Horovod's control rounds, or a call
 * that is still open. */
static bool has_more(const struct trc_file *file, size_t thread)
{
    return trc_is_stream(file, thread) || trc_live_controls(file, thread) || trc_thread(file, thread)->inside;
}

/* Whether the live pages of a rank have all that its events have, for each of its threads. */
static bool is_complete(const struct ana_rank *rank)
{
    const struct trc_head *head = trc_head(rank->file);
    if (rank->state != ANA_RANK_DONE || !rank->counted || trc_truncated(rank->file) || trc_damage(rank->file, 0) ||
        head->recycled_chunks || head->lost_records)
        return false;
    for (size_t t = 0; t < trc_threads(rank->file); t++)
        if (has_more(rank->file, t))
            return false;
    return true;
}

/* Whether no rank can be late by the thresholds of trouble.h. Ranks wait for each other inside calls only, so the
 * time in calls bounds their loss. */
static bool is_nobody_late(const struct ana_summary *s)
{
    double in_calls = 0, all = 0, longest = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_rank_stat *stat = &s->ranks[i];
        if (stat->nccl_ns)
            return false;
        in_calls += (double)stat->mpi_sum_ns;
        all += (double)ana_rank_time_ns(stat);
        longest = (double)stat->wall_ns > longest ? (double)stat->wall_ns : longest;
    }
    return s->rank_count < 2 || in_calls < FITTED * SLOW_SHARE * all ||
           in_calls < FITTED * SLOW_LOST_NS * (double)s->rank_count || longest < FITTED * SLOW_RUN_NS;
}

bool ana_finished_well(const struct ana_job *job, const struct ana_summary *counters)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++)
        if (!is_complete(&members->process[i].rank))
            return false;
    return is_nobody_late(counters);
}
