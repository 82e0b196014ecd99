/* Steps of a comparison of two runs, in their order; for the files of this folder. */
#pragma once

#include "trace/diff/portions.h"
#include "trace/diff/diff.h"

/* Alignment of call sites of two runs between which the program has changed.
 *
 * Places of one function (by its name and module) are sorted by offset, and the two sequences are aligned: most calls
 * match, best with the same line or offset, never crossing.  The others are matched by call and source line alone: a
 * function may have another name. */

/* Fills of_b[0 .. b_count - 1] with the number of each place of `b` in `a`, + 1; 0: only in `b`.  False: out of
 * memory. */
bool ana_align(const struct ana_portion_place *a, size_t a_count, const struct ana_portion_place *b, size_t b_count,
               uint32_t *of_b);

/* Pairs of portions of two runs. */

/* A portion in both runs; one may be NULL.  Places have the numbers of the first run; places that only the second has
 * follow. */
struct ana_portion_pair {
    const struct ana_portion *of[2];
};

/* Assigns to places and regions of the second run's portions the names that they have in the first: of_b as ana_align
 * fills it, of `b_count` places.  Places that the first does not have get numbers after its `a_count`.  Where only one
 * of the runs has a call, the segments before and after it become one, as in the other run.  False: out of memory. */
bool ana_portions_join(struct ana_portions *a, struct ana_portions *b, const uint32_t *of_b, size_t a_count,
                       size_t b_count);

/* Makes *out the portions of one rank that is the mean of all ranks that have iterations (of all, where none has).
 * False: out of memory.  Free with ana_portions_free either way. */
bool ana_portions_mean(const struct ana_portions *of, struct ana_portions *out);

/* Makes *out a map of struct ana_portion_pair of all portions, the second's renamed.  False: out of memory.  Free it
 * with ana_map_free either way. */
bool ana_portions_pair(const struct ana_portions *a, const struct ana_portions *b, struct ana_map *out);

/* The name of a pair: either of its portions. */
static inline const struct ana_portion *ana_pair_name(const struct ana_portion_pair *pair)
{
    return pair->of[0] ? pair->of[0] : pair->of[1];
}

/* The comparison of all pairs of portions of two runs, and the findings that come of it. */

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

/* The answer of a comparison: slower, not slower, faster, or not known. */

/* Sets judge->quiet and judge->undisturbed from the processor time of both runs, each the mean of its ranks. */
void ana_answer_machine(struct ana_judge *judge, const struct ana_portions mean[2]);

/* Fills the answer, its measure, change, confidence and detectable difference; out->finding is filled. */
void ana_answer_find(struct ana_judge *judge, const struct ana_portions mean[2], struct ana_diff *out);

/* The difference of two accounts of time: of the jobs, and of their call sites and segments. */

/* Places of both runs, and the first run's number of each place of the second (ana_align). */
struct ana_diff_names {
    const struct ana_portion_place *place[2];
    size_t places[2];
    const uint32_t *of_b;
};

/* Fills *out from the summaries of both jobs; out->known is false for selections of a part.  False: out of memory. */
bool ana_diff_accounts_find(struct ana_job *const job[2], const struct ana_selection selection[2],
                            const struct ana_diff_names *names, struct ana_diff_accounts *out);
