/* The first line: what is the matter with the job, the worst first. */
#include "trace/verdict/verdict_impl.h"
#include "trace/util/numfmt.h"
#include "trace/util/times.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTABLE_SHARE     0.02 /* of all ranks' time: losses below this do not stand out */
#define NOTABLE_IMBALANCE 0.1  /* of the run: what the busiest rank computes longer than the mean */

struct line {
    char *out;
    size_t size;
};

static void say(struct line line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct line line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line.out, line.size, format, args);
    va_end(args);
}

/* Files that were cut off, or of which what counts the calls is damaged. */
static bool say_damaged(const struct ana_job *job, struct line line)
{
    size_t n = 0, first = 0;
    for (size_t i = 0; i < job->count; i++)
        if (!job->process[i].rank.counted && n++ == 0)
            first = i;
    if (n == 0)
        return false;
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, " (and of %zu more)", n - 1);
    say(line, "the trace file of rank %s%s is %s: what it did is not known", ana_rank_label(job, first).text, more,
        trc_truncated(job->process[first].rank.file) ? "cut off" : "damaged");
    return true;
}

/* Files that somebody changed while they were looked at. */
static bool say_spoilt(const struct ana_job *job, struct line line)
{
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++)
        n += trc_spoilt(job->process[i].rank.file);
    if (n)
        say(line,
            "%zu of %zu trace files were truncated or overwritten since they were opened: what was read before is "
            "shown, nothing more is known",
            n, job->count);
    return n > 0;
}

static bool say_record(const struct ana_job *job, struct line line)
{
    if (say_spoilt(job, line) || say_damaged(job, line))
        return true;
    for (size_t i = 0; i < job->count; i++) {
        const struct trc_head *head = trc_head(job->process[i].rank.file);
        if (head->state == TRC_STATE_STOPPED || head->error[0]) {
            say(line, "rank %s stopped recording: %s", ana_rank_label(job, i).text,
                head->error[0] ? head->error : "no reason given");
            return true;
        }
    }
    struct ana_job_info info = ana_job_info(job);
    if (info.ranks < info.world_size) {
        const char *error = ana_bundle_error(&job->bundle);
        if (error) {
            say(line, "%zu of %zu ranks have no trace file that can be read: %s", info.world_size - info.ranks,
                info.world_size, error);
            return true;
        }
        say(line, "%zu of %zu ranks have no trace file here: what they did is not known", info.world_size - info.ranks,
            info.world_size);
        return true;
    }
    if (info.lost_records) {
        char n[ANA_TEXT];
        ana_number(n, sizeof n, ANA_COUNT, (double)info.lost_records, false);
        say(line, "%s records were lost: counts and bytes are right, waits and the timeline have holes", n);
        return true;
    }
    return false;
}

static double all_time(const struct ana_summary *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        sum += (double)ana_rank_time_ns(&s->ranks[i]);
    return sum;
}

/* Who is waited for in collectives. */
struct latecomer {
    size_t index;    /* that others lose most time to */
    int64_t lost_ns; /* to it */
    uint64_t waits;
    int64_t all_ns; /* to anyone */
};

/* Of the losses only those of the ranks whose time they are compared with. */
static bool of_selected(const struct ana_summary *s, const struct ana_wait *w)
{
    return ana_selected(s->selection.ranks, w->waiter);
}

static bool is_part(const struct ana_job *job, const struct ana_summary *s)
{
    return s->rank_count < job->count;
}

/* Over 1 only by calls that reach over the ends of a window. */
static double share_of_all(const struct ana_summary *s, int64_t lost_ns)
{
    return fmin((double)lost_ns / all_time(s), 1);
}

static struct latecomer worst_latecomer(const struct ana_job *job, const struct ana_summary *s)
{
    struct latecomer *by_rank = calloc(job->count + 1, sizeof *by_rank), worst = {0};
    int64_t all = 0;
    for (size_t i = 0; by_rank && i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        if (w->kind != ANA_LATE_IN_COLLECTIVE || !of_selected(s, w))
            continue;
        struct latecomer *one = &by_rank[w->culprit];
        one->index = w->culprit;
        one->lost_ns = ana_plus(one->lost_ns, w->lost_ns);
        one->waits += w->count;
        all = ana_plus(all, w->lost_ns);
        if (one->lost_ns > worst.lost_ns)
            worst = *one;
    }
    free(by_rank);
    worst.all_ns = all;
    return worst;
}

static bool say_collective(const struct ana_job *job, const struct ana_summary *s, struct line line)
{
    const struct ana_collective *c = s->collective_count ? &s->collectives[0] : NULL;
    struct latecomer late = worst_latecomer(job, s);
    bool part_of_job = is_part(job, s);
    const char *all = part_of_job ? "those selected" : "all";
    double share = c ? share_of_all(s, part_of_job ? late.all_ns : c->lost_ns) : 0;
    if (!c || c->instances == 0 || !(share >= NOTABLE_SHARE))
        return false;
    bool world = strcmp(c->comm_name, "WORLD") == 0, one = (double)late.lost_ns >= 0.5 * (double)late.all_ns;
    bool here = late.index == c->last_index;
    char each[ANA_TEXT], cost[ANA_TEXT], part[ANA_TEXT];
    ana_spoken(each, sizeof each, one && late.waits ? (double)late.lost_ns / (double)late.waits : c->skew_p50_ns);
    ana_number(cost, sizeof cost, ANA_SHARE, one ? share_of_all(s, late.lost_ns) : share, false);
    ana_number(part, sizeof part, ANA_SHARE, here ? c->last_share : (double)late.lost_ns / (double)late.all_ns, false);
    if (one && here)
        say(line, "rank %s is late: last in %s of %s%s%s, +%s each, costs %s %s", ana_rank_label(job, late.index).text,
            part, c->name, world ? "" : " on ", world ? "" : c->comm_name, each, all, cost);
    else if (one)
        say(line, "rank %s is late: %s of all waiting in collectives is for it, +%s each, costs %s %s",
            ana_rank_label(job, late.index).text, part, each, all, cost);
    else if (part_of_job)
        say(line, "waiting in collectives costs those selected %s: no single rank to blame", cost);
    else
        say(line, "waiting in %s%s%s costs all %s: its ranks come %s apart, no single one to blame", c->name,
            world ? "" : " on ", world ? "" : c->comm_name, cost, each);
    return true;
}

bool ana_late_rank(const struct ana_job *job, const struct ana_summary *s, struct ana_late *out, char *text,
                   size_t size)
{
    struct latecomer late = worst_latecomer(job, s);
    struct line line = {text, size};
    *out = (struct ana_late){late.index, late.lost_ns > 0 ? share_of_all(s, late.lost_ns) : 0, late.waits};
    return (double)late.lost_ns >= 0.5 * (double)late.all_ns && say_collective(job, s, line);
}

static bool say_wait(const struct ana_job *job, const struct ana_summary *s, struct line line)
{
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        if (w->kind == ANA_LATE_IN_COLLECTIVE || !of_selected(s, w))
            continue;
        int64_t wall = 0;
        for (size_t k = 0; k < s->rank_count; k++)
            if (s->ranks[k].index == w->waiter)
                wall = ana_rank_time_ns(&s->ranks[k]);
        double share = wall ? fmin((double)w->lost_ns / (double)wall, 1) : 0;
        if (share < NOTABLE_SHARE)
            return false;
        char each[ANA_TEXT], cost[ANA_TEXT];
        ana_spoken(each, sizeof each, (double)w->lost_ns / (double)w->count);
        ana_number(cost, sizeof cost, ANA_SHARE, share, false);
        if (w->kind == ANA_LATE_SENDER)
            say(line, "rank %s sends late to rank %s: +%s each, %s of rank %s's time",
                ana_rank_label(job, w->culprit).text, ana_rank_label(job, w->waiter).text, each, cost,
                ana_rank_label(job, w->waiter).text);
        else
            say(line, "rank %s receives late from rank %s: +%s each, %s of rank %s's time",
                ana_rank_label(job, w->culprit).text, ana_rank_label(job, w->waiter).text, each, cost,
                ana_rank_label(job, w->waiter).text);
        return true;
    }
    return false;
}

/* The larger of the two losses: of a collective (of all ranks' time), or of one waiter at one partner. */
static bool say_loss(const struct ana_job *job, const struct ana_summary *s, struct line line)
{
    int64_t collective = s->collective_count ? s->collectives[0].lost_ns : 0, wait = 0;
    collective = collective > 0 ? collective : 0;
    if (is_part(job, s))
        collective = worst_latecomer(job, s).all_ns;
    for (size_t i = 0; i < s->wait_count && wait == 0; i++)
        if (s->waits[i].kind != ANA_LATE_IN_COLLECTIVE && of_selected(s, &s->waits[i]))
            wait = s->waits[i].lost_ns;
    if (wait > collective)
        return say_wait(job, s, line) || say_collective(job, s, line);
    return say_collective(job, s, line) || say_wait(job, s, line);
}

static bool say_imbalance(const struct ana_job *job, const struct ana_summary *s, struct line line)
{
    const struct ana_efficiency *e = &s->efficiency;
    if (!(e->communication * (1 - e->load_balance) >= NOTABLE_IMBALANCE) || s->rank_count < 2)
        return false;
    size_t busiest = 0;
    for (size_t i = 1; i < s->rank_count; i++)
        if (s->ranks[i].category_ns[TRC_CAT_COMPUTE] > s->ranks[busiest].category_ns[TRC_CAT_COMPUTE])
            busiest = i;
    char balance[ANA_TEXT];
    ana_number(balance, sizeof balance, ANA_SHARE, s->efficiency.load_balance, false);
    say(line, "work is uneven: load balance %s, rank %s computes longest", balance,
        ana_rank_label(job, s->ranks[busiest].index).text);
    return true;
}

static void say_fine(const struct ana_summary *s, struct line line)
{
    double mpi = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        mpi += (double)s->ranks[i].mpi_ns;
    char parallel[ANA_TEXT], share[ANA_TEXT];
    ana_number(parallel, sizeof parallel, ANA_SHARE, s->efficiency.parallel, false);
    ana_number(share, sizeof share, ANA_SHARE, mpi / all_time(s), false);
    if (isnan(s->efficiency.parallel))
        say(line, "nothing stands out");
    else
        say(line, "nothing stands out: %s parallel efficiency, %s in MPI", parallel, share);
}

/* A window of which no event has been seen: what is not known yet is not fine. */
static bool is_ahead(const struct ana_job *job, const struct ana_summary *s)
{
    return !s->exact && (s->analysed <= 0 || (job->horizon_ns != INT64_MAX && s->begin_ns >= job->horizon_ns));
}

/* What is waited for much longer than usual is worth a word before it counts as hung. */
static bool say_verdict(const struct ana_job *job, struct line line, enum ana_weight *weight)
{
    struct ana_verdict verdict;
    if (!ana_verdict(job, NULL, &verdict))
        return false;
    bool trouble = verdict.state == ANA_STUCK || verdict.state == ANA_BROKEN;
    bool waits = verdict.state == ANA_SLOW && verdict.usual_ns > 0;
    *weight = trouble ? ANA_TROUBLE : ANA_NOTABLE;
    bool unsure = verdict.state == ANA_UNSURE;
    if (trouble || waits || unsure)
        ana_verdict_headline(&verdict, line.out, line.size);
    ana_verdict_free(&verdict);
    return trouble || waits || unsure;
}

enum ana_weight ana_answer(const struct ana_job *job, const struct ana_summary *summary, char *out, size_t out_size)
{
    struct line line = {out, out_size};
    enum ana_weight weight;
    if (say_verdict(job, line, &weight))
        return weight;
    if (say_record(job, line) || (job->state == ANA_RUNNING && ana_stuck(job, out, out_size)))
        return ANA_NOTABLE;
    if (is_ahead(job, summary)) {
        say(line, "not analysed yet: the events of this window are still to be read");
        return ANA_FINE;
    }
    if (say_loss(job, summary, line) || say_imbalance(job, summary, line))
        return ANA_NOTABLE;
    say_fine(summary, line);
    return ANA_FINE;
}
