/* Thresholds of a loss that is worth a word, and of trouble: the one table.
 *
 * A loss is worth a word (in the headline) by its share alone.  It is trouble (state `slow`, exit code 1) when a user
 * would go after it: seconds are lost, by a pattern that repeats, and one rank clearly causes it.  A share of a run of
 * milliseconds is the start of a program and the scheduler's noise.
 *
 *   threshold        below it                                          such as
 *   NOTABLE_SHARE    the loss does not stand out                       1 % of all time in barriers
 *   SLOW_SHARE       it is no trouble, any cause                        a rank that is 5 % slower
 *   SLOW_RUN_NS      the run (as far as analysed) is too short         a test program of half a second
 *   SLOW_LOST_NS     each rank lost too little, on average             12 % of two seconds
 *   SLOW_TIMES       it is an accident                                 one barrier after rank 0 has read its input
 *   SLOW_EACH_NS     that is how MPI works inside                      a rank that leaves each barrier 7 us later
 *   SLOW_AHEAD       chance: somebody is always last                   two ranks, each late half of the time
 *   SLOW_ALIKE       time slices of the scheduler: a few are long      5 % of the waits take 7 ms, the others nothing
 *   SLOW_SLICE_NS    (longer ones count however few of all they are)   rank 0 writes a file at each 100th step */
#pragma once

#define NOTABLE_SHARE     0.02 /* share of all ranks' time */
#define NOTABLE_IMBALANCE 0.1  /* share of the run that the busiest rank computes longer than the mean */
#define NOTABLE_EXPOSED   0.1  /* share of the GPUs' time in NCCL's kernels with no computation beside them */
#define NOTABLE_ACCOUNT   0.1  /* share of all ranks' time, and SLOW_LOST_NS a rank: an account that is no loss */
#define NOTABLE_WAITS     3    /* fewer in a time range are shown one by one, not as a share */

#define CHANCE_DEVIATIONS 2.5 /* standard deviations that the worst is ahead of the next: one time in 160 by chance */
#define CHANCE_FEW        0.9 /* share of all waiting if instances are too few for that: it is an event, not a rate */

#define LATE_AHEAD     1.25 /* times the loss to the next worst rank, or nobody is named */
#define LATE_ALIKE     0.7  /* share of the worst rank's excess: others above it are late like it */
#define LATE_SOLE      0.5  /* share of all waiting that one segment has to cost to be named */
#define FOLLOWED       0.05 /* share of the waits so far that must have been followed back */
#define SLOW_ITERATION 1.5  /* times the median, or longer */
#define SPIKE_TIMES    4    /* times the usual, or longer */

#define OUTLIER_SHARE 0.005 /* share of all ranks' time in a window that something cost */
#define OUTLIER_PART  0.1   /* share of the window that somebody was late at once */

#define SLOW_SHARE    0.1          /* share of all ranks' time that is lost to one rank */
#define SLOW_RUN_NS   1000000000.0 /* length of the longest rank, as far as it was analysed */
#define SLOW_LOST_NS  250000000.0  /* loss to that rank, by each rank on average */
#define SLOW_TIMES    10.0         /* times that each other rank has waited for it, were all waits alike */
#define SLOW_EACH_NS  50000.0      /* a wait, on average */
#define SLOW_AHEAD    2.0          /* times the loss to the next worst rank */
#define SLOW_ALIKE    0.2          /* share of its waits that would be there, were all alike */
#define SLOW_SLICE_NS 50000000.0   /* one wait among them */
