/* Time of one rank by activity, pre-reduced: a pyramid of buckets, each level twice as wide as the one below.
 *
 *   level 2   |       |
 *   level 1   |   |   |     sums of pairs, made up when they are asked for
 *   level 0   | | | | |     filled by events; when all are in use, pairs are merged and the width doubles
 *
 * So memory is bounded: adding an event costs the buckets that it touches, and a sum over a time range costs the
 * logarithm of its length, or of a short lane its length.  Pure: knows nothing of files. */
#pragma once

#include "trace/format/opclass.h"
#include "trace/sums/columns.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_archive;

#define ANA_LANE_LEVELS 16

struct ana_bucket {
    int64_t ns[TRC_CATEGORIES]; /* TRC_CAT_COMPUTE stays 0: it is what remains */
    int64_t waiting_ns;
    uint64_t sent, received, calls;
};

/* A sum of buckets, the outer ones in part. */
struct ana_lane_sum {
    double ns[TRC_CATEGORIES];
    double waiting_ns, sent, received, calls;
};

/* The buckets of a short lane, in columns.  Additions to the last used one are at hand until another is used. */
struct ana_slim_lane {
    struct ana_bucket now; /* sums to be added */
    size_t at;             /* number of the bucket that they belong to */
    struct ana_columns away;
};

struct ana_lane {
    int64_t origin_ns, width_ns;      /* of level 0 */
    int64_t end_ns;                   /* ana_lane_reaches */
    size_t max, used;                 /* buckets of level 0: most, and so far */
    size_t clean;                     /* levels above are right over the first `clean` buckets */
    struct ana_bucket **level;        /* long lane: ANA_LANE_LEVELS */
    struct ana_slim_lane *slim;       /* short lane, used if there are thousands of ranks */
    struct ana_bucket *hot;           /* the bucket that was used last, and its time: most events fall into it too */
    int64_t hot_begin_ns, hot_end_ns; /* equal: there is none */
};

/* Makes an empty lane of `max` buckets (a power of two), each `width_ns` wide at first, from `origin_ns` on.  Earlier
 * times count as origin_ns. */
void ana_lane_init(struct ana_lane *lane, int64_t origin_ns, int64_t width_ns, size_t max);
/* Sets the lane's end, as far as known: a short lane makes room for all of it at once. */
static inline void ana_lane_reaches(struct ana_lane *lane, int64_t end_ns)
{
    lane->end_ns = end_ns;
}
/* Frees its buckets; the struct is the caller's. */
void ana_lane_free(struct ana_lane *lane);

/* Adds that `busy_ns` (at most end - begin) of [begin_ns, end_ns) were spent on `category`.  False: out of memory, not
 * all was added. */
bool ana_lane_spend(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns, int64_t busy_ns,
                    enum trc_category category);
/* Adds that [begin_ns, end_ns) was lost waiting.  False: out of memory, not all was added. */
bool ana_lane_wait(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns);
/* Adds calls that ended, and bytes that were handed over, at `at_ns`.  False: out of memory, not all was added. */
bool ana_lane_count(struct ana_lane *lane, int64_t at_ns, uint64_t calls, uint64_t sent, uint64_t received);

/* The bucket last used, to be added to, if all of [begin_ns, end_ns] lies in it; else NULL. */
static inline struct ana_bucket *ana_lane_hot(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns)
{
    return begin_ns >= lane->hot_begin_ns && end_ns < lane->hot_end_ns ? lane->hot : NULL;
}

/* Makes the bucket that `at_ns` lies in the one last used; returns it, to be added to.  NULL: that one is newer, or out
 * of memory. */
struct ana_bucket *ana_lane_reach(struct ana_lane *lane, int64_t at_ns);

/* Adds the contents of [edge[i], edge[i + 1]) to sum[i], for all i below n: whole buckets exactly; a bucket cut by an
 * edge by its share.  Edges rise.  In the first range that reaches to `full_ns`, the last bucket counts in full. With
 * `times_alone` bytes and calls may be left out. */
void ana_lane_add(struct ana_lane *lane, const int64_t *edge, size_t n, int64_t full_ns, bool times_alone,
                  struct ana_lane_sum *sum);

/* Saves a lane, or loads one into a lane made by ana_lane_init. */
void ana_lane_archive(struct ana_archive *archive, struct ana_lane *lane);
