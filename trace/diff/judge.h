/* The comparison of all pairs of portions of two runs, and the findings that come of it. */
#ifndef ANA_JUDGE_H
#define ANA_JUDGE_H

#include "trace/diff/diff.h"
#include "trace/diff/pairs.h"

#define ANA_ALL_RANKS UINT32_MAX /* rank index of the mean of all ranks */

/* The comparison of one pair. */
struct ana_diff_result {
    const struct ana_portion *name; /* the portion of either run */
    enum ana_diff_side side;
    uint32_t index;
    struct ana_chance by[ANA_CENTRES]; /* times in ns of an iteration, or of the run */
    struct ana_chance chance;          /* the centre that counts */
    bool machine;                      /* ranks waited for a processor: the difference may be the machine's */
};

struct ana_judge {
    double iteration_ns;     /* first run: its iteration; without iterations the run */
    bool looped;             /* both runs have enough iterations */
    bool counted;            /* processor time of both runs is known; else the next three are false */
    bool quiet, undisturbed; /* no rank waits for a processor in either run; in iterations of ANA_CENTRE_LOW */
    bool sleeps;             /* time asleep counts: it is more than the error of the kernel's counts */
    float *value[2], *room;  /* ANA_PORTION_BLOCKS values each */
    struct ana_diff_result *result;
    size_t results, result_room;
};

/* Fills `value` with the times of a portion in the blocks of its rank, `factor` times: means of iterations, or for
 * ANA_CENTRE_LOW single ones.  No values where `p` is NULL. */
struct ana_sample ana_portion_sample(const struct ana_portions *run, const struct ana_portion *p, double factor,
                                     enum ana_centre centre, float *value);

/* Allocates memory for the comparison.  False: out of memory; ana_judge_free either way. */
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
