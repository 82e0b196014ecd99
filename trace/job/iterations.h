/* Iterations of a job's loops: the slowest, and the times of each (trace/iter finds the loops). */
#ifndef ANA_ITERATIONS_H
#define ANA_ITERATIONS_H

#include "trace/why/reason.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_job;
struct ana_iteration_mark;

/* A place in the program that calls: where a segment, or an iteration, ends. */
struct ana_segment_end {
    const char *call; /* NULL: segments of several places, which had no row of their own */
    char place[80];   /* "app.c:17"; without its source function or else module, and offset; "" as call */
};

/* One iteration that took long. */
struct ana_slow_iteration {
    uint64_t number;          /* from 1 */
    int64_t begin_ns, end_ns; /* job time, of the rank that it took longest on */
    size_t index;             /* whose segment took longer than it usually does, most of all; SIZE_MAX: none's did */
    char region[64];          /* that it lies in; "": none */
    struct ana_segment_end from, to;
    int64_t segment_ns, excess_ns; /* of it; and of that, above its mean */
    struct ana_reason reason;      /* why, against the other times of that segment on that rank */
};
/* The loops that the program spends most time in (trace/iter), of the whole run; the slowest ones are of the time in
 * view. */
#define ANA_LOOP_ROWS 6u
#define ANA_SLOWEST   10u
struct ana_loop_level {
    struct ana_segment_end end; /* the call that ends an iteration */
    uint64_t count;             /* iterations that ended, of the rank with most */
    double median_ns, own_ns;   /* of an iteration; of its time outside calls; NAN: unknown */
    double usual_ns;   /* median_ns; of two kinds of iterations that of the longer, if it has half of the time */
    double long_share; /* of the iterations, which are of that longer kind; 0: there is one kind */
    bool is_detour;    /* no loop, but what is done every few iterations of the level inside */
    size_t slow_count; /* longest first */
    struct ana_slow_iteration slow[ANA_SLOWEST];
};
struct ana_iterations {
    size_t levels, level; /* from the outermost inward, 0: no loop was found; the iterations' own */
    struct ana_loop_level loop[ANA_LOOP_ROWS];
    size_t ranks;
    struct ana_iteration_mark *mark; /* by level, then rank index: for the functions below */
};
/* Writes "iteration 812 took 3.1 x: rank 2, 150 ms in Waitall app.c:20 -> Allreduce :30". */
void ana_iteration_words(const struct ana_job *job, const struct ana_loop_level *loop,
                         const struct ana_slow_iteration *slow, char *out, size_t size);

/* Some iterations of a rank, one after the other. */
struct ana_iteration_cell {
    float time_ns, own_ns; /* the longest; the longest time outside calls; NAN: unknown */
    uint32_t mean_of;      /* more than 1: not each was kept, and the times are means of so many */
};
/* Fills `n` cells with the iterations `first` to `last` of a rank, which count from 1; n is at most so many.  O(times
 * kept). */
void ana_iteration_cells(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                         uint64_t first, uint64_t last, size_t n, struct ana_iteration_cell *out);
/* From when the first rank began iteration `first` to when the last one ended `last`, in job time; about, where not
 * each was kept.  False: no rank has them. */
bool ana_iteration_span(const struct ana_job *job, const struct ana_iterations *of, size_t level, uint64_t first,
                        uint64_t last, int64_t *begin_ns, int64_t *end_ns);
/* The iteration that a rank is in at a time, from 1; before the first and after the last those.  0: it has none. */
uint64_t ana_iteration_at(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                          int64_t at_ns);

#endif
