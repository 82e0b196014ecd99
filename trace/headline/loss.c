/* The headline where ranks lose time to each other: the rank waited for, and its cost. */
#include "trace/job/window.h"
#include "trace/members/members.h"
#include "trace/util/times.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline_impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether a loss is of the selected ranks, with whose time it is compared. */
static bool of_selected(const struct ana_summary *s, const struct ana_wait *w)
{
    return w->waiter == ANA_ANY_RANK || ana_selected(s->selection.ranks, w->waiter);
}

/* Whether a sum is of one waiter and one culprit. */
static bool is_pair(const struct ana_wait *w)
{
    return w->waiter != ANA_ANY_RANK && w->culprit != ANA_ANY_RANK;
}

static bool is_part(const struct ana_job *job, const struct ana_summary *s)
{
    return s->rank_count < ana_job_members(job)->count;
}

/* A loss as a share of all ranks' time.  It is over 1 only by calls that reach over the ends of a time range. */
static double share_of_all(const struct ana_summary *s, int64_t lost_ns)
{
    double seen = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        seen += (double)ana_rank_seen_ns(&s->ranks[i]);
    return fmin((double)lost_ns / seen, 1);
}

bool ana_is_much(const struct ana_summary *s, double ns)
{
    const double least = ana_is_mostly_start(s) ? NOTABLE_IMBALANCE : NOTABLE_SHARE;
    return !s->exact || ns >= least * (double)(s->end_ns - s->begin_ns) * (double)s->rank_count;
}

double ana_lost_share(const struct ana_summary *s)
{
    int64_t lost_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        lost_ns = ana_plus(lost_ns, s->ranks[i].waiting_ns > 0 ? s->ranks[i].waiting_ns : 0);
    return share_of_all(s, lost_ns);
}

const char *ana_span_words(const struct ana_summary *s)
{
    if (s->exact)
        return s->analysed < 1 ? " so far" : "";
    return !ana_of_all_time(&s->selection) ? (s->selection.end_ns == INT64_MAX ? " lately" : " of this window")
                                           : " of the run, in these calls";
}

void ana_write_cost(const struct ana_job *job, const struct ana_summary *s, const struct ana_price *price,
                    double lost_share, char *out, size_t size)
{
    bool part = is_part(job, s);
    if (price && s->analysed >= 1 && !part)
        snprintf(out, size, "costs %s%s of %s%s",
                 price->at_most    ? "at most "
                 : price->siblings ? "about "
                                   : "",
                 ana_time((double)price->saves_ns).text, ana_time((double)s->path_ns).text, ana_span_words(s));
    else
        snprintf(out, size, "%s %s%s", part ? "those selected lose" : "all lose", ana_share(lost_share).text,
                 ana_span_words(s));
}

static bool is_in_collective(const struct ana_wait *w)
{
    return ana_wait_words[w->kind].where == ANA_WAIT_COLLECTIVE;
}

/* The rank waited for in collectives, or with messages; time lost to any rank, to the worst and to the next worst. */
struct latecomer {
    size_t index;
    uint64_t waits;
    double squares, next_squares; /* squares of the waits for it, and for the next worst */
    int64_t lost_ns, next_ns, all_ns;
};

static struct latecomer worst_latecomer(const struct ana_job *job, const struct ana_summary *s, bool in_collectives)
{
    const struct ana_members *members = ana_job_members(job);
    struct latecomer *by_rank = calloc(members->count + 1, sizeof *by_rank), worst = {0};
    int64_t all = 0, next = 0;
    for (size_t i = 0; by_rank && i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        if (is_in_collective(w) != in_collectives || !of_selected(s, w))
            continue;
        all = ana_plus(all, w->lost_ns);
        if (w->culprit == ANA_ANY_RANK)
            continue;
        struct latecomer *one = &by_rank[w->culprit];
        one->index = w->culprit;
        one->lost_ns = ana_plus(one->lost_ns, w->lost_ns);
        one->waits += w->count;
        one->squares += w->squares;
        if (one->lost_ns > worst.lost_ns)
            worst = *one;
    }
    for (size_t i = 0; by_rank && i < members->count; i++)
        if (i != worst.index && by_rank[i].lost_ns > next)
            next = by_rank[i].lost_ns, worst.next_squares = by_rank[i].squares;
    free(by_rank);
    worst.all_ns = all;
    worst.next_ns = next;
    return worst;
}

/* Lead of the worst latecomer over the next, in standard deviations of chance among equal ranks, and the number of
 * equal instances behind it. The waits of one instance are not independent: its other ranks wait for one rank. */
struct excess {
    double deviations, instances;
};

static struct excess excess_of(const struct latecomer *late, size_t ranks)
{
    const double both = (double)late->lost_ns + (double)late->next_ns,
                 ahead = (double)late->lost_ns - (double)late->next_ns;
    const double variance = (late->squares + late->next_squares) * (double)(ranks > 1 ? ranks - 1 : 1);
    if (!(variance > 0))
        return (struct excess){0, 0};
    return (struct excess){ahead / sqrt(variance), both * both / variance};
}

/* Whether the lead of the worst over the next is worth a word: as fast as the next it would save that much. */
static bool is_far_ahead(const struct ana_summary *s, const struct latecomer *late)
{
    return (double)late->lost_ns >= LATE_AHEAD * (double)late->next_ns &&
           share_of_all(s, late->lost_ns - late->next_ns) >= NOTABLE_SHARE;
}

/* Whether one rank is to blame: most is lost to it, notably more than to the next, and chance does not explain that; or
 * so few instances are all that there is no rate to speak of. */
static bool is_culprit(const struct ana_summary *s, const struct latecomer *late, size_t ranks)
{
    const struct excess excess = excess_of(late, ranks);
    const double share = late->all_ns > 0 ? (double)late->lost_ns / (double)late->all_ns : 0;
    if (excess.instances < CHANCE_DEVIATIONS * CHANCE_DEVIATIONS)
        return share >= CHANCE_FEW;
    return share >= 0.5 && excess.deviations >= CHANCE_DEVIATIONS && is_far_ahead(s, late);
}

static const struct ana_rank_stat *stat_of(const struct ana_summary *s, size_t index)
{
    for (size_t i = 0; i < s->rank_count; i++)
        if (s->ranks[i].index == index)
            return &s->ranks[i];
    return NULL;
}

/* Whether a rank comes last because others hold it up: less than half of the time lost to it can be charged to its
 * own work, like a root that receives from all before it broadcasts; or less than three quarters, and no more than to
 * another rank, like the last of a chain in which each waits for the one before. */
static bool is_held_up(const struct ana_summary *s, size_t culprit, int64_t lost_ns)
{
    const struct ana_rank_stat *own = stat_of(s, culprit);
    if (!own || own->charged_ns < 0) /* not known */
        return false;
    bool alike = false;
    for (size_t i = 0; i < s->rank_count; i++)
        alike |= &s->ranks[i] != own && s->ranks[i].charged_ns >= own->charged_ns / 5 * 4;
    return own->charged_ns < lost_ns / 2 || (alike && own->charged_ns < lost_ns / 4 * 3);
}

/* Whether one rank is last nearly always at a collective's place, or far more often than by chance. */
static bool is_often_last(const struct ana_collective *c, size_t ranks)
{
    const double chance = 1 / (double)ranks, n = (double)c->instances;
    const double excess = CHANCE_DEVIATIONS * sqrt(chance * (1 - chance) / n), half_way = (1 + chance) / 2;
    return c->last_share >= CHANCE_FEW || c->last_share >= fmax(half_way, chance + excess);
}

/* Whether there are instances enough to say that no rank is worse than the next. */
static bool is_in_turn(const struct ana_summary *s, const struct latecomer *late, size_t ranks)
{
    const struct excess excess = excess_of(late, ranks);
    return excess.instances >= CHANCE_DEVIATIONS * CHANCE_DEVIATIONS &&
           (excess.deviations < CHANCE_DEVIATIONS || !is_far_ahead(s, late));
}

/* Writes about a few waits, one by one: few waits make no shares. */
static bool write_few(const struct ana_job *job, const struct ana_summary *s, struct ana_line line,
                      enum ana_weight *weight)
{
    const struct ana_wait *worst = NULL;
    for (size_t i = 0; !s->exact && i < s->wait_count && !worst; i++)
        worst = is_pair(&s->waits[i]) && of_selected(s, &s->waits[i]) ? &s->waits[i] : NULL;
    int64_t range_ns = s->end_ns - s->begin_ns;
    if (!worst || worst->count >= NOTABLE_WAITS || (double)worst->lost_ns < NOTABLE_SHARE * (double)range_ns)
        return false;
    *weight = (double)worst->lost_ns < NOTABLE_IMBALANCE * (double)range_ns ? ANA_FINE : ANA_NOTABLE;
    ana_line_write(line, "rank %s waits for rank %s, which %s, for %s of this window of %s",
                   ana_rank_label(job, worst->waiter).text, ana_rank_label(job, worst->culprit).text,
                   ana_wait_words[worst->kind].does, ana_time((double)worst->lost_ns).text,
                   ana_time((double)range_ns).text);
    return true;
}

/* The segment that most of the time lost to a rank is charged to; NULL: no segment has most of it. */
static const struct ana_segment_stat *segment_of(const struct ana_summary *s, const struct latecomer *late)
{
    for (size_t i = 0; i < s->segment_count; i++)
        if (s->segments[i].from.call && s->segments[i].cost_by_rank_ns[late->index] > late->lost_ns / 2)
            return &s->segments[i];
    return NULL;
}

/* The price of that segment, if it is the price of this rank alone; NULL: none. */
static const struct ana_price *price_of(const struct ana_summary *s, const struct latecomer *late)
{
    const struct ana_segment_stat *segment = segment_of(s, late);
    return segment ? ana_late_price(s, segment, &(struct ana_late){.rank = {late->index}, .ranks = 1}) : NULL;
}

/* Reason why a rank is late, if it is the worst one in that segment; else none. */
static struct ana_reason reason_of(const struct ana_job *job, const struct ana_summary *s, const struct latecomer *late)
{
    const struct ana_segment_stat *segment = segment_of(s, late);
    bool its = segment && segment->worst_index == late->index;
    return its ? *ana_segment_reason(segment, ana_job_info(job).ranks) : (struct ana_reason){0};
}

/* The place of a collective that loses most; if `late` (NULL: nobody) is to blame, the place where it comes last
 * most often, if most of the time lost to it is lost there. NULL: none. */
static const struct ana_collective *worst_collective(const struct ana_summary *s, const struct latecomer *late)
{
    const struct ana_collective *worst = NULL, *own = NULL;
    for (size_t i = 0; i < s->collective_count; i++) {
        const struct ana_collective *c = &s->collectives[i];
        if (!worst || c->call_lost_ns > worst->call_lost_ns ||
            (c->call_lost_ns == worst->call_lost_ns && c->lost_ns > worst->lost_ns))
            worst = c;
        if (late && c->last_index == late->index && (!own || c->lost_ns > own->lost_ns))
            own = c;
    }
    return own && own->lost_ns > late->lost_ns / 2 ? own : worst;
}

const struct ana_price *ana_worst_price(const struct ana_summary *s)
{
    const struct ana_price *worst = NULL;
    for (size_t i = 0; i < s->price_count && s->analysed >= 1; i++) {
        const struct ana_price *price = &s->prices[i];
        if (price->kind == ANA_PRICE_SEGMENT && price->ranks && !price->at_most && !price->alike &&
            price->saves_ns > (worst ? worst->saves_ns : 0))
            worst = price;
    }
    return worst && (double)worst->saves_ns >= NOTABLE_SHARE * (double)s->path_ns ? worst : NULL;
}

/* Returns the rank that is charged more than half of all waiting, unless it is `last`; NULL: none. */
static const struct ana_rank_stat *most_charged(const struct ana_summary *s, size_t last)
{
    const struct ana_rank_stat *most = NULL;
    int64_t all_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        all_ns = ana_plus(all_ns, s->ranks[i].charged_ns);
        most = !most || s->ranks[i].charged_ns > most->charged_ns ? &s->ranks[i] : most;
    }
    return most && most->index != last && most->charged_ns > all_ns / 2 ? most : NULL;
}

/* Writes that the last rank at a collective waits for others itself, and the ranks that would save most. */
static void write_held_up(const struct ana_job *job, const struct ana_summary *s, const char *begin, size_t last,
                          struct ana_line line)
{
    const struct ana_price *price = ana_worst_price(s);
    const struct ana_rank_stat *by = price ? NULL : most_charged(s, last);
    char words[400] = "", saving[120] = "", whom[64] = "others";
    if (by)
        snprintf(whom, sizeof whom, "rank %s", ana_rank_label(job, by->index).text);
    if (price) {
        ana_price_words(job, price, words, sizeof words);
        ana_price_saving(s, price, saving, sizeof saving);
    }
    ana_line_write(line, "%s: rank %s comes last, held up by %s before%s%s%s%s", begin, ana_rank_label(job, last).text,
                   whom, price ? "; " : "", words, price ? ": " : "", saving);
}

static bool write_collective(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    const struct ana_members *members = ana_job_members(job);
    struct latecomer late = worst_latecomer(job, s, true);
    const bool part_of_job = is_part(job, s), culprit = is_culprit(s, &late, members->count);
    const bool held_up =
                   culprit && (is_held_up(s, late.index, late.lost_ns) || ana_saves_little(s, price_of(s, &late))),
               one = culprit && !held_up;
    const struct ana_collective *c = worst_collective(s, one ? &late : NULL);
    const char *span = ana_span_words(s);
    const int64_t lost_ns = part_of_job ? late.all_ns : one ? late.lost_ns : c ? c->call_lost_ns : 0;
    const double share = share_of_all(s, lost_ns);
    if (!c || c->instances == 0 || !(share >= NOTABLE_SHARE))
        return false;
    const bool world = strcmp(c->comm_name, "WORLD") == 0,
               here = one && late.index == c->last_index && c->lost_ns > late.lost_ns / 2;
    char cost[120], at[96], on[96], all[256];
    const bool several = c->places > 1 && c->place[0];
    snprintf(at, sizeof at, "%s%s", several ? " at " : "", several ? c->place : "");
    const bool at_times = c->skew_p99_ns >= SPIKE_TIMES * c->skew_p50_ns; /* few instances lose most */
    const struct ana_figure lost = ana_share(share),
                            each = ana_time(one && late.waits ? (double)late.lost_ns / (double)late.waits
                                            : at_times        ? c->skew_p99_ns
                                                              : c->skew_p50_ns);
    snprintf(on, sizeof on, "%s%s", world ? "" : " on ", world ? "" : c->comm_name);
    ana_write_cost(job, s, price_of(s, &late), share_of_all(s, late.lost_ns), cost, sizeof cost);
    const struct ana_figure part = ana_share(here ? c->last_share : (double)late.lost_ns / (double)late.all_ns);
    struct ana_reason reason = one ? reason_of(job, s, &late) : (struct ana_reason){0};
    char why[160];
    ana_reason_words(&reason, why, sizeof why);
    const char *between = why[0] ? "; " : "";
    if (one && here)
        ana_line_write(line, "rank %s is late: last in %s of %s%s%s, +%s each, %s%s%s",
                       ana_rank_label(job, late.index).text, part.text, c->name, at, on, each.text, cost, between, why);
    else if (one)
        ana_line_write(line, "rank %s is late: %s of all waiting in collectives is for it, +%s each, %s%s%s",
                       ana_rank_label(job, late.index).text, part.text, each.text, cost, between, why);
    else if (part_of_job)
        ana_line_write(line, "those selected lose %s%s waiting in collectives: no single rank to blame", lost.text,
                       span);
    else if (held_up) {
        snprintf(all, sizeof all, "all lose %s%s waiting in %s%s", lost.text, span, c->name, on);
        write_held_up(job, s, all, late.index, line);
    } else if (at[0] && is_often_last(c, members->count))
        ana_line_write(line, "all lose %s%s waiting in %s%s: rank %s is last in %s%s, others in other places",
                       lost.text, span, c->name, on, ana_rank_label(job, c->last_index).text,
                       ana_share(c->last_share).text, at);
    else
        ana_line_write(line, "all lose %s%s waiting in %s%s: its ranks come %s%s apart, %s", lost.text, span, c->name,
                       on, at_times ? "at times " : "", each.text,
                       is_in_turn(s, &late, members->count) ? "late in turn" : "no single one to blame");
    return true;
}

bool ana_late_rank(const struct ana_job *job, const struct ana_summary *s, struct ana_late *out, char *text,
                   size_t size)
{
    struct latecomer late = worst_latecomer(job, s, true);
    struct ana_line line = {text, size};
    double lost = (double)late.lost_ns;
    if (ana_late_segment(job, s, out, text, size))
        return true;
    *out = (struct ana_late){
        .rank = {late.index},
        .ranks = 1,
        .share = late.lost_ns > 0 ? share_of_all(s, late.lost_ns) : 0,
        .times = late.squares > 0 ? lost * lost / late.squares : 0,
        .lost_ns = lost,
        .waits = (double)late.waits,
        .next_ns = (double)late.next_ns,
        .reason = reason_of(job, s, &late),
        .price = price_of(s, &late),
    };
    return is_culprit(s, &late, ana_job_members(job)->count) && !is_held_up(s, late.index, late.lost_ns) &&
           write_collective(job, s, line);
}

static bool write_wait(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    const struct latecomer late = worst_latecomer(job, s, false);
    if (is_in_turn(s, &late, ana_job_members(job)->count) && share_of_all(s, late.all_ns) >= NOTABLE_SHARE) {
        ana_line_write(line, "%s %s%s waiting for each other's messages: no single rank to blame",
                       is_part(job, s) ? "those selected lose" : "all lose",
                       ana_share(share_of_all(s, late.all_ns)).text, ana_span_words(s));
        return true;
    }
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        if (is_in_collective(w) || !is_pair(w) || !of_selected(s, w) || is_held_up(s, w->culprit, w->lost_ns))
            continue;
        int64_t wall = 0;
        for (size_t k = 0; k < s->rank_count; k++)
            if (s->ranks[k].index == w->waiter)
                wall = ana_rank_seen_ns(&s->ranks[k]);
        double share = wall ? fmin((double)w->lost_ns / (double)wall, 1) : 0;
        if (share < NOTABLE_SHARE)
            return false;
        ana_line_write(line, "rank %s %s rank %s: +%s each, %s of rank %s's time%s",
                       ana_rank_label(job, w->culprit).text, ana_wait_words[w->kind].does_whom,
                       ana_rank_label(job, w->waiter).text, ana_time((double)w->lost_ns / (double)w->count).text,
                       ana_share(share).text, ana_rank_label(job, w->waiter).text,
                       s->exact ? ana_span_words(s) : " in this window");
        return true;
    }
    return false;
}

/* Whether all waiting is worth a word. */
static bool is_notable(const struct ana_summary *s)
{
    double lost_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        lost_ns += s->ranks[i].waiting_ns > 0 ? (double)s->ranks[i].waiting_ns : 0;
    return ana_is_much(s, lost_ns);
}

/* Writes about the larger of two losses: in a collective (of all ranks' time), or of one waiter at one partner. */
bool ana_write_loss(const struct ana_job *job, const struct ana_summary *s, struct ana_line line,
                    enum ana_weight *weight)
{
    int64_t wait = 0;
    if (write_few(job, s, line, weight))
        return true;
    if (!is_notable(s))
        return false;
    *weight = ANA_NOTABLE;
    struct ana_late late;
    if (ana_late_segment(job, s, &late, line.out, line.size))
        return true;
    const int64_t collective = worst_latecomer(job, s, true).all_ns;
    for (size_t i = 0; i < s->wait_count && wait == 0; i++)
        if (!is_in_collective(&s->waits[i]) && of_selected(s, &s->waits[i]))
            wait = s->waits[i].lost_ns;
    if (wait > collective)
        return write_wait(job, s, line) || write_collective(job, s, line);
    return write_collective(job, s, line) || write_wait(job, s, line);
}
