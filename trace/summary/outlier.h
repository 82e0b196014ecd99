/* Outliers of a part of a run: latecomers, their delay and its cost to others; the slowest messages. */
#pragma once

#include "trace/summary/summary.h"

#define ANA_OUTLIERS      16u /* rows in a summary, at most */
#define ANA_SLOW_MESSAGES 8u

/* Lateness that belongs together: of a rank's messages of one size from one place, or of a rank after one segment
 * to calls of one name. */
struct ana_outlier {
    bool is_message;
    size_t index;           /* the rank that was late */
    int64_t at_ns, late_ns; /* the worst: when it began, in job time, and how long; of a message how long its receiver
                                 waited for the send, else the segment before the call */
    uint64_t times;         /* waits of others */
    int64_t lost_ns;        /* total time of the waits */
    size_t waiters;         /* ranks that waited */
    size_t waiter[3];       /* first of the `waiters` */
    int size_class;         /* size class of messages; -1: no messages */
    const char *call;       /* call that they waited in */
    struct ana_segment_end from, to; /* the segment; of messages both the place that sends; call NULL: unknown */
};

struct ana_slow_message {
    size_t source, destination; /* rank indices */
    uint64_t bytes;
    int64_t at_ns;   /* job time when it was first waited for, or sent */
    int64_t ns;      /* time from at_ns until it was received */
    int64_t late_ns; /* part of `ns` until it was sent */
};

/* Writes a row in two parts: "150 ms outside MPI, Barrier a.c:20 -> Allreduce :30" and "7 ranks waited 1.03 s in
 * MPI_Allreduce"; or "late sender 3.1 ms, 262 kB to 0 and 2 x11" and "a.c:18". */
void ana_outlier_words(const struct ana_job *job, const struct ana_outlier *row, char *what, size_t what_size,
                       char *cost, size_t cost_size);
/* Writes "1->2 262 kB 3.2 ms". */
void ana_slow_message_words(const struct ana_job *job, const struct ana_slow_message *message, char *out, size_t size);
