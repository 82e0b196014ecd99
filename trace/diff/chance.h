/* Confidence of a difference between two runs: do two samples differ by more than chance?
 *
 * A sample is a time in each iteration of one run, in order, cut into stretches of neighbours.  The centre of a stretch
 * is its mean, or the mean of the second to fourth tenth of its values: iterations that nothing disturbed.  The centre
 * of a run is the mean of its stretches without the highest third; of means without the highest and lowest quarters.
 * Two models of chance, and the surer one counts:
 *
 *   noise  Yuen's test of trimmed means.  Where stretches are like their neighbours, a run has as many independent
 *          values fewer
 *   drift  whole runs differ by three times as much as stretches of one run do.  A difference that is large compared
 *          with all changes within the runs is no chance, however the iterations depend on each other
 *
 * Where the lower quartile of one run is twice the upper quartile of the other, no model is needed.
 *
 * Neither sees what makes a whole run different and steady: another node, another placement of pages.  The margin is
 * for that.
 *
 * Sources: trimmed means: Yuen 1974; effective number of observations of an autoregressive series: Bayley and
 * Hammersley 1946; bias of its coefficient: Kendall 1954; degrees of freedom of a sum: Welch 1947. */
#pragma once

#include <stddef.h>

#define ANA_CHANCE_LEAST 20u /* iterations: fewer have no confidence */

/* A sample; without values it is one of zeros. */
struct ana_sample {
    const float *value;
    size_t n;
};

enum ana_centre { ANA_CENTRE_MEAN, ANA_CENTRE_LOW, ANA_CENTRES };

struct ana_chance {
    enum ana_centre centre;
    double before, after; /* centres, in the unit of the samples */
    double p; /* probability that chance alone makes them differ by the margin more, either way; at most 1 */
};

/* Returns the centre of a sample; 0 without values.  `room` has space for as many values. */
double ana_centre(struct ana_sample sample, enum ana_centre centre, float *room);

/* Compares two samples.  Differences of less than `margin` are none.  The same samples give the same answer.  `room`
 * has space for as many values as the larger sample. */
struct ana_chance ana_chance_of(struct ana_sample before, struct ana_sample after, double margin,
                                enum ana_centre centre, float *room);

/* Returns the smallest increase that would have been found in nine of ten cases, with a probability of chance of at
 * most `p`; both samples have values. */
double ana_detectable(struct ana_sample before, struct ana_sample after, double margin, double p,
                      enum ana_centre centre, float *room);

/* Returns the probability that Student's t with this many degrees of freedom (1 or more) is greater than t >= 0. */
double ana_student_tail(double t, double freedom);
