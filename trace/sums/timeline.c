#include "trace/sums/timeline.h"
#include "trace/util/archive.h"
#include "trace/util/pages.h"
#include "trace/util/times.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_LANE 256u /* buckets; a lane of no more is added up one by one */
#define ROWS       16u  /* rows of a short lane, to begin with */

/* A bucket as the numbers of a row. */
union words {
    struct ana_bucket bucket;
    uint64_t word[ANA_COLUMNS];
};
_Static_assert(sizeof(union words) == sizeof(struct ana_bucket), "a column for each number of a bucket");
#define WORD(member) ((int)(offsetof(struct ana_bucket, member) / sizeof(uint64_t)))

void ana_lane_init(struct ana_lane *lane, int64_t origin_ns, int64_t width_ns, size_t max)
{
    *lane = (struct ana_lane){.origin_ns = origin_ns, .width_ns = width_ns, .end_ns = origin_ns, .max = max};
}

static bool is_signed(int word)
{
    return word <= WORD(waiting_ns);
}

/* The sum of a number of two buckets. */
static uint64_t sum_of(int word, uint64_t a, uint64_t b)
{
    return is_signed(word) ? (uint64_t)ana_plus((int64_t)a, (int64_t)b) : a + b;
}

/* Puts the sum of buckets a and b into `to`, which may be a. */
static void merge_into(struct ana_bucket *to, const struct ana_bucket *a, const struct ana_bucket *b)
{
    const union words *x = (const union words *)a, *y = (const union words *)b;
    union words sum;
    uint64_t all = 0;
    for (int w = 0; w < ANA_COLUMNS; w++) {
        sum.word[w] = x->word[w] + y->word[w];
        all |= x->word[w] | y->word[w];
    }
    for (int w = 0; __builtin_expect(all >> 62, 0) && w < ANA_COLUMNS; w++) /* one may not fit */
        sum.word[w] = sum_of(w, x->word[w], y->word[w]);
    *to = sum.bucket;
}

static bool is_short(const struct ana_lane *lane)
{
    return lane->max <= SHORT_LANE;
}

/* Returns the number of buckets in the levels below one. */
static size_t buckets_below(const struct ana_lane *lane, int level)
{
    size_t n = 0;
    for (int l = 0; l < level; l++)
        n += (lane->max >> l) + 1;
    return n;
}

/* Makes room for all buckets there will ever be of a long lane: unused ones cost address space only. */
static bool make_room(struct ana_lane *lane)
{
    if (lane->level || lane->slim)
        return true;
    if (is_short(lane)) {
        lane->slim = calloc(1, sizeof *lane->slim);
        return lane->slim;
    }
    struct ana_bucket *all = ana_pages_make(buckets_below(lane, ANA_LANE_LEVELS) * sizeof *all, false);
    lane->level = all ? malloc(ANA_LANE_LEVELS * sizeof *lane->level) : NULL;
    if (!lane->level)
        ana_pages_drop(all, buckets_below(lane, ANA_LANE_LEVELS) * sizeof *all);
    for (int l = 0; lane->level && l < ANA_LANE_LEVELS; l++)
        lane->level[l] = all + buckets_below(lane, l);
    return lane->level;
}

void ana_lane_free(struct ana_lane *lane)
{
    if (lane->level)
        ana_pages_drop(lane->level[0], buckets_below(lane, ANA_LANE_LEVELS) * sizeof *lane->level[0]);
    free(lane->level);
    if (lane->slim)
        ana_columns_free(&lane->slim->away);
    free(lane->slim);
    *lane = (struct ana_lane){0};
}

/* ---- short lanes ------------------------------------------------------------------------------------------------ */

/* Adds the numbers at hand to their bucket.  False: out of memory, some are still at hand. */
static bool put_away(struct ana_slim_lane *slim)
{
    union words now = {slim->now};
    bool done = true;
    for (int w = 0; w < ANA_COLUMNS; w++)
        if (now.word[w] && ana_columns_plus(&slim->away, w, slim->at, now.word[w]))
            now.word[w] = 0;
        else
            done &= !now.word[w];
    slim->now = now.bucket;
    return done;
}

/* Makes room for bucket i, and one behind it.  False: out of memory. */
static bool reach_row(struct ana_lane *lane, size_t i)
{
    struct ana_columns *away = &lane->slim->away;
    size_t more = away->rows + (away->rows / 8 > ROWS ? away->rows / 8 : ROWS), most = lane->max + 1;
    if (i + 1 < away->rows)
        return true;
    uint64_t reach_ns = lane->end_ns > lane->origin_ns ? (uint64_t)lane->end_ns - (uint64_t)lane->origin_ns : 0;
    size_t last = (size_t)(reach_ns / (uint64_t)lane->width_ns);
    if (last >= i)
        more = last + 2;
    more = more > i + 2 ? more : i + 2;
    return ana_columns_resize(away, (uint32_t)(more < most ? more : most));
}

/* ---- buckets ---------------------------------------------------------------------------------------------------- */

static bool halve_resolution(struct ana_lane *lane)
{
    bool done = true;
    lane->used += lane->used % 2; /* unused ones are zero */
    if (lane->slim) {
        done = put_away(lane->slim);
        done &= ana_columns_halve(&lane->slim->away, lane->used);
        done &= ana_columns_resize(&lane->slim->away, (uint32_t)(lane->used / 2) + ROWS);
        lane->slim->at /= 2;
    } else if (lane->used) {
        struct ana_bucket *b = lane->level[0];
        for (size_t i = 0; i < lane->used / 2; i++)
            merge_into(&b[i], &b[2 * i], &b[2 * i + 1]);
        memset(b + lane->used / 2, 0, (lane->used - lane->used / 2) * sizeof *b);
    }
    lane->used /= 2;
    lane->width_ns *= 2;
    lane->clean = 0;
    lane->hot_begin_ns = lane->hot_end_ns = 0;
    return done;
}

/* Makes the bucket that `at_ns` lies in usable and returns its number; SIZE_MAX: out of memory. */
static size_t reach_bucket(struct ana_lane *lane, int64_t at_ns)
{
    int64_t offset = at_ns - lane->origin_ns;
    bool done = true;
    size_t i = offset < 0 ? 0 : (size_t)(offset / lane->width_ns);
    for (; i >= lane->max; i /= 2)
        done &= halve_resolution(lane);
    if (!done || !make_room(lane) || (lane->slim && !reach_row(lane, i)))
        return SIZE_MAX;
    if (i >= lane->used)
        lane->used = i + 1;
    return i;
}

static int64_t bucket_begin(const struct ana_lane *lane, size_t i)
{
    return lane->origin_ns + (int64_t)i * lane->width_ns;
}

/* Makes this bucket available.  False: out of memory. */
static bool make_hot(struct ana_lane *lane, size_t i)
{
    struct ana_slim_lane *slim = lane->slim;
    lane->hot_begin_ns = lane->hot_end_ns = 0;
    if (slim && slim->at != i) {
        if (!put_away(slim))
            return false;
        slim->at = i;
    }
    lane->hot = slim ? &slim->now : &lane->level[0][i];
    lane->hot_begin_ns = bucket_begin(lane, i);
    lane->hot_end_ns = lane->hot_begin_ns + lane->width_ns;
    return true;
}

/* Makes all buckets of [begin, end) usable, the last one first: then the width no longer changes. */
static bool reach_span(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns, size_t *first, size_t *last)
{
    if (begin_ns >= lane->hot_begin_ns && end_ns < lane->hot_end_ns) {
        *first = *last = lane->slim ? lane->slim->at : (size_t)(lane->hot - lane->level[0]);
        return true;
    }
    *last = reach_bucket(lane, end_ns > begin_ns ? end_ns - 1 : begin_ns);
    if (*last == SIZE_MAX) {
        lane->hot_begin_ns = lane->hot_end_ns = 0;
        return false;
    }
    *first = reach_bucket(lane, begin_ns);
    if (*first < lane->clean)
        lane->clean = *first;
    /* Late additions do not move the hot bucket: most of the next ones are no older than the ones before. */
    bool is_late = lane->hot_begin_ns < lane->hot_end_ns && bucket_begin(lane, *last) < lane->hot_begin_ns;
    return is_late || make_hot(lane, *last);
}

struct ana_bucket *ana_lane_reach(struct ana_lane *lane, int64_t at_ns)
{
    size_t first, last;
    return reach_span(lane, at_ns, at_ns, &first, &last) ? ana_lane_hot(lane, at_ns, at_ns) : NULL;
}

/* Adds to a number of a bucket.  False: out of memory. */
static bool add_to(struct ana_lane *lane, size_t i, int word, uint64_t value)
{
    struct ana_slim_lane *slim = lane->slim;
    if (slim && slim->at != i)
        return ana_columns_plus(&slim->away, word, i, value);
    uint64_t *at = (uint64_t *)(slim ? &slim->now : &lane->level[0][i]) + word;
    *at = sum_of(word, *at, value);
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
    bool done = true;
    for (size_t i = first; i < last; i++) {
        int64_t passed = bucket_begin(lane, i + 1) - begin_ns;
        int64_t due = busy_ns == span ? passed : (int64_t)fmin((double)busy_ns * (double)passed / (double)span, 9e18);
        done &= add_to(lane, i, (int)category, (uint64_t)(due - given));
        given = due;
    }
    return add_to(lane, last, (int)category, (uint64_t)(busy_ns - given)) && done;
}

bool ana_lane_wait(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns)
{
    size_t first, last;
    if (!reach_span(lane, begin_ns, end_ns, &first, &last))
        return false;
    bool done = true;
    for (size_t i = first; i <= last; i++) {
        int64_t from = i == first ? begin_ns : bucket_begin(lane, i);
        int64_t to = i == last ? end_ns : bucket_begin(lane, i + 1);
        done &= add_to(lane, i, WORD(waiting_ns), (uint64_t)(to - from));
    }
    return done;
}

bool ana_lane_count(struct ana_lane *lane, int64_t at_ns, uint64_t calls, uint64_t sent, uint64_t received)
{
    size_t first, last;
    if (!reach_span(lane, at_ns, at_ns, &first, &last))
        return false;
    bool done = add_to(lane, first, WORD(calls), calls);
    done &= add_to(lane, first, WORD(sent), sent);
    return add_to(lane, first, WORD(received), received) && done;
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

/* Brings the upper levels up to date. */
static void sum_up(struct ana_lane *lane)
{
    if (lane->clean >= lane->used)
        return;
    for (int l = 1; l < ANA_LANE_LEVELS && lane->max >> l; l++) {
        size_t below = (lane->used + ((size_t)1 << (l - 1)) - 1) >> (l - 1);
        static const struct ana_bucket none;
        for (size_t i = lane->clean >> l; 2 * i < below; i++)
            merge_into(&lane->level[l][i], &lane->level[l - 1][2 * i],
                       2 * i + 1 < below ? &lane->level[l - 1][2 * i + 1] : &none);
    }
    lane->clean = lane->used;
    lane->hot_begin_ns = lane->hot_end_ns = 0; /* additions come by reach_span, which makes it unclean again */
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

/* Adds up the first `columns` columns of a short lane, one after the other: each lies in a few lines of a cache. */
static void add_columns(struct ana_lane *lane, const struct ana_columns_span *span, size_t n, int columns,
                        struct ana_lane_sum *sum)
{
    static const size_t of_other[4] = {offsetof(struct ana_lane_sum, waiting_ns), offsetof(struct ana_lane_sum, sent),
                                       offsetof(struct ana_lane_sum, received), offsetof(struct ana_lane_sum, calls)};
    struct ana_slim_lane *slim = lane->slim;
    bool away = put_away(slim);
    for (size_t i = 0; !away && i < n; i++) { /* numbers still at hand */
        double share = slim->at >= span[i].row && slim->at < span[i].end;
        for (int k = 0; k < 2; k++)
            share += span[i].part[k] == slim->at ? span[i].share[k] : 0;
        add_bucket(&sum[i], &slim->now, share);
    }
    for (int c = 0; c < columns; c++) {
        size_t at = c < TRC_CATEGORIES ? (size_t)c * sizeof(double) : of_other[c - TRC_CATEGORIES];
        ana_columns_sum(&slim->away, c, span, n, (double *)((char *)sum + at), sizeof *sum / sizeof(double));
    }
}

/* Adds up a long lane, whole buckets by the largest aligned ones. */
static void add_levels(struct ana_lane *lane, const struct ana_columns_span *span, struct ana_lane_sum *sum)
{
    sum_up(lane);
    for (int i = 0; i < 2; i++)
        if (span->share[i] != 0)
            add_bucket(sum, &lane->level[0][span->part[i]], span->share[i]);
    for (size_t at = span->row; at < span->end;) {
        int l = 0;
        while (l + 1 < ANA_LANE_LEVELS && at % ((size_t)2 << l) == 0 && at + ((size_t)2 << l) <= span->end)
            l++;
        add_bucket(sum, &lane->level[l][at >> l], 1);
        at += (size_t)1 << l;
    }
}

/* The buckets of [begin_ns, end_ns). */
static struct ana_columns_span span_of(const struct ana_lane *lane, int64_t begin_ns, int64_t end_ns)
{
    struct ana_columns_span span = {0};
    int64_t limit = bucket_begin(lane, lane->used);
    if (begin_ns < lane->origin_ns)
        begin_ns = lane->origin_ns;
    if (end_ns > limit)
        end_ns = limit;
    if (end_ns <= begin_ns)
        return span;
    double width = (double)lane->width_ns;
    int64_t from = begin_ns - lane->origin_ns, to = end_ns - lane->origin_ns;
    int64_t of_first = from % lane->width_ns, of_last = to % lane->width_ns;
    span.row = span.part[0] = (size_t)(from / lane->width_ns);
    span.end = span.part[1] = (size_t)(to / lane->width_ns);
    if (span.row == span.end) {
        span.share[0] = (double)(to - from) / width;
    } else {
        span.share[0] = of_first ? 1 - (double)of_first / width : 0;
        span.share[1] = of_last ? (double)of_last / width : 0;
        span.row += of_first != 0;
    }
    return span;
}

void ana_lane_add(struct ana_lane *lane, const int64_t *edge, size_t n, int64_t full_ns, bool times_alone,
                  struct ana_lane_sum *sum)
{
    struct ana_columns_span span[64];
    for (size_t first = 0, now; first < n && lane->used; first += now) {
        now = n - first < 64 ? n - first : 64;
        for (size_t i = 0; i < now; i++) {
            int64_t begin_ns = edge[first + i], end_ns = edge[first + i + 1];
            bool last = begin_ns < full_ns && end_ns >= full_ns;
            span[i] = span_of(lane, begin_ns, last ? end_ns + lane->width_ns : end_ns);
        }
        if (lane->slim)
            add_columns(lane, span, now, times_alone ? WORD(sent) : ANA_COLUMNS, sum + first);
        for (size_t i = 0; !lane->slim && i < now; i++)
            add_levels(lane, &span[i], &sum[first + i]);
    }
}

void ana_lane_archive(struct ana_archive *archive, struct ana_lane *lane)
{
    uint64_t used = lane->used;
    ANA_ARCHIVE(archive, lane->origin_ns);
    ANA_ARCHIVE(archive, lane->width_ns);
    ANA_ARCHIVE(archive, used);
    bool sane = lane->width_ns > 0 && lane->width_ns <= (INT64_MAX >> 2) / (int64_t)lane->max && used <= lane->max;
    if (!ana_archive_require(archive, sane && llabs(lane->origin_ns) <= INT64_MAX >> 2) || !used)
        return;
    if (archive->loads && !make_room(lane)) {
        archive->failed = true;
        return;
    }
    if (archive->loads && lane->slim && !ana_columns_resize(&lane->slim->away, (uint32_t)used + 1)) {
        archive->failed = true;
        return;
    }
    lane->used = (size_t)used;
    if (!lane->slim) {
        ana_archive_rows(archive, lane->level[0], lane->used, sizeof *lane->level[0], NULL);
        return;
    }
    if (!archive->loads)
        archive->failed |= !put_away(lane->slim);
    ana_columns_archive(archive, &lane->slim->away, lane->used);
}
