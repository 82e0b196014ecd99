/* Two runs side by side: what got slower or faster from the first to the second, where, by how much, how sure that is.
 *
 * Their portions (trace/job/portions.h) are joined by region, by the places in the program (align.h) and by rank, and
 * compared by their times in each iteration (chance.h), rank by rank and as the mean of all ranks.  What changed alike
 * on several ranks is one finding.
 *
 *   A tells that it changed     its confidence is at least ANA_DIFF_SURE, of the whole list: were nothing changed, not
 *                               one list in a hundred would have a finding
 *   B tells that it matters     it is ANA_DIFF_MATTERS of an iteration, and of its own time more than runs of the same
 *                               program differ by on a quiet machine
 *
 * Where only some iterations differ, a busy machine may be why: it does that to all segments of a rank, and to all
 * calls that wait for it.  So it is sure that the program is why only where even the quickest iterations differ, or
 * where a segment's mean does so far more than the other segments of its rank.  Else `machine` is set, and there is no
 * confidence.
 *
 * Without ANA_CHANCE_LEAST iterations in both runs nothing is sure: then findings are what differs by ANA_DIFF_UNSURE
 * of the run, and have no confidence.
 *
 * Runs with different numbers of ranks are compared as sums over all ranks where the problem seems to be the same
 * (strong scaling), else as means of a rank (weak scaling): whichever the time outside calls fits better. */
#ifndef ANA_DIFF_H
#define ANA_DIFF_H

#include "trace/diff/chance.h"
#include "trace/job/portions.h"

#define ANA_DIFF_SURE       0.99
#define ANA_DIFF_SUREST     0.9999 /* no list says that it is surer: three hundred draws do not tell */
#define ANA_DIFF_MATTERS    0.001
#define ANA_DIFF_UNSURE     0.05
#define ANA_DIFF_OF_SEGMENT 0.01 /* of the time of a segment */
#define ANA_DIFF_OF_CALL    0.05 /* of the time in calls, which depends on where ranks are put */

enum ana_diff_side { ANA_DIFF_IN_BOTH, ANA_DIFF_ONLY_BEFORE, ANA_DIFF_ONLY_AFTER };

struct ana_diff_finding {
    enum ana_portion_kind kind;
    enum ana_diff_side side;
    char region[ANA_REGION_NAME];    /* "": in none */
    struct ana_segment_end from, to; /* as the second run has them, or the first where only that does */
    bool typical;                    /* the usual iteration differs; else the mean of all */
    bool follows;                    /* of calls: ranks wait for what other findings say, or have less to wait for */
    bool machine;                    /* only the mean differs, and a busy machine may be why: no confidence */
    double before_ns, after_ns;      /* of an iteration (without confidence: of the run); mean of its ranks */
    double confidence;               /* NAN: unknown */
    struct ana_rank_id *rank;        /* `ranks` of them, in order; none: of all */
    size_t ranks;
};

/* One of the two runs. */
struct ana_diff_run {
    const char *name; /* lives as long as the job */
    char part[64];    /* "3 s to 3.5 s"; "" for all */
    size_t ranks;
    uint64_t iterations;   /* that were compared; 0: no loop */
    int64_t elapsed_ns;    /* of what was selected */
    double iteration_ns;   /* NAN: unknown */
    double outside_ns;     /* what the longest rank has before and after its iterations */
    double computation_ns; /* of all ranks outside calls: of an iteration, else of the run */
};

enum ana_scaling { ANA_SCALING_NONE, ANA_SCALING_STRONG, ANA_SCALING_WEAK };

struct ana_diff {
    struct ana_diff_run run[2];
    struct ana_diff_finding *finding; /* those that follow last; slower ones first; then by how much */
    size_t findings;
    size_t compared;          /* how many differences were looked at */
    double change;            /* of the time of an iteration, else of the run: 0.1 is 10 % slower */
    double change_confidence; /* that it is slower or faster at all; NAN: unknown */
    enum ana_scaling scaling; /* of runs with different numbers of ranks */
    double computation_scaling, speedup, efficiency; /* NAN: unknown, or not of different size.  Source: POP Centre of
                                                        Excellence, "POP Standard Metrics"; ideal is 1, 1 for weak
                                                        scaling, else the ratio of the ranks, 1 */
    struct ana_rank_id *rank_block;                  /* what findings point to */
};

/* Compares two jobs, of which all events have been read, as far as selected.  False: out of memory.  Free with
 * ana_diff_free either way; before the jobs are closed. */
bool ana_diff_jobs(struct ana_job *const job[2], const struct ana_selection selection[2], struct ana_diff *out);
/* Frees what a diff has; the struct is the caller's. */
void ana_diff_free(struct ana_diff *diff);

/* Writes where a finding is: "rank 5, Waitall app.c:20 -> Allreduce :30", "solve: MPI_Allreduce at app.c:30". */
void ana_diff_words(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes its ranks: "0-3, 7"; "all". */
void ana_diff_ranks(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes how much it changed: "+2.0%", "12 x", "new", "gone". */
void ana_diff_change(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes a confidence: "99.31%", ">99.99%"; "-" for NAN. */
void ana_diff_sure(double confidence, char *out, size_t size);
/* Writes how the runs compare as a whole, in one sentence. */
void ana_diff_answer(const struct ana_diff *diff, char *out, size_t size);

#endif
