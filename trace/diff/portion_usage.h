/* Processor time of each iteration of a rank: what the kernel counted between two heartbeats (a span), shared out
 * among the iterations in it.  Memory: one row for each iteration of the span under way. */
#pragma once

#include "trace/diff/portions.h"
#include "trace/reader/usage.h"

struct ana_clock;

/* The time of one iteration in a span. */
struct ana_usage_piece {
    uint64_t iteration;
    double outside_ns, elapsed_ns;
};

/* The main thread of one rank. */
struct ana_portion_usage {
    const struct ana_clock *clock;
    size_t index;
    struct trc_usage_cursor *cursor;
    struct trc_usage_item item; /* the span under way */
    bool has_span;              /* it exists */
    int64_t begin_ns, end_ns;   /* its time */
    int64_t at_ns;              /* end of the time added so far; INT64_MIN: none */
    double outside_ns, elapsed_ns, all_ns,
        most_ns;                          /* sums so far in the span; last span: shares of time on a processor */
    double covered_ns, cpu_ns, queued_ns; /* sums over complete spans */
    struct ana_usage_piece *piece;
    size_t pieces, room;
};

/* Adds a time of an iteration to a portion of the rank without places.  False: out of memory. */
typedef bool ana_usage_emit(void *data, size_t index, enum ana_portion_kind kind, uint64_t iteration, double ns);

/* Opens the spans of a rank.  False: out of memory; ana_portion_usage_close either way. */
bool ana_portion_usage_open(struct ana_portion_usage *usage, struct trc_file *file, const struct ana_clock *clock,
                            size_t index);
/* Frees it; the struct is the caller's. */
void ana_portion_usage_close(struct ana_portion_usage *usage);
/* Adds the time until `until_ns` (job time) to an iteration, inside or outside calls, and emits all complete spans.
 * False: out of memory. */
bool ana_portion_usage_add(struct ana_portion_usage *usage, int64_t until_ns, bool outside, uint64_t iteration,
                           ana_usage_emit *emit, void *data);
/* Emits the rest: time after the last span has its shares.  False: out of memory. */
bool ana_portion_usage_end(struct ana_portion_usage *usage, ana_usage_emit *emit, void *data);
