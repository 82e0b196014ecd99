/* Iterations of a job's loops: the slowest, and the times of each (trace/iter finds the loops). */
#pragma once

#include "trace/why/reason.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_job;
struct ana_selection;

/* A place in the program that calls: where a segment, or an iteration, ends. */
struct ana_segment_end {
    const char *call; /* NULL: segments of several places, which had no row of their own */
    char place[80];   /* "app.c:17"; without its source function or else module, and offset; "" as call */
};

/* One iteration that took long. */
struct ana_slow_iteration {
    uint64_t number;          /* from 1 */
    int64_t begin_ns, end_ns; /* job time, of the rank that it took longest on */
    size_t index;             /* rank whose segment exceeded its usual time most; SIZE_MAX: none */
    char region[64];          /* region of that segment; "": none */
    struct ana_segment_end from, to;
    int64_t segment_ns, excess_ns; /* duration of the segment; excess over its mean */
    struct ana_reason reason;      /* reason, compared to the other times of that segment on that rank */
    bool is_chance;                /* one time slice of the scheduler explains it, or the clocks */
};
/* The loops that the program spends most time in (trace/iter), of the whole run; the slowest ones are of the time in
 * view. */
#define ANA_LOOP_ROWS 6u
#define ANA_SLOWEST   10u
#define ANA_LOOP_ENDS 16u /* places that are called once in each iteration, at most */
struct ana_loop_level {
    struct ana_segment_end end;    /* the call that ends an iteration */
    uint32_t place[ANA_LOOP_ENDS]; /* place of `end` in trace/why, + 1, then equivalent places; 0: no more */
    bool is_kind;                  /* only some calls at the place end iterations */
    uint64_t count;                /* iterations that ended, of the rank with most */
    double median_ns, own_ns;      /* median of an iteration; of its time outside calls; NAN: unknown */
    double usual_ns;   /* median_ns; if the longer of two kinds of iterations has half of the time, its median */
    double long_share; /* share of iterations of the longer kind; 0: there is one kind */
    bool is_detour;    /* no loop, but done every few iterations of the level inside */
    size_t slow_count; /* longest first */
    struct ana_slow_iteration slow[ANA_SLOWEST];
};
/* Position of a rank's iterations of a loop. */
struct ana_iteration_mark {
    uint32_t mark;    /* mark of trace/iter, + 1; 0: the rank does not come to their end */
    int64_t begin_ns; /* begin of the first one */
};
struct ana_iterations {
    size_t levels, level; /* number, the outermost first, 0: no loop was found; level of the iterations */
    struct ana_loop_level loop[ANA_LOOP_ROWS];
    size_t ranks;
    struct ana_iteration_mark *mark; /* index: level, then rank index; the owner frees it */
};
/* Fills *out, which is empty, with the loops of a job whose events were read, and has the last times kept; the slowest
 * iterations are of the selection.  False: out of memory. */
bool ana_iterations_find(struct ana_job *job, const struct ana_selection *view, struct ana_iterations *out);
/* Whether an iteration took so long that it is worth a word. */
bool ana_iteration_is_slow(const struct ana_loop_level *loop, const struct ana_slow_iteration *slow);
/* Returns the usual time that an iteration of `ns` is compared with: of all iterations, or of the longer kind if it is
 * long for that. */
double ana_iteration_base(const struct ana_loop_level *loop, double ns);
/* Writes "iteration 812 took 3.1 x: rank 2, 150 ms in Waitall app.c:20 -> Allreduce :30". */
void ana_iteration_words(const struct ana_job *job, const struct ana_loop_level *loop,
                         const struct ana_slow_iteration *slow, char *out, size_t size);

/* Some iterations of a rank, one after the other. */
struct ana_iteration_cell {
    float time_ns, own_ns; /* the longest; the longest time outside calls; NAN: unknown */
    uint32_t mean_of;      /* more than 1: not each was kept, and the times are means of this number */
};
/* Fills `n` cells with the iterations `first` to `last` of a rank, which count from 1; n is at most their number.
 * O(times kept). */
void ana_iteration_cells(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                         uint64_t first, uint64_t last, size_t n, struct ana_iteration_cell *out);
/* Fills the time from the first rank's begin of iteration `first` to the last one's end of `last`, in job time; about,
 * if not each was kept.  False: no rank has them. */
bool ana_iteration_span(const struct ana_job *job, const struct ana_iterations *of, size_t level, uint64_t first,
                        uint64_t last, int64_t *begin_ns, int64_t *end_ns);
/* The iteration that a rank is in at a time, from 1; before the first and after the last those.  0: it has none. */
uint64_t ana_iteration_at(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                          int64_t at_ns);
