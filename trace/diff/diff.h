/* Two runs side by side: is the second slower, and where did the time go?
 *
 * The answer compares the time of an iteration, less the time in a queue for a processor (answer.c).  Findings compare
 * the runs' portions (trace/diff/portions.h), joined by region, place in the program (align.h) and rank.  Ranks that
 * changed alike are one finding.  Both compare times of iterations (chance.h):
 *
 *   confidence  at least ANA_DIFF_SURE, for the whole list: of a hundred lists of equal runs one has a finding
 *   margin      the difference that equal runs may have: ANA_DIFF_OF_TIME, in calls ANA_DIFF_OF_CALL, never less than
 *               ANA_DIFF_MATTERS of an iteration and the steps of the clock
 *
 * `machine` marks findings of a run whose ranks waited for a processor, unless iterations are compared that did not.
 *
 * Runs with fewer than ANA_CHANCE_LEAST iterations have no answer; findings are then differences of ANA_DIFF_UNSURE of
 * the run, without confidence.
 *
 * Accounts (trace/account) compare sums over whole runs, without a test.
 *
 * Runs with different numbers of ranks are compared as sums over all ranks where the time outside calls stays the same
 * in sum (strong scaling), else as means of a rank (weak scaling). */
#pragma once

#include "trace/diff/chance.h"
#include "trace/diff/portions.h"

#define ANA_DIFF_SURE     0.99
#define ANA_DIFF_SUREST   0.9999 /* upper bound of all confidences: the models of chance are not exact */
#define ANA_DIFF_MATTERS  0.001
#define ANA_DIFF_UNSURE   0.05
#define ANA_DIFF_OF_TIME  0.03
#define ANA_DIFF_OF_CALL  0.05 /* depends on the placement of ranks, too */
#define ANA_DIFF_CLOCK_NS 50   /* two readings of the clock, and the recorder's own time, to a cache miss */
#define ANA_DIFF_PLACES   10u

enum ana_diff_side { ANA_DIFF_IN_BOTH, ANA_DIFF_ONLY_BEFORE, ANA_DIFF_ONLY_AFTER };

struct ana_diff_finding {
    enum ana_portion_kind kind;
    enum ana_diff_side side;
    char region[ANA_REGION_NAME];    /* "": in none */
    struct ana_segment_end from, to; /* names of the second run, or the first if it is gone */
    bool low;                        /* undisturbed iterations differ; else the mean of all */
    bool follows;                    /* a call: ranks wait longer, or less, because of other findings */
    bool machine;                    /* waiting for a processor may be the cause: no confidence */
    double before_ns, after_ns;      /* per iteration (without confidence: per run); mean of its ranks */
    double confidence;               /* NAN: unknown */
    struct ana_rank_id *rank;        /* `ranks` of them, in order; none: of all */
    size_t ranks;
};

/* One of the two runs. */
struct ana_diff_run {
    const char *name; /* lives as long as the job */
    char part[64];    /* "3 s to 3.5 s"; "" for all */
    size_t ranks;
    uint64_t iterations;   /* compared; 0: no loop */
    int64_t elapsed_ns;    /* length of the selection */
    double iteration_ns;   /* NAN: unknown */
    double outside_ns;     /* before and after the iterations, of the rank where it is longest */
    double computation_ns; /* outside calls, all ranks: of an iteration, else of the run */
    double queued;         /* share of the ranks' time in a queue for a processor; NAN: not counted */
};

enum ana_diff_answer { ANA_DIFF_SLOWER, ANA_DIFF_NOT_SLOWER, ANA_DIFF_FASTER, ANA_DIFF_NOT_KNOWN };
enum ana_diff_measure { ANA_DIFF_ITERATION, ANA_DIFF_OUTSIDE }; /* OUTSIDE: time outside calls only */

/* One account of one call site, in both runs, all ranks. */
struct ana_diff_place {
    struct ana_segment_end at;
    enum ana_account_id id;
    int64_t ns[2];
};

/* A segment in both runs. */
struct ana_diff_segment {
    bool inside; /* flag of ana_segment_stat */
    char region[ANA_REGION_NAME];
    struct ana_segment_end from, to;
    struct ana_rank_id rank;
    int64_t ns[2];
};

/* Time of whole runs by account. */
struct ana_diff_accounts {
    bool known;                   /* false: parts of runs */
    struct ana_account run[2];    /* all ranks */
    struct ana_diff_place *place; /* largest difference first, ANA_DIFF_PLACES at most */
    size_t places;
    struct ana_diff_segment longer, culprit; /* largest change of a segment's own time, all ranks together; of
                                                waiting caused by a segment of one rank.  Without `to.call`: none */
};

enum ana_scaling { ANA_SCALING_NONE, ANA_SCALING_STRONG, ANA_SCALING_WEAK };

struct ana_diff {
    struct ana_diff_run run[2];
    struct ana_diff_finding *finding; /* largest increase first; `follows` last */
    size_t findings;
    size_t compared; /* number of tests */
    bool looped;     /* both runs have ANA_CHANCE_LEAST iterations */
    enum ana_diff_answer answer;
    enum ana_diff_measure measure; /* compared for the answer */
    double measured_ns[2];         /* per iteration; per run where there are too few */
    double change;                 /* share of measured_ns[0]: 0.1 is 10 % slower */
    double change_confidence;      /* confidence of slower or faster; NAN: another answer */
    double detectable;             /* smallest change that would have been found; NAN: not looped */
    struct ana_diff_accounts accounts;
    enum ana_scaling scaling;                        /* runs with different numbers of ranks */
    double computation_scaling, speedup, efficiency; /* NAN: unknown, or not of different size.  Source: POP Centre of
                                                        Excellence, "POP Standard Metrics"; ideal is 1, 1 for weak
                                                        scaling, else the ratio of the ranks, 1 */
    struct ana_rank_id *rank_block;                  /* the findings' ranks */
};

/* Compares selections of two jobs whose events have all been read.  False: out of memory.  Free with ana_diff_free
 * either way, before the jobs are closed. */
bool ana_diff_jobs(struct ana_job *const job[2], const struct ana_selection selection[2], struct ana_diff *out);
/* Frees the memory of a diff; the struct is the caller's. */
void ana_diff_free(struct ana_diff *diff);

/* Names in JSON, by enum ana_diff_answer: "slower" "not_slower" "faster" "not_known". */
extern const char *const ana_diff_answer_keys[];
/* Writes the place of a finding: "rank 5, Waitall app.c:20 -> Allreduce :30", "solve: MPI_Allreduce at app.c:30". */
void ana_diff_words(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes its ranks: "0-3, 7"; "all". */
void ana_diff_ranks(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes its change: "+2.0%", "12 x", "new", "gone". */
void ana_diff_change(const struct ana_diff_finding *finding, char *out, size_t size);
/* Writes a confidence: "99.31%", ">99.99%"; "-" for NAN. */
void ana_diff_sure(double confidence, char *out, size_t size);
/* Writes the answer in one sentence. */
void ana_diff_answer(const struct ana_diff *diff, char *out, size_t size);
/* Writes the largest difference of an account: "wait +3.1 s, of it 2.9 s because of rank 0, planted.c:30"; "" where
 * accounts are not known or equal. */
void ana_diff_account(const struct ana_diff *diff, char *out, size_t size);
