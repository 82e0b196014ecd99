/* The comparison of all pairs of portions of two runs, and the findings that come of it. */
#ifndef ANA_JUDGE_H
#define ANA_JUDGE_H

#include "trace/diff/diff.h"
#include "trace/diff/pairs.h"

#define ANA_ALL_RANKS UINT32_MAX /* as a rank index: the mean of all */

/* What came of one pair. */
struct ana_diff_result {
    const struct ana_portion *name; /* of either run */
    enum ana_diff_side side;
    uint32_t index;
    struct ana_chance by[2];  /* by means; by what is usual; times in ns of an iteration, or of the run */
    double lowest[2];         /* what iterations take that nothing disturbs, in either run */
    struct ana_chance chance; /* the one that counts, of two tries */
    bool machine;             /* some iterations differ, as a busy machine makes them, too */
};

struct ana_judge {
    double iteration_ns; /* of the first run; of the run, where there are no iterations */
    bool looped;         /* there are iterations enough */
    float *value[2], *room;
    struct ana_diff_result *result;
    size_t results, result_room;
    struct ana_chance iteration[2]; /* what came of the iterations themselves: by means; by what is usual */
};

/* Room for the comparison.  False: out of memory; ana_judge_free either way. */
bool ana_judge_init(struct ana_judge *judge);
/* Frees it; the struct is the caller's. */
void ana_judge_free(struct ana_judge *judge);

/* Compares the pairs of two runs; `mean`: they have one rank, the mean of all.  Times of run i count `factor[i]` times.
 * False: out of memory.  Results point to the portions. */
bool ana_judge_pairs(struct ana_judge *judge, const struct ana_portions *const run[2], const double factor[2],
                     bool mean);

/* Makes findings of the results, without names: from_place and to_place of each are in place[2 * i]; `ids` has the
 * ranks of both runs by index.  False: out of memory. */
bool ana_judge_findings(struct ana_judge *judge, const struct ana_rank_id *const ids[2], const size_t ranks[2],
                        struct ana_diff *out, uint32_t **place);

#endif
