/* The headline where work of some ranks between two calls makes others wait: the segment, its ranks, and its cost. */
#include "trace/members/members.h"
#include "trace/util/sort.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline_impl.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON_PROCESSOR 0.9 /* share of a segment's time from which on it is computing */

/* ---- who -------------------------------------------------------------------------------------------------------- */

/* Whether the worst rank takes longer as a rule, not only now and then: that explains what all `ranks` lose to it.
 * Medians are right within a bucket, an eighth. */
static bool is_regular(const struct ana_segment_stat *segment, size_t ranks)
{
    if (segment->ranks == 1)
        return 2 * segment->spikes_ns < (double)segment->total_ns;
    double usual_ns = segment->worst_ns - segment->median_ns;
    double times = (double)segment->times_by_rank[segment->worst_index];
    double cost_ns = (double)segment->cost_by_rank_ns[segment->worst_index];
    return usual_ns > 0.15 * segment->median_ns && usual_ns * times >= segment->spikes_ns &&
           usual_ns * times * (double)(ranks - 1) >= 0.5 * cost_ns;
}

/* Whether the times that take far longer than usual explain what all `ranks` lose to the worst rank. */
static bool is_spiky(const struct ana_segment_stat *segment, size_t ranks)
{
    const double lost_ns = segment->spikes_ns * (double)(ranks - 1);
    return segment->spikes && lost_ns >= 0.5 * (double)segment->cost_by_rank_ns[segment->worst_index];
}

/* Whether a rank is late like the worst one: by its usual excess time, else by its cost. */
static bool is_alike(const struct ana_segment_stat *segment, size_t index, bool regular)
{
    double worst_ns = (double)segment->cost_by_rank_ns[segment->worst_index];
    if (index == segment->worst_index)
        return true;
    if (!segment->times_by_rank[index])
        return false;
    if (regular)
        return segment->by_rank_ns[index] - segment->median_ns >= LATE_ALIKE * (segment->worst_ns - segment->median_ns);
    return (double)segment->cost_by_rank_ns[index] >= LATE_ALIKE * worst_ns;
}

/* Lists the ranks that are late alike, and adds up their cost. */
static void list_late(const struct ana_job *job, const struct ana_segment_stat *segment, size_t count, bool regular,
                      struct ana_late *late)
{
    double squares = 0, least_ns = segment->worst_ns;
    *late = (struct ana_late){.worst = segment->worst_index, .one_host = true};
    const char *host = ana_job_rank(job, late->worst)->host;
    for (size_t i = 0; i < count; i++) {
        if (!is_alike(segment, i, regular))
            continue;
        if (late->ranks < ANA_LATE_RANKS)
            late->rank[late->ranks] = i;
        late->ranks++;
        late->one_host = late->one_host && strcmp(ana_job_rank(job, i)->host, host) == 0;
        least_ns = fmin(least_ns, segment->by_rank_ns[i]);
        late->lost_ns += (double)segment->cost_by_rank_ns[i];
        late->waits += (double)segment->waits_by_rank[i];
        squares += segment->squares_by_rank[i];
    }
    late->uneven = regular && segment->worst_ns - least_ns > 0.1 * (segment->worst_ns - segment->median_ns);
    late->times = squares > 0 ? late->lost_ns * late->lost_ns / squares : 0;
}

/* The most that any other rank costs in all its segments together. */
static double next_worst(const struct ana_summary *s, size_t count, bool regular)
{
    double next = 0;
    for (size_t r = 0; r < count; r++) {
        double cost = 0;
        for (size_t i = 0; i < s->segment_count; i++)
            cost += (double)s->segments[i].cost_by_rank_ns[r];
        if (!is_alike(&s->segments[0], r, regular))
            next = fmax(next, cost);
    }
    return next;
}

/* All that was charged, in ns. */
static double charged_ns(const struct ana_summary *s)
{
    double sum = (double)s->cost_inside_ns + (double)s->cost_unknown_ns;
    for (size_t i = 0; i < s->segment_count; i++)
        sum += (double)s->segments[i].cost_ns;
    return sum;
}

const struct ana_reason *ana_segment_reason(const struct ana_segment_stat *segment, size_t ranks)
{
    bool once = !is_regular(segment, ranks) && segment->longest_reason.kind;
    return once ? &segment->longest_reason : &segment->reason;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* The ranks that are late: "7, 71, ... every 64th, node003", or as ranges. */
static void write_ranks(const struct ana_job *job, const struct ana_late *late, char *out, size_t size)
{
    size_t named = late->ranks < ANA_LATE_RANKS ? late->ranks : ANA_LATE_RANKS;
    size_t step = named > 1 ? late->rank[1] - late->rank[0] : 0;
    bool even = named > 3 && step > 1;
    struct ana_ranges ranges;
    for (size_t i = 1; i < named; i++)
        even = even && late->rank[i] - late->rank[i - 1] == step;
    ana_ranges_begin(&ranges, out, size, ANA_RANGES_MOST, false);
    for (size_t i = 0; i < (even ? 2 : named); i++)
        ana_ranges_add(&ranges, ana_rank_id(ana_job_rank(job, late->rank[i])));
    ana_ranges_end(&ranges);
    size_t at = strlen(out);
    const char *th = step % 10 == 1 && step % 100 != 11   ? "st"
                     : step % 10 == 2 && step % 100 != 12 ? "nd"
                     : step % 10 == 3 && step % 100 != 13 ? "rd"
                                                          : "th";
    if (even)
        at += (size_t)snprintf(out + at, size - at, ", ... every %zu%s", step, th);
    if (late->one_host && ana_job_info(job).hosts > 1 && at < size)
        at += (size_t)snprintf(out + at, size - at, ", %s", ana_job_rank(job, late->worst)->host);
    if (late->uneven && at < size)
        snprintf(out + at, size - at, "; most of all %s", ana_rank_label(job, late->worst).text);
}

/* "between app.c:20 and app.c:30", "in solve, between ..". */
static void write_where(const struct ana_segment_stat *segment, char *out, size_t size)
{
    const char *region = segment->region, *in = region[0] ? "in " : "", *comma = region[0] ? ", " : "";
    if (segment->inside)
        snprintf(out, size, "in %s at %s", segment->to.call, segment->to.place);
    else if (strcmp(segment->from.place, segment->to.place) == 0)
        snprintf(out, size, "%s%s%sbetween calls at %s", in, region, comma, segment->to.place);
    else
        snprintf(out, size, "%s%s%sbetween %s and %s", in, region, comma, segment->from.place, segment->to.place);
}

/* The median of the ranks that are not late, of their medians; NAN: there are none. */
static double others_ns(const struct ana_segment_stat *segment, size_t count, bool regular)
{
    double *room = malloc((count + 1) * sizeof *room);
    size_t n = 0;
    for (size_t i = 0; room && i < count; i++)
        if (segment->times_by_rank[i] && !is_alike(segment, i, regular))
            room[n++] = segment->by_rank_ns[i];
    const double median = ana_median(room, n);
    free(room);
    return median;
}

/* Whether the reason says that most of the time was off the processor, so that it was no computing. */
static bool is_away(enum ana_reason_kind kind)
{
    return kind == ANA_REASON_QUEUED || kind == ANA_REASON_READS || kind == ANA_REASON_WRITES ||
           kind == ANA_REASON_BLOCKED;
}

/* Writes how long the late ones compute, and the others: "computes 4.5 ms between .., others 2.1 ms"; "spends", if it
 * is no computing. */
static void write_times(const struct ana_segment_stat *segment, size_t count, const struct ana_late *late, bool regular,
                        char *out, size_t size)
{
    char where[340];
    double others = others_ns(segment, count, regular);
    write_where(segment, where, sizeof where);
    if (!regular && segment->spikes) {
        double each = segment->spikes_ns / (double)segment->spikes, longest = (double)segment->longest_ns;
        if (each >= 0.85 * longest && segment->longest_index == segment->worst_index)
            each = longest; /* all are in the bucket of the longest */
        snprintf(out, size, "%" PRIu64 " x %s %s, else %s", segment->spikes, ana_time(each).text, where,
                 ana_time(segment->worst_ns).text);
        return;
    }
    const struct ana_figure takes = ana_time(segment->worst_ns);
    if (segment->long_times) {
        size_t at = strlen(where);
        snprintf(where + at, sizeof where - at, " (%" PRIu64 " of %" PRIu64 " times)", segment->long_times,
                 segment->times);
    }
    const bool away = segment->inside || is_away(late->reason.kind), partly = segment->on_processor < ON_PROCESSOR;
    const char *verb = late->ranks == 1                  ? (away || partly ? "spends" : "computes")
                       : segment->inside || late->uneven ? (away || partly ? "spend up to" : "compute up to")
                       : away || partly                  ? "spend"
                                                         : "compute";
    char on[ANA_TEXT + 32] = "";
    if (partly && !away)
        snprintf(on, sizeof on, " (%s on a processor)", ana_time(segment->on_processor * segment->worst_ns).text);
    if (isnan(others))
        snprintf(out, size, "%s %s%s %s, where no other does", verb, takes.text, on, where);
    else
        snprintf(out, size, "%s %s%s %s, others %s", verb, takes.text, on, where, ana_time(others).text);
}

const struct ana_price *ana_late_price(const struct ana_summary *s, const struct ana_segment_stat *segment,
                                       const struct ana_late *late)
{
    const struct ana_price *price = ana_price_of(s, segment, late->rank[0]);
    const size_t named = late->ranks < ANA_LATE_RANKS ? late->ranks : ANA_LATE_RANKS;
    bool same =
        price && price->ranks == late->ranks && memcmp(price->rank, late->rank, named * sizeof *late->rank) == 0;
    return same || (price && price->kind != ANA_PRICE_SEGMENT) ? price : NULL;
}

bool ana_saves_little(const struct ana_summary *s, const struct ana_price *price)
{
    return price && s->analysed >= 1 && (double)price->saves_ns < NOTABLE_SHARE * (double)s->path_ns;
}

bool ana_late_segment(const struct ana_job *job, const struct ana_summary *s, struct ana_late *late, char *text,
                      size_t size)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_segment_stat *segment = s->segment_count ? &s->segments[0] : NULL;
    if (!segment || !segment->from.call || segment->cost_ns <= 0 || s->selection.ranks)
        return false;
    bool regular = is_regular(segment, members->count);
    list_late(job, segment, members->count, regular, late);
    late->next_ns = next_worst(s, members->count, regular);
    const double followed_ns = charged_ns(s); /* the latest waits have not been followed yet */
    double waiting_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        waiting_ns += (double)s->ranks[i].waiting_ns;
    if (s->analysed < 1 && followed_ns < FOLLOWED * waiting_ns)
        return false;
    double part = late->lost_ns / followed_ns;
    late->share = part * ana_lost_share(s);
    bool sole = part >= LATE_SOLE && late->share >= NOTABLE_SHARE;
    bool few = late->ranks * 2 <= segment->ranks || segment->ranks == 1;
    if (!sole || !few || (!regular && !is_spiky(segment, members->count)))
        return false;
    late->price = ana_late_price(s, segment, late);
    if (ana_saves_little(s, late->price))
        return false;
    char who[160], times[480], cost[120], why[160];
    late->reason = *ana_segment_reason(segment, members->count);
    write_times(segment, members->count, late, regular, times, sizeof times);
    write_ranks(job, late, who, sizeof who);
    ana_write_cost(job, s, late->price, late->share, cost, sizeof cost);
    ana_reason_words(&late->reason, why, sizeof why);
    const char *between = why[0] ? "; " : "";
    if (late->ranks > 1)
        snprintf(text, size, "%zu ranks are late (%s): %s; %s%s%s", late->ranks, who, times, cost, between, why);
    else
        snprintf(text, size, "rank %s is late: %s; %s%s%s", ana_rank_label(job, late->rank[0]).text, times, cost,
                 between, why);
    return true;
}
