#include "trace/job/off.h"
#include "trace/job/analysis.h"
#include "trace/util/numfmt.h"
#include "trace/util/sort.h"
#include <stdio.h>
#include <stdlib.h>

#define LOOKED 64u /* intervals of a rank that are over */

struct interval {
    int64_t begin_ns, end_ns;
    size_t index;
};

/* Interval i of a rank, the one under way last.  False: there is none. */
static bool interval_at(const struct ana_job *job, size_t index, size_t i, struct interval *out)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_rank *rank = &members->process[index].rank;
    const struct trc_head *head = trc_head(rank->file);
    const struct trc_off *off = trc_off_at(rank->file, i);
    const bool last = !off && head->off_since && (i == 0 || trc_off_at(rank->file, i - 1));
    if (!off && !last)
        return false;
    out->index = index;
    out->begin_ns = ana_clock_job_time(members->clock, index, off ? off->begin : head->off_since);
    out->end_ns = off         ? ana_clock_job_time(members->clock, index, off->end)
                  : rank->off ? INT64_MAX
                              : members->process[index].run_end_ns;
    return true;
}

int64_t ana_off_within(const struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns)
{
    int64_t sum = 0;
    struct interval is;
    for (size_t i = 0; interval_at(job, index, i, &is); i++) {
        int64_t from = is.begin_ns > begin_ns ? is.begin_ns : begin_ns, to = is.end_ns < end_ns ? is.end_ns : end_ns;
        sum += to > from ? to - from : 0;
    }
    return sum;
}

ANA_COMPARE(by_begin, struct interval, ANA_ORDER(x->begin_ns, y->begin_ns), ANA_ORDER(x->index, y->index))

/* Makes stretches of `n` intervals in order of their begins.  Their ranks lie one behind the other at `rank`. */
static void join_intervals(const struct interval *is, size_t n, size_t *rank, struct ana_offs *out)
{
    for (size_t i = 0; i < n; i++) {
        struct ana_off *off = out->count ? &out->off[out->count - 1] : NULL;
        if (!off || is[i].begin_ns > off->end_ns) {
            off = &out->off[out->count++];
            *off = (struct ana_off){.begin_ns = is[i].begin_ns, .end_ns = is[i].end_ns, .rank = rank + i};
        }
        off->end_ns = is[i].end_ns > off->end_ns ? is[i].end_ns : off->end_ns;
        off->rank[off->ranks++] = is[i].index;
    }
    for (size_t k = 0; k < out->count; k++) {
        struct ana_off *off = &out->off[k];
        size_t kept = 0;
        ana_sort(off->rank, off->ranks, sizeof *off->rank, ana_by_index);
        for (size_t i = 0; i < off->ranks; i++)
            if (i == 0 || off->rank[i] != off->rank[kept - 1])
                off->rank[kept++] = off->rank[i];
        off->ranks = kept;
    }
}

/* Sums up the heads, and returns how many intervals are looked at. */
static size_t count_intervals(const struct ana_job *job, struct ana_offs *out)
{
    const struct ana_members *members = ana_job_members(job);
    size_t n = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_rank *rank = &members->process[i].rank;
        const struct trc_head *head = trc_head(rank->file);
        const uint64_t times = head->off_times + (head->off_since != 0);
        out->times += times;
        out->all_ns = ana_plus(out->all_ns, rank->off_ns);
        n += times < LOOKED ? (size_t)times : LOOKED + 1;
    }
    return n;
}

bool ana_offs_find(const struct ana_job *job, struct ana_offs *out)
{
    const struct ana_members *members = ana_job_members(job);
    *out = (struct ana_offs){0};
    const size_t room = count_intervals(job, out);
    if (room == 0)
        return true;
    struct interval *is = calloc(room, sizeof *is);
    size_t *rank = calloc(room, sizeof *rank), n = 0;
    out->off = calloc(room, sizeof *out->off);
    const bool done = is && rank && out->off;
    for (size_t index = 0; done && index < members->count; index++)
        for (size_t i = 0; n < room && interval_at(job, index, i, &is[n]); i++)
            n += i < LOOKED || is[n].end_ns == INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        is[i].begin_ns -= members->begin_ns;
        is[i].end_ns -= is[i].end_ns == INT64_MAX ? 0 : members->begin_ns;
    }
    if (done && n) {
        ana_sort(is, n, sizeof *is, by_begin);
        join_intervals(is, n, rank, out);
    }
    free(is);
    if (!out->count)
        free(rank);
    if (!done)
        ana_offs_free(out);
    return done;
}

void ana_offs_free(struct ana_offs *offs)
{
    if (offs->count)
        free(offs->off[0].rank);
    free(offs->off);
    *offs = (struct ana_offs){0};
}

void ana_off_words(const struct ana_job *job, const struct ana_off *off, char *out, size_t size)
{
    char from[ANA_TEXT], to[ANA_TEXT], ranks[200], until[ANA_TEXT + 8] = "";
    const bool now = off->end_ns == INT64_MAX;
    ana_spoken(from, sizeof from, (double)off->begin_ns);
    if (!now)
        snprintf(until, sizeof until, " to %s", ana_spoken(to, sizeof to, (double)off->end_ns));
    ana_rank_list(job, off->rank, off->ranks, ranks, sizeof ranks);
    snprintf(out, size, "recording %s off %s %s%s (MPI_Pcontrol), on %s", now ? "is" : "was", now ? "since" : "from",
             from, until, ranks);
}
