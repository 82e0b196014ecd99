#include "trace/job/timeline.h"
#include "trace/util/keep.h"
#include "trace/util/times.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_LANE 256u /* buckets */

void ana_lane_init(struct ana_lane *lane, int64_t origin_ns, int64_t width_ns, size_t max)
{
    *lane = (struct ana_lane){.origin_ns = origin_ns, .width_ns = width_ns, .max = max};
}

void ana_lane_free(struct ana_lane *lane)
{
    for (int l = 0; l < ANA_LANE_LEVELS; l++)
        free(lane->level[l]);
    *lane = (struct ana_lane){0};
}

static void merge_into(struct ana_bucket *to, const struct ana_bucket *a, const struct ana_bucket *b)
{
    struct ana_bucket sum = *a;
    for (int c = 0; c < TRC_CATEGORIES; c++)
        sum.ns[c] = ana_plus(sum.ns[c], b->ns[c]);
    sum.waiting_ns = ana_plus(sum.waiting_ns, b->waiting_ns);
    sum.sent += b->sent;
    sum.received += b->received;
    sum.calls += b->calls;
    *to = sum;
}

/* How many levels a lane has: a short one, as where there are thousands of ranks, is added up bucket by bucket. */
static int count_levels(const struct ana_lane *lane)
{
    return lane->max > SHORT_LANE ? ANA_LANE_LEVELS : 1;
}

/* Makes room for all buckets there will ever be: unused ones cost address space only. */
static bool make_room(struct ana_lane *lane)
{
    for (int l = count_levels(lane); l-- > 0;)
        if (!lane->level[l] && !(lane->level[l] = calloc((lane->max >> l) + 1, sizeof *lane->level[l])))
            return false;
    return true;
}

static void halve_resolution(struct ana_lane *lane)
{
    struct ana_bucket *b = lane->level[0];
    if (lane->used % 2)
        memset(&b[lane->used++], 0, sizeof *b);
    for (size_t i = 0; i < lane->used / 2; i++)
        merge_into(&b[i], &b[2 * i], &b[2 * i + 1]);
    if (lane->used)
        memset(b + lane->used / 2, 0, (lane->used - lane->used / 2) * sizeof *b);
    lane->used /= 2;
    lane->width_ns *= 2;
    lane->clean = 0;
}

/* Makes the bucket that `at_ns` lies in usable and returns its number; SIZE_MAX: out of memory. */
static size_t reach_bucket(struct ana_lane *lane, int64_t at_ns)
{
    int64_t offset = at_ns - lane->origin_ns;
    if (offset < 0)
        offset = 0;
    while (offset / lane->width_ns >= (int64_t)lane->max)
        halve_resolution(lane);
    size_t i = (size_t)(offset / lane->width_ns);
    if (!lane->level[0] && !make_room(lane))
        return SIZE_MAX;
    if (i >= lane->used)
        lane->used = i + 1;
    return i;
}

static int64_t bucket_begin(const struct ana_lane *lane, size_t i)
{
    return lane->origin_ns + (int64_t)i * lane->width_ns;
}

/* Makes all buckets of [begin, end) usable, the last one first: then the width no longer changes. */
static bool reach_span(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns, size_t *first, size_t *last)
{
    if (begin_ns >= lane->hot_begin_ns && end_ns < lane->hot_end_ns) {
        *first = *last = (size_t)(lane->hot - lane->level[0]);
        return true;
    }
    *last = reach_bucket(lane, end_ns > begin_ns ? end_ns - 1 : begin_ns);
    if (*last == SIZE_MAX) {
        lane->hot_begin_ns = lane->hot_end_ns = 0;
        return false;
    }
    *first = reach_bucket(lane, begin_ns);
    lane->hot = &lane->level[0][*last];
    lane->hot_begin_ns = bucket_begin(lane, *last);
    lane->hot_end_ns = lane->hot_begin_ns + lane->width_ns;
    if (*first < lane->clean)
        lane->clean = *first;
    return true;
}

bool ana_lane_spend(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns, int64_t busy_ns,
                    enum trc_category category)
{
    size_t first, last;
    if (!reach_span(lane, begin_ns, end_ns, &first, &last))
        return false;
    /* Shares by the running sum, so that they add up to busy_ns. */
    int64_t span = end_ns - begin_ns, given = 0;
    for (size_t i = first; i < last; i++) {
        int64_t passed = bucket_begin(lane, i + 1) - begin_ns;
        int64_t due = busy_ns == span ? passed : (int64_t)fmin((double)busy_ns * (double)passed / (double)span, 9e18);
        lane->level[0][i].ns[category] = ana_plus(lane->level[0][i].ns[category], due - given);
        given = due;
    }
    lane->level[0][last].ns[category] = ana_plus(lane->level[0][last].ns[category], busy_ns - given);
    return true;
}

bool ana_lane_wait(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns)
{
    size_t first, last;
    if (!reach_span(lane, begin_ns, end_ns, &first, &last))
        return false;
    for (size_t i = first; i <= last; i++) {
        int64_t from = i == first ? begin_ns : bucket_begin(lane, i);
        int64_t to = i == last ? end_ns : bucket_begin(lane, i + 1);
        lane->level[0][i].waiting_ns = ana_plus(lane->level[0][i].waiting_ns, to - from);
    }
    return true;
}

bool ana_lane_count(struct ana_lane *lane, int64_t at_ns, uint64_t calls, uint64_t sent, uint64_t received)
{
    size_t first, last;
    if (!reach_span(lane, at_ns, at_ns, &first, &last))
        return false;
    struct ana_bucket *b = &lane->level[0][first];
    b->calls += calls;
    b->sent += sent;
    b->received += received;
    return true;
}

/* Brings the upper levels up to date. */
static void sum_up(struct ana_lane *lane)
{
    if (lane->clean >= lane->used)
        return;
    for (int l = 1; l < count_levels(lane) && lane->max >> l; l++) {
        size_t below = (lane->used + ((size_t)1 << (l - 1)) - 1) >> (l - 1);
        static const struct ana_bucket none;
        for (size_t i = lane->clean >> l; 2 * i < below; i++)
            merge_into(&lane->level[l][i], &lane->level[l - 1][2 * i],
                       2 * i + 1 < below ? &lane->level[l - 1][2 * i + 1] : &none);
    }
    lane->clean = lane->used;
    lane->hot_begin_ns = lane->hot_end_ns = 0; /* who adds to it comes by reach_span, which makes it unclean again */
}

static void add_bucket(struct ana_lane_sum *sum, const struct ana_bucket *b, double share)
{
    for (int c = 0; c < TRC_CATEGORIES; c++)
        sum->ns[c] += share * (double)b->ns[c];
    sum->waiting_ns += share * (double)b->waiting_ns;
    sum->sent += share * (double)b->sent;
    sum->received += share * (double)b->received;
    sum->calls += share * (double)b->calls;
}

void ana_lane_add(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns, struct ana_lane_sum *sum)
{
    if (lane->used == 0 || end_ns <= begin_ns)
        return;
    int64_t limit = bucket_begin(lane, lane->used);
    if (begin_ns < lane->origin_ns)
        begin_ns = lane->origin_ns;
    if (end_ns > limit)
        end_ns = limit;
    if (end_ns <= begin_ns)
        return;
    sum_up(lane);
    double width = (double)lane->width_ns;
    int64_t from = begin_ns - lane->origin_ns, to = end_ns - lane->origin_ns;
    size_t first = (size_t)(from / lane->width_ns), last = (size_t)(to / lane->width_ns);
    if (first == last) {
        add_bucket(sum, &lane->level[0][first], (double)(to - from) / width);
        return;
    }
    if (from % lane->width_ns) {
        add_bucket(sum, &lane->level[0][first], 1 - (double)(from % lane->width_ns) / width);
        first++;
    }
    if (to % lane->width_ns)
        add_bucket(sum, &lane->level[0][last], (double)(to % lane->width_ns) / width);
    /* [first, last) by the largest aligned buckets. */
    while (first < last) {
        int l = 0;
        while (l + 1 < count_levels(lane) && first % ((size_t)2 << l) == 0 && first + ((size_t)2 << l) <= last)
            l++;
        add_bucket(sum, &lane->level[l][first >> l], 1);
        first += (size_t)1 << l;
    }
}

void ana_lane_keep(struct ana_keep *keep, struct ana_lane *lane)
{
    uint64_t used = lane->used;
    int64_t finest_ns = lane->width_ns;
    ANA_KEEP(keep, lane->origin_ns);
    ANA_KEEP(keep, lane->width_ns);
    ANA_KEEP(keep, used);
    bool sane =
        lane->width_ns >= finest_ns && lane->width_ns <= (INT64_MAX >> 2) / (int64_t)lane->max && used <= lane->max;
    if (!ana_keep_holds(keep, sane && llabs(lane->origin_ns) <= INT64_MAX >> 2) || !used)
        return;
    if (keep->loads && !make_room(lane)) {
        keep->failed = true;
        return;
    }
    lane->used = (size_t)used;
    ana_keep_rows(keep, lane->level[0], lane->used, sizeof *lane->level[0], NULL);
}
