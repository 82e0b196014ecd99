/* The headline where the account of time explains more than waiting for other ranks does. */
#include "trace/members/members.h"
#include "trace/summary/files.h"
#include "trace/util/cpus.h"
#include "trace/util/ranges.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline_impl.h"
#include <string.h>

#define MORE_THAN_ALONE 0.1 /* excess over the share of time that ranks wait for each other: others run there, too */
#define START_NS        5e9 /* time of a rank in MPI_Init and MPI_Finalize that is worth a word, if most of the run */

/* The time of all ranks in MPI_Init and MPI_Finalize, in ns. */
static double edge_ns(const struct ana_summary *s)
{
    double ns = 0;
    for (size_t i = 0; i < s->call_count; i++)
        if (trc_opclass_is(s->calls[i].opclass, TRC_FACT_EDGE))
            ns += (double)s->calls[i].time_ns;
    return ns;
}

/* The time of the ranks without them. */
static double run_ns(const struct ana_summary *s)
{
    return (double)ana_account_total(&s->account) - edge_ns(s);
}

bool ana_is_mostly_start(const struct ana_summary *s)
{
    return s->exact && s->has_accounts && edge_ns(s) > run_ns(s);
}

static bool is_edge(const struct ana_site *site)
{
    return strstr(site->call, "MPI_Init") || strstr(site->call, "MPI_Finalize");
}

/* The time of an account, without MPI_Init and MPI_Finalize. */
static double own_ns(const struct ana_summary *s, enum ana_account_id id)
{
    double ns = (double)s->account.ns[id];
    for (size_t i = 0; i < s->site_count; i++)
        if (is_edge(&s->sites[i]))
            ns -= (double)s->sites[i].account.ns[id];
    return ns;
}

/* Whether `ns` of all ranks' time is worth a headline: waiting for a processor by the measure of waiting for ranks;
 * other accounts are a part of the work. */
static bool is_notable(const struct ana_summary *s, enum ana_account_id id, double ns)
{
    if (id == ANA_ACCOUNT_QUEUED)
        return ns >= NOTABLE_SHARE * run_ns(s) && ana_is_much(s, ns);
    return ns >= NOTABLE_ACCOUNT * run_ns(s) && ns >= SLOW_LOST_NS * (double)s->rank_count;
}

/* ---- processors ------------------------------------------------------------------------------------------------- */

static double queued_share(const struct ana_rank_stat *stat)
{
    return ana_account_share(&stat->account, ANA_ACCOUNT_QUEUED);
}

/* Ranks that wait for a processor, and the processors that they may use. */
struct crowd {
    size_t ranks;              /* that wait */
    double queued_ns, time_ns; /* of these */
    size_t host;               /* common host of all ranks; SIZE_MAX: several */
    const char *affinity;      /* common affinity of all ranks; NULL: they differ, or it is unknown */
    struct ana_cpus cpus;
    struct ana_ranges list;
};

/* Finds the ranks that wait for a processor at least half as much as the worst. */
static void find_crowd(const struct ana_job *job, const struct ana_summary *s, struct crowd *crowd, char *list,
                       size_t size)
{
    double worst = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        worst = queued_share(&s->ranks[i]) > worst ? queued_share(&s->ranks[i]) : worst;
    *crowd = (struct crowd){0};
    ana_ranges_begin(&crowd->list, list, size, ANA_RANGES_MOST, true);
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_rank_stat *stat = &s->ranks[i];
        if (!(queued_share(stat) >= worst / 2))
            continue;
        const struct ana_rank *rank = ana_job_rank(job, stat->index);
        const char *affinity = trc_fact(rank->file, "affinity");
        if (!crowd->ranks++) {
            crowd->host = rank->host_index;
            crowd->affinity = affinity;
        }
        if (crowd->host != rank->host_index)
            crowd->host = SIZE_MAX;
        if (!affinity || !crowd->affinity || strcmp(affinity, crowd->affinity) != 0)
            crowd->affinity = NULL;
        ana_cpus_add(&crowd->cpus, affinity ? affinity : "");
        crowd->queued_ns += (double)stat->account.ns[ANA_ACCOUNT_QUEUED];
        crowd->time_ns += (double)ana_account_total(&stat->account);
        ana_ranges_add(&crowd->list, ana_rank_id(rank));
    }
    ana_ranges_end(&crowd->list);
}

/* Returns the number of ranks of the job on the crowd's host that may use its processors. */
static size_t count_users(const struct ana_job *job, const struct crowd *crowd)
{
    size_t n = 0;
    for (size_t i = 0; i < ana_job_members(job)->count; i++) {
        const struct ana_rank *rank = ana_job_rank(job, i);
        const char *affinity = rank->host_index == crowd->host ? trc_fact(rank->file, "affinity") : NULL;
        struct ana_cpus cpus = {0};
        ana_cpus_add(&cpus, affinity ? affinity : "");
        n += ana_cpus_meet(&cpus, &crowd->cpus);
    }
    return n;
}

/* Whether most ranks wait for a processor, and get less than two thirds of the time that they ask for: then they wait
 * for each other's messages because of that, too, and calls take longer, unless more is lost to one late rank than all
 * wait for processors, or a price is larger. */
bool ana_is_crowded(const struct ana_job *job, const struct ana_summary *s)
{
    const double queued_ns = own_ns(s, ANA_ACCOUNT_QUEUED);
    struct crowd crowd;
    struct ana_late late;
    char list[256], line[768];
    if (!s->has_accounts || !is_notable(s, ANA_ACCOUNT_QUEUED, queued_ns) ||
        2 * queued_ns < (double)s->account.ns[ANA_ACCOUNT_COMPUTE])
        return false;
    const struct ana_price *price = ana_worst_price(s);
    if (price && (double)price->saves_ns * (double)s->rank_count > queued_ns)
        return false;
    find_crowd(job, s, &crowd, list, sizeof list);
    return 2 * crowd.ranks > s->rank_count &&
           (!ana_late_rank(job, s, &late, line, sizeof line) || late.lost_ns < queued_ns);
}

static void write_queued(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    struct crowd crowd;
    char list[256], with[96] = "";
    find_crowd(job, s, &crowd, list, sizeof list);
    const size_t cpus = ana_cpus_count(&crowd.cpus), users = crowd.host == SIZE_MAX ? 0 : count_users(job, &crowd);
    const bool named = ana_job_info(job).hosts > 1 && crowd.host != SIZE_MAX;
    const double share = crowd.queued_ns / crowd.time_ns, alone = users ? 1 - (double)cpus / (double)users : 0;
    const struct ana_figure part = ana_share(share);
    if (crowd.affinity)
        snprintf(with, sizeof with, " (affinity %s)", crowd.affinity);
    if (cpus && users > cpus)
        ana_line_write(line, "%zu ranks%s%s share %zu processor%s%s%s: they wait for one %s of the time%s", users,
                       named ? " on " : "", named ? ana_job_info(job).host[crowd.host] : "", cpus, cpus == 1 ? "" : "s",
                       with, share > alone + MORE_THAN_ALONE ? " with others, or under a limit" : "", part.text,
                       ana_span_words(s));
    else
        ana_line_write(line,
                       "%s wait%s for a processor %s of the time%s%s: other processes or threads run there, or a limit "
                       "holds %s back",
                       list, crowd.ranks == 1 ? "s" : "", part.text, ana_span_words(s), with,
                       crowd.ranks == 1 ? "it" : "them");
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* The call site that has most of an account, without MPI_Init and MPI_Finalize; NULL: none. */
static const struct ana_site *largest_site(const struct ana_summary *s, enum ana_account_id id)
{
    const struct ana_site *largest = NULL;
    for (size_t i = 0; i < s->site_count; i++) {
        const struct ana_site *site = &s->sites[i];
        if (!is_edge(site) && site->account.ns[id] > (largest ? largest->account.ns[id] : 0))
            largest = site;
    }
    return largest;
}

/* Writes in which call most of an account is spent, and where. */
static bool write_call(const struct ana_summary *s, enum ana_account_id id, struct ana_line line)
{
    const struct ana_site *site = largest_site(s, id);
    const double run = run_ns(s), all = (double)s->account.ns[id];
    if (!site)
        return false;
    const double here = (double)site->account.ns[id];
    const char *place = site->line ? site->line : site->function ? site->function : site->module;
    const char *file = id == ANA_ACCOUNT_IO ? ana_main_file(s) : NULL;
    const struct ana_figure part = ana_share(here / run);
    if (2 * here >= all)
        ana_line_write(line, "%s of the time is in %s%s%s%s%s%s%s", part.text, site->call, place ? " at " : "",
                       place ? place : "", file ? ", file " : "", file ? file : "",
                       id == ANA_ACCOUNT_TRANSFER && !s->uncertain_messages ? ", moving data" : "", ana_span_words(s));
    else
        ana_line_write(line, "ranks are %s for %s of the time%s: most in %s%s%s, %s", ana_account_words(id),
                       ana_share(all / run).text, ana_span_words(s), site->call, place ? " at " : "",
                       place ? place : "", part.text);
    return true;
}

bool ana_write_account(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    static const enum ana_account_id said[] = {ANA_ACCOUNT_QUEUED, ANA_ACCOUNT_IO, ANA_ACCOUNT_LIBRARY,
                                               ANA_ACCOUNT_TRANSFER};
    const double wait_ns = (double)s->account.ns[ANA_ACCOUNT_WAIT];
    enum ana_account_id largest = ANA_ACCOUNT_QUEUED;
    if (!s->has_accounts)
        return false;
    if (ana_is_mostly_start(s) && edge_ns(s) >= START_NS * (double)s->rank_count) {
        ana_line_write(line, "%s of the time is in MPI_Init and MPI_Finalize",
                       ana_share(edge_ns(s) / (double)ana_account_total(&s->account)).text);
        return true;
    }
    const bool crowded = ana_is_crowded(job, s);
    for (size_t i = 0; i < sizeof said / sizeof *said && !crowded; i++)
        if (own_ns(s, said[i]) > own_ns(s, largest))
            largest = said[i];
    /* Small waits before a transfer are a part of it. */
    const double ns = own_ns(s, largest), least = largest == ANA_ACCOUNT_TRANSFER ? 2 * wait_ns : wait_ns;
    if (!crowded && (!is_notable(s, largest, ns) || ns < least))
        return false;
    if (largest != ANA_ACCOUNT_QUEUED)
        return write_call(s, largest, line);
    write_queued(job, s, line);
    return true;
}

bool ana_write_still(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    const struct ana_rank_stat *longest = NULL;
    for (size_t i = 0; s->has_accounts && i < s->rank_count; i++)
        if (s->ranks[i].still.ns > (longest ? longest->still.ns : 0))
            longest = &s->ranks[i];
    if (!longest || (double)longest->still.ns < NOTABLE_SHARE * (double)(s->end_ns - s->begin_ns))
        return false;
    const double begin_ns = (double)(longest->still.begin_ns - s->begin_ns);
    ana_line_write(line, "rank %s stood still from %s to %s: stopped by a signal, or frozen",
                   ana_rank_label(job, longest->index).text, ana_time(begin_ns).text,
                   ana_time(begin_ns + (double)longest->still.ns).text);
    return true;
}

bool ana_write_asleep(const struct ana_summary *s, struct ana_line line)
{
    if (!s->has_accounts || !is_notable(s, ANA_ACCOUNT_OFF_CPU, own_ns(s, ANA_ACCOUNT_OFF_CPU)))
        return false;
    ana_line_write(line, "ranks are asleep outside MPI for %s of the time%s: in I/O, locks, sleep or child processes",
                   ana_share(own_ns(s, ANA_ACCOUNT_OFF_CPU) / run_ns(s)).text, ana_span_words(s));
    return true;
}
