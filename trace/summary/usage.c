/* Summaries of what the kernel counted: why the worst rank of a segment takes longer; the networks of the hosts. */
#include "trace/summary/summary_impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USUAL 0.15 /* share of the median: ranks that differ by less are usual */

/* Segments of some ranks, added up. */
struct sum {
    double total_ns, times;
    struct ana_usage_sums sums, pure;
};

/* A row's worst rank, the usual ones, the worst rank's longest time, and its others. */
struct sides {
    struct sum own, usual, longest, others;
};

static void add_sums(struct ana_usage_sums *to, const struct ana_usage_sums *from)
{
    to->covered_ns += from->covered_ns;
    to->outside_ns += from->outside_ns;
    for (size_t i = 0; i < ANA_USAGE_NUMBERS; i++)
        to->value[i] += from->value[i];
}

static void add_all(struct sum *to, const struct ana_segment *segment)
{
    to->total_ns += (double)segment->total_ns;
    to->times += (double)segment->count;
    if (!segment->usage)
        return;
    add_sums(&to->sums, &segment->usage->all);
    add_sums(&to->pure, &segment->usage->pure);
}

/* Returns the sums over all times of a segment but one: `once` is taken out of the counters. */
static struct sum without(const struct ana_segment *segment, double ns, const struct ana_usage_sums *once)
{
    struct sum sum = {.total_ns = (double)segment->total_ns - ns, .times = (double)segment->count - 1};
    sum.sums = segment->usage->all;
    sum.sums.covered_ns -= once->covered_ns;
    sum.sums.outside_ns -= once->outside_ns;
    for (size_t i = 0; i < ANA_USAGE_NUMBERS; i++)
        sum.sums.value[i] -= once->value[i];
    return sum;
}

/* Parts a segment's longest time and its others. */
static void part_longest(const struct ana_segment *segment, struct sides *to)
{
    double ns = (double)segment->usage->longest_ns;
    to->longest = (struct sum){.total_ns = ns, .times = 1, .sums = segment->usage->longest};
    to->others = without(segment, ns, &segment->usage->longest);
}

static void add_segment(const struct ana_segment_stat *row, const struct ana_segment *segment, struct sides *to)
{
    const struct ana_segment_usage *usage = segment->usage;
    double differs_ns = fabs(row->by_rank_ns[segment->index] - row->median_ns);
    if (segment->index == row->worst_index)
        add_all(&to->own, segment);
    else if (differs_ns <= USUAL * row->median_ns)
        add_all(&to->usual, segment);
    bool whole = usage && segment->longest_ns == usage->longest_ns; /* counted one is the longest */
    if (segment->index == row->worst_index && whole && (double)usage->longest_ns > to->longest.total_ns)
        part_longest(segment, to);
}

static struct ana_reason_side side_of(const struct sum *sum)
{
    double each_ns = sum->times > 0 ? sum->total_ns / sum->times : NAN;
    return (struct ana_reason_side){each_ns, sum->total_ns, &sum->sums, &sum->pure};
}

static struct ana_reason compare(const struct sum *own, const struct sum *usual)
{
    return ana_reason_of(side_of(own), side_of(usual));
}

struct ana_reason ana_reason_once(const struct ana_why *why, size_t index, int64_t end_ns, uint32_t number)
{
    const struct ana_usage_once *once = ana_why_once(why, index, end_ns);
    const struct ana_segment *segment = ana_segment_at(why, number);
    if (!once || once->segment != number || !segment->usage)
        return (struct ana_reason){0};
    struct sum own = {.total_ns = (double)once->ns, .times = 1, .sums = once->sums};
    struct sum others = without(segment, (double)once->ns, &once->sums);
    return compare(&own, &others);
}

bool ana_summary_usage(struct ana_summary *s, const struct ana_why *why, const uint32_t *row_of)
{
    struct sides *sides = calloc(s->segment_count + 1, sizeof *sides);
    bool ok = sides;
    for (size_t i = 0; sides && i < why->segments.count; i++)
        if (row_of[i] < s->segment_count && s->segments[row_of[i]].from.call)
            add_segment(&s->segments[row_of[i]], ana_segment_at(why, (uint32_t)i + 1), &sides[row_of[i]]);
    for (size_t i = 0; sides && i < s->segment_count; i++) {
        s->segments[i].reason = compare(&sides[i].own, &sides[i].usual);
        s->segments[i].on_processor = ana_on_processor(side_of(&sides[i].own));
        s->segments[i].longest_reason = compare(&sides[i].longest, &sides[i].others);
    }
    free(sides);
    return ok;
}

static uint64_t larger(uint64_t a, double b)
{
    return b >= 0x1p63 ? UINT64_C(1) << 63 : b > (double)a ? (uint64_t)b : a; /* files may say anything */
}

bool ana_summary_networks(const struct ana_job *job, struct ana_summary *s, const struct ana_why *why)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_network *all = s->networks = calloc(members->hosts + 1, sizeof *s->networks);
    for (size_t i = 0; all && i < members->count; i++) {
        const double *value = ana_why_node_usage(why, i);
        struct ana_network *network = &all[members->process[i].rank.host_index];
        if (!value)
            continue;
        network->host = members->process[i].rank.host;
        network->retransmits = larger(network->retransmits, value[TRC_USAGE_RETRANSMITS]);
        network->sent = larger(network->sent, value[TRC_USAGE_LINK_SENT]);
        network->received = larger(network->received, value[TRC_USAGE_LINK_RECEIVED]);
        network->errors = larger(network->errors, value[TRC_USAGE_LINK_ERRORS]);
        network->waits = larger(network->waits, value[TRC_USAGE_LINK_WAITS]);
    }
    for (size_t h = 0; all && h < members->hosts; h++)
        if (all[h].host)
            all[s->network_count++] = all[h];
    return s->networks;
}
