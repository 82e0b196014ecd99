#include "trace/summary/rates.h"
#include "trace/job/window.h"
#include <math.h>

/* Adds up the last second of all ranks that have one.  False: none has. */
static bool add_last_second(const struct ana_job *job, const struct ana_summary *s, struct ana_rates *r)
{
    double known = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_rank *rank = ana_job_rank(job, s->ranks[i].index);
        if (isnan(rank->calls_per_s))
            continue;
        r->sent += rank->sent_per_s;
        r->received += rank->received_per_s;
        r->calls += rank->calls_per_s;
        r->mpi_share += rank->mpi_share;
        known++;
    }
    r->mpi_share /= known;
    return known > 0;
}

struct ana_rates ana_rates_of(const struct ana_job *job, const struct ana_summary *s)
{
    const double seconds = (double)(s->end_ns - s->begin_ns) / 1e9;
    struct ana_rates r = {.now = true};
    double mpi = 0, wall = 0;
    if (ana_of_all_time(&s->selection) && add_last_second(job, s, &r))
        return r;
    r = (struct ana_rates){0};
    for (size_t i = 0; i < s->rank_count; i++) {
        r.sent += (double)s->ranks[i].sent;
        r.received += (double)s->ranks[i].received;
        r.calls += (double)s->ranks[i].calls;
        mpi += (double)s->ranks[i].mpi_ns;
        wall += (double)s->ranks[i].wall_ns;
    }
    const double per_s = s->rank_count && seconds > 0 ? 1 / seconds : NAN;
    return (struct ana_rates){false, r.sent * per_s, r.received * per_s, r.calls * per_s, wall > 0 ? mpi / wall : NAN};
}
