/* Whether two samples differ by more than chance: the confidence of a difference between two runs.
 *
 * A sample is a time in each iteration of one run, in their order.  Its *centre* is what an iteration usually takes
 * (the mean of the middle fifth of them: it is as robust as the median nearly, and does not jump between two levels) or
 * the mean of all.  How far a centre varies by chance is found by a bootstrap of stretches of
 * neighbouring iterations, since what disturbs one disturbs the next.  Disturbances that last longer than a stretch
 * show as persistence: stretches are like their neighbours.  Then the run tells less than its number of iterations
 * says, and a run that only drifts tells nothing.  The probability is Student's, with as many degrees of freedom as
 * there are stretches that tell something new.
 *
 * What makes one whole run different from another cannot be seen in either of them.  That is what the margin is for.
 *
 * Sources: moving blocks bootstrap: Kuensch 1989; effective number of observations of an autoregressive series: Bayley
 * and Hammersley 1946; bias of its coefficient: Kendall 1954; degrees of freedom of a sum: Welch 1947. */
#ifndef ANA_CHANCE_H
#define ANA_CHANCE_H

#include <stdbool.h>
#include <stddef.h>

#define ANA_CHANCE_LEAST     20u  /* fewer iterations tell nothing */
#define ANA_CHANCE_STRETCHES 24u  /* of a run */
#define ANA_CHANCE_AGAIN     300u /* times that a sample is drawn again */

/* A sample; without values it is one of zeros. */
struct ana_sample {
    const float *value;
    size_t n;
};

struct ana_chance {
    bool typical;         /* the usual times differ; else the means */
    double before, after; /* these centres */
    double p; /* probability that chance alone makes them differ by the margin more, either way; at most 1 */
};

/* What a sample usually takes, or its mean; 0 of one without values.  `room` is for as many values. */
double ana_centre(struct ana_sample sample, bool typical, float *room);

/* What nine in ten values are above: iterations that nothing disturbed; 0 of a sample without values. */
double ana_lowest(struct ana_sample sample, float *room);

/* Compares two samples by what they usually take (`typical`), or by their means.  Differences of less than `margin` are
 * none.  The same samples give the same answer.  `room` is for as many values as the larger sample has. */
struct ana_chance ana_chance_of(struct ana_sample before, struct ana_sample after, double margin, bool typical,
                                float *room);

/* The probability that Student's t with this many degrees of freedom (1 or more) is greater than t >= 0. */
double ana_student_tail(double t, double freedom);

#endif
