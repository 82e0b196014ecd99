/* State of one rank at one time: the call that it is in, or its activity between two calls. */
#pragma once

#include "trace/summary/summary.h"

/* The longest wait of a call. */
struct ana_state_wait {
    enum ana_wait_kind kind;
    size_t culprit; /* rank index */
    int64_t begin_ns, end_ns;
};

struct ana_state_at {
    const char *unknown;      /* reason, "recording was off", static; NULL: the time is known */
    const char *call;         /* call that covers it, else the last one before; NULL: none before */
    bool covers;              /* at_ns is inside the call */
    bool open;                /* the call has not ended, and end_ns is the rank's last sign of life */
    int64_t begin_ns, end_ns; /* limits of the call; both the begin of the rank without one */
    int64_t until_ns;         /* begin of the next call of any thread; else end of the rank */
    uint64_t polls;           /* calls that this one stands for: a row of polls; else 1 */
    struct trc_sig sig;
    struct trc_path path; /* callers; none, or one alone, if no more is known */
    uint32_t place;       /* the one that the call is shown at */
    const char *comm_name;
    size_t to, from;    /* rank indices of the receiver and the sender of its message; SIZE_MAX: none, or not known */
    uint64_t sequence;  /* number of a collective */
    bool has_other_end; /* message only; */
    size_t other_index; /* the rank there */
    int64_t other_begin_ns;
    int32_t last_index; /* collective: rank that came last; -1 unknown */
    int64_t late_ns;    /* last arrival less first arrival */
    char region[128];   /* program's own region around its thread, the innermost last: "step, solve"; "": none */
    int64_t waited_ns;  /* part of the call around lost waiting for others; -1: unknown, not over, or none */
    struct ana_state_wait wait; /* if waited_ns > 0 */
};
/* Fills *out for `at_ns`, in job time.  False: nothing is known of that time, and out->unknown says why.  Decodes a
 * chunk or two, and goes over the kept messages and waits. */
bool ana_state_at(struct ana_job *job, size_t rank_index, int64_t at_ns, struct ana_state_at *out);
/* The begin of the rank's next (step 1) or previous (step -1) call from `at_ns`, in job time; at_ns if there is none.
 */
int64_t ana_step(struct ana_job *job, size_t rank_index, int64_t at_ns, int step);
/* Returns the begin of the longest call at a place, of the rank that spends most time there, in [begin_ns, end_ns) of
 * job time; INT64_MIN: there is none.  Decodes the events of that time. */
int64_t ana_longest(struct ana_job *job, const struct ana_site *site, int64_t begin_ns, int64_t end_ns);
/* Returns the begin of the longest call that sends a message from rank index `source` to `destination`; else as
 * ana_longest. */
int64_t ana_longest_send(struct ana_job *job, size_t source, size_t destination, int64_t begin_ns, int64_t end_ns);
