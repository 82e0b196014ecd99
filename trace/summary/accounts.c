/* Summaries of the account of time: collects the sums of each rank's call sites and cuts them (trace/account). */
#include "trace/summary/accounts_impl.h"
#include "trace/job/off.h"
#include "trace/job/open_call.h"
#include "trace/job/window.h"
#include "trace/util/spans.h"
#include "trace/util/times.h"
#include "trace/util/grow.h"
#include <math.h>
#include <stdlib.h>

/* The part of a rank's time that is cut, and what was found in it. */
struct view {
    const struct ana_pass *pass;
    const struct ana_tally *tally;
    struct ana_span time;
};

/* Returns the time of a rank without records: lost, overwritten, switched off, or not read yet; in ns. */
static int64_t unknown_of(const struct ana_job *job, const struct view *view, size_t index,
                          const struct ana_open_call *open)
{
    const struct ana_rank *rank = &ana_job_members(job)->process[index].rank;
    const struct ana_span known = ana_known_time(job, index), time = view->time;
    const int64_t begin_ns = time.begin_ns > rank->begin_ns ? time.begin_ns : rank->begin_ns,
                  end_ns = ana_earlier(time.end_ns, open->begin_ns);
    int64_t unknown_ns = view->pass->why.rank[index].unknown_ns;
    if (known.begin_ns > begin_ns)
        unknown_ns = ana_plus(unknown_ns, ana_earlier(known.begin_ns, end_ns) - begin_ns);
    if (known.end_ns < end_ns && known.end_ns > begin_ns)
        unknown_ns = ana_plus(unknown_ns, end_ns - known.end_ns);
    return ana_plus(unknown_ns, ana_off_within(job, index, begin_ns, end_ns));
}

/* The call sites of one rank: their places among the parts. */
struct rank_sites {
    uint32_t *part;
    size_t n;
};

/* Lists the sums of all call sites, by rank. */
static bool list_parts(const struct ana_job *job, const struct ana_tally *tally, struct ana_site_parts *parts,
                       struct rank_sites *rank)
{
    for (size_t i = 0; i < tally->sites.count; i++) {
        const uint64_t *key = ana_map_key(&tally->sites, i);
        parts->part[i] = (struct ana_site_part){key[0], (uint32_t)key[1], key[2], (uint32_t)(key[1] >> 32),
                                                .sum = ana_map_value(&tally->sites, i)};
        struct rank_sites *of = &rank[key[0]];
        if (!ana_grow_alone(&of->part, of->n, sizeof *of->part))
            return false;
        of->part[of->n++] = (uint32_t)i;
    }
    parts->n = tally->sites.count;
    return ana_job_members(job)->count == tally->ranks;
}

/* Adds the open call of a rank's thread to its call site, or as a part of its own, which *part is.  Returns its time,
 * in ns. */
static int64_t add_open(const struct ana_job *job, const struct view *view, size_t index, size_t thread,
                        const struct ana_open_call *open, struct ana_site_parts *parts, struct ana_site_part **part)
{
    const struct ana_span call_time = {open->begin_ns, ana_job_members(job)->process[index].rank.end_ns};
    const int64_t open_ns = ana_span_overlap(call_time, view->time);
    if (!open->sig || (!open_ns && view->time.begin_ns > open->begin_ns))
        return 0;
    const struct ana_map *sites = &view->tally->sites;
    const uint32_t around = ana_regions_around(&view->pass->regions, index, thread);
    const struct ana_site_sum *sum =
        ana_map_find(sites, index, ana_tally_site_call(open->call, around), open->sig->site);
    size_t at = sum ? (size_t)(sum - (const struct ana_site_sum *)sites->values) : parts->n++;
    if (!sum)
        parts->part[at] = (struct ana_site_part){index, open->call, open->sig->site, around, .sum = NULL};
    parts->part[at].open = true;
    parts->part[at].open_ns = ana_plus(parts->part[at].open_ns, open_ns);
    *part = &parts->part[at];
    return open_ns;
}

/* Cuts the time of one rank: into `stat`, into the parts of its call sites, and the rest into *outside. */
static bool cut_rank(struct ana_job *job, const struct view *view, const struct rank_sites *sites,
                     struct ana_rank_stat *stat, struct ana_site_parts *parts, struct ana_account *outside)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_process *p = &members->process[stat->index];
    const struct ana_why_rank *why = &view->pass->why.rank[stat->index];
    struct ana_account_group *group = calloc(sites->n + 1, sizeof *group);
    struct ana_account *cut = calloc(sites->n + 1, sizeof *cut);
    bool ok = group && cut;
    for (size_t i = 0; ok && i < sites->n; i++) {
        const struct ana_site_part *part = &parts->part[sites->part[i]];
        group[i] = (struct ana_account_group){ana_account_of_call(members->call[part->call].opclass),
                                              part->sum->inside_ns, part->sum->wait_ns};
    }
    if (ok) {
        const struct ana_open_call open = ana_open_call_of(job, stat->index, ANA_MAIN_THREAD);
        const int64_t inside_ns = open.sig ? open.begin_ns : INT64_MAX;
        struct ana_site_part *at = NULL, *thread_pool = NULL;
        for (size_t t = ANA_MAIN_THREAD + 1; t < trc_threads(p->rank.file); t++) {
            const struct ana_open_call its = ana_open_call_of(job, stat->index, t);
            add_open(job, view, stat->index, t, &its, parts, &thread_pool);
        }
        const struct ana_account_rank rank = {
            .elapsed_ns = ana_span_overlap((struct ana_span){p->rank.begin_ns, p->rank.end_ns}, view->time),
            .open_ns = add_open(job, view, stat->index, ANA_MAIN_THREAD, &open, parts, &at),
            .unknown_ns = unknown_of(job, view, stat->index, &open),
            .usage = ana_usage_account(&view->pass->why, stat->index, open.opclass, inside_ns),
        };
        struct ana_account rest;
        ana_account_cut(&rank, group, sites->n, cut, &rest);
        stat->account = rest;
        stat->still = view->pass == &ana_job_analysis(job)->pass ? why->still : (struct ana_still){0};
        stat->processor_known = ana_account_total(&rest) > 0
                                    ? fmin((rank.usage.outside_ns + rank.usage.inside_ns) / (double)rank.elapsed_ns, 1)
                                    : NAN;
        if (at)
            at->account.ns[ANA_ACCOUNT_OPEN] = rest.ns[ANA_ACCOUNT_OPEN];
        rest.ns[ANA_ACCOUNT_OPEN] = 0; /* belongs to its call site */
        stat->outside = rest;
        ana_account_add(outside, &rest);
    }
    for (size_t i = 0; ok && i < sites->n; i++) {
        ana_account_add(&stat->account, &cut[i]);
        ana_account_add(&parts->part[sites->part[i]].account, &cut[i]);
    }
    free(group);
    free(cut);
    return ok;
}

bool ana_summary_accounts(struct ana_job *job, struct ana_summary *s, const struct ana_tally *tally,
                          struct ana_site_parts *parts)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_time_range *range = ana_job_range(job);
    struct rank_sites *rank = calloc(members->count + 1, sizeof *rank);
    size_t threads = 0;
    for (size_t i = 0; i < members->count; i++)
        threads += trc_threads(members->process[i].rank.file) + 1;
    *parts = (struct ana_site_parts){.part = calloc(tally->sites.count + threads + 1, sizeof *parts->part)};
    bool ok = rank && parts->part && list_parts(job, tally, parts, rank);
    const struct view view = {s->exact ? &ana_job_analysis(job)->pass : &range->pass, tally,
                              s->exact ? (struct ana_span){INT64_MIN, INT64_MAX}
                                       : (struct ana_span){s->begin_ns, s->end_ns}};
    s->has_accounts = s->exact ? !s->counters_only && ana_window_is_all(job)
                               : !ana_has_filter(&s->selection) && range->pass.done && ana_waits_are_known(job, s);
    for (size_t i = 0; ok && s->has_accounts && i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        ok = !stat->counted || cut_rank(job, &view, &rank[stat->index], stat, parts, &s->outside_calls);
        ana_account_add(&s->account, &stat->account);
    }
    for (size_t i = 0; rank && i < members->count; i++)
        free(rank[i].part);
    free(rank);
    return ok;
}
