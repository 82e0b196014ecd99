/* Reasons why a segment takes longer than usual: by the kernel's counts meanwhile.  Pure arithmetic. */
#pragma once

#include "trace/why/usage.h"

enum ana_reason_kind {
    ANA_REASON_NONE,    /* not known, or nothing stands out */
    ANA_REASON_QUEUED,  /* it waited for a processor: `share` of its time */
    ANA_REASON_READS,   /* `amount` bytes; off the processor for `share` of its time */
    ANA_REASON_WRITES,  /* likewise */
    ANA_REASON_BLOCKED, /* off the processor, and not waiting for one: it slept, or waited for something else */
    ANA_REASON_FAULTS,  /* `amount` page faults; `share` of its time in the kernel */
    ANA_REASON_MEMORY,  /* the same instructions took `factor` times as many cycles */
    ANA_REASON_CLOCK,   /* the same instructions and cycles took `factor` times as long */
    ANA_REASON_WORK,    /* `factor` times as many instructions */
    ANA_REASON_TIME     /* `factor` times as much processor time; whether for more work was not counted */
};
struct ana_reason {
    enum ana_reason_kind kind;
    double factor;   /* QUEUED: how much longer the same work took; 0: not known to be the same */
    double share;    /* 0..1 */
    uint64_t amount; /* amount in the whole run */
};

/* A segment of one rank, or of some that are alike. */
struct ana_reason_side {
    double ns;                                /* one time of it */
    double total_ns;                          /* all of its times that `sums` may cover */
    const struct ana_usage_sums *sums, *pure; /* pure: NULL or as in struct ana_segment_usage */
};

/* Compares a segment that takes long with the usual one; usual.ns NAN: there is none.  What does not explain half of
 * the difference is not named, nor is anything where the counts do not cover the time. */
struct ana_reason ana_reason_of(struct ana_reason_side own, struct ana_reason_side usual);
/* Returns the share of a segment's time on a processor; NAN: not known. */
double ana_on_processor(struct ana_reason_side side);
