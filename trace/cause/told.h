/* What is told to the search for causes: calls, waits, and what calls need of each other.
 *
 * One fact after the other, in the order in which they were found; nothing else is known there.  So the search may run
 * beside what finds the facts, and finds the same. */
#ifndef ANA_TOLD_H
#define ANA_TOLD_H

#include <stdbool.h>
#include <stdint.h>

/* In brackets: what `index` is.  Ranks are rank indices; places and segments are numbers of trace/why, + 1, 0: unknown;
 * steps 0: unknown. */
enum ana_told_kind {
    ANA_TOLD_PLACE,    /* a place that calls [its number] */
    ANA_TOLD_SEGMENT,  /* a segment of a rank, before the first step that ends it [its number] */
    ANA_TOLD_STEP,     /* a call [rank]; the steps of a rank are numbered in this order, from 1 */
    ANA_TOLD_WAIT,     /* a wait state */
    ANA_TOLD_POLLED,   /* a message that nobody waited for inside a call: the receiver may have polled for it [rank] */
    ANA_TOLD_NEED,     /* a call needs the begin of another [rank] */
    ANA_TOLD_ARRIVALS, /* some of those who took part in a collective, in order of their begins [how many] */
    ANA_TOLD_INSTANCE, /* the collective, after all of its arrivals [root's rank; UINT32_MAX: none] */
    ANA_TOLD_JOINED,   /* the completion of a nonblocking one [rank] */
    ANA_TOLD_SETTLE    /* how far the facts have come */
};

/* A wait that is to be followed. */
struct ana_late_wait {
    uint32_t waiter, culprit, waiter_step, culprit_step;
    int64_t ns, end_ns; /* what is to be charged; when it ended */
    bool device;        /* of a GPU: no call of the waiter's is longer by it */
};

/* One who took part in a collective. */
struct ana_told_arrival {
    uint32_t index, step;
    int32_t comm_rank; /* -1: a bystander */
};
#define ANA_TOLD_FEW 3u /* arrivals in one fact */

struct ana_told {
    uint32_t kind; /* enum ana_told_kind */
    uint32_t index;
    union {
        struct {
            bool communicates, ends; /* with other ranks; it is MPI_Finalize */
        } place;
        struct {
            uint32_t from, stretch; /* as in ana_segment */
        } segment;
        struct {
            int64_t begin_ns, end_ns;
            int64_t spins_ns;        /* since when it had been polled for; INT64_MIN: it was not */
            uint32_t segment, back;  /* before it, + 1; number of the thread's step before; 0 none */
            uint32_t place;          /* that calls, + 1; 0 unknown */
            uint32_t polled_ns : 31; /* of the segment, in unsuccessful polls: not above 2 s */
            uint32_t several : 1;    /* it is not of the rank's first thread */
        } step;
        struct ana_late_wait wait;
        struct {
            uint32_t step, sender, sender_step;
            int64_t send_begin_ns;
        } polled;
        struct {
            uint32_t step, of_index, of_step;
        } need;
        struct ana_told_arrival arrival[ANA_TOLD_FEW];
        struct {
            uint64_t comm_identity, sequence;
            uint32_t opclass;
            bool nonblocking;
        } instance;
        struct {
            uint64_t comm_identity, sequence;
            uint32_t step, of_index, of_step;
            bool needs_all;
        } joined;
        struct {
            int64_t now_ns; /* job time; INT64_MAX: there will be no more */
            bool idle;      /* nothing more will come for now */
        } settle;
    };
};

#endif
