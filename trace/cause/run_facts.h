/* Facts of a run: calls, messages, waits, and needs between calls.
 *
 * Facts come one by one, in the order in which they were found, to all consumers: the search for causes, the marks of
 * trace/iter and the sums of trace/job.  Nothing else is known there, so these may run on other threads than the code
 * that finds the facts, and find the same.  A fact is a line of the cache: each call and each message is one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ANA_MAIN_THREAD 0u         /* the thread of a rank that called MPI first */
#define ANA_NO_THREAD   UINT16_MAX /* thread of a call that counts as time outside calls */

/* Brackets hold the meaning of `index`, and the consumers: C causes, I iterations, S sums.  Ranks are rank indices;
 * places and segments are numbers of trace/why, + 1, 0: unknown; steps 0: unknown. */
enum ana_run_fact_kind {
    ANA_RUN_CALL,     /* a call: its step, its mark, and its part of sums [rank; CIS] */
    ANA_RUN_STEP,     /* a step alone; a rank's steps are numbered in this order, from 1 [rank; C] */
    ANA_RUN_MARK,     /* a mark alone, of one or several calls: end_ns - begin_ns is the time they took [rank; I] */
    ANA_RUN_COUNT,    /* a call that adds to sums alone [rank; S] */
    ANA_RUN_BYTES,    /* bytes handed over at end_ns, = begin_ns, by no call of their own [rank; S] */
    ANA_RUN_FOLD,     /* several calls [rank; S] */
    ANA_RUN_POLLS,    /* the next step of this rank had been polled for [rank; C] */
    ANA_RUN_WAIT,     /* a wait state [CS] */
    ANA_RUN_NEED,     /* a call needs the begin of another [rank; C] */
    ANA_RUN_MESSAGE,  /* the same need, of a message; and its part of sums [its receiver; CS] */
    ANA_RUN_SENT,     /* a message to a rank of another world [its sender; S] */
    ANA_RUN_PLACE,    /* a place that calls [its number; C] */
    ANA_RUN_SEGMENT,  /* a segment of a rank, before the first step that ends it [its number; C] */
    ANA_RUN_ARRIVALS, /* some participants of a collective, in order of their begins [how many; C] */
    ANA_RUN_INSTANCE, /* the collective, after all of its arrivals [root's rank; UINT32_MAX: none; C] */
    ANA_RUN_JOINED,   /* the completion of a nonblocking one [rank; C] */
    ANA_RUN_PROGRESS  /* progress of the facts [C] */
};

/* Places of the sums of a wait, + 1; 0: none. */
struct ana_wait_places {
    uint32_t sum;   /* sum of the pair; of the culprit, if the pair has no sum */
    uint32_t other; /* sum of the waiter, if the pair has no sum */
};

/* Wait to be followed. */
struct ana_late_wait {
    uint32_t waiter, culprit, waiter_step, culprit_step;
    int64_t ns, end_ns; /* time to be charged; end of the wait */
    uint32_t site;      /* number of the waiter's call site's sum, + 1; 0: unknown */
    bool device;        /* wait of a GPU: no call of the waiter's is longer by it */
    bool aside;         /* wait of another thread than the waiter's main one */
    bool counts;        /* it adds to sums */
};

/* Sums that a counted message adds to. */
struct ana_run_transfer {
    int64_t latency_ns, moving_ns, waited_ns; /* moving: since both ends had begun; waited: for the send to begin */
    uint64_t bytes;
    uint32_t pair; /* place of its pair's sum, + 1; 0: unknown */
    bool counts;   /* it adds to sums */
};

/* Participant of a collective. */
struct ana_run_arrival {
    uint32_t index, step;
    int32_t comm_rank; /* -1: a bystander */
};
#define ANA_RUN_ARRIVALS_MOST 3u /* arrivals in one fact */

struct ana_run_fact {
    uint8_t kind;     /* enum ana_run_fact_kind */
    uint8_t category; /* enum trc_category of a call */
    uint16_t thread;  /* thread of the call */
    uint32_t index;
    union {
        struct {
            int64_t begin_ns, end_ns;
            uint32_t segment, back;    /* segment before it; number of the thread's step before, 0 none */
            uint32_t place, polled_ns; /* call place; unsuccessful polls in the segment: not above 2 s */
            uint32_t mark, size, site; /* values of ana_use */
            float segment_ns;          /* duration of the segment */
            uint32_t sent, received;   /* bytes, if they fit; else a BYTES fact comes before */
        } call;
        struct {
            int64_t begin_ns, end_ns;
            union {
                struct {
                    uint64_t sent, received;
                };
                struct {
                    int64_t busy_ns; /* time inside all of the calls */
                    uint64_t calls;
                };
            };
            uint32_t site;
        } sum; /* fact of BYTES and FOLD; it begins as a call does */
        struct {
            int64_t begin_ns, until_ns;  /* from the first poll to the begin of the step */
            float share;                 /* share of that time inside the polls */
            const struct trc_call *call; /* call of the step */
        } spins;
        struct {
            bool communicates, ends, edge; /* flags: with other ranks; MPI_Finalize; the run lies between such calls */
        } place;
        struct {
            uint32_t from, segment_kind; /* fields of ana_segment */
            uint32_t rank, inside; /* inside: it is the time in local calls of that place, + 1; 0: between calls */
        } segment;
        struct {
            struct ana_late_wait late;
            int64_t begin_ns;
            struct ana_wait_places places;
        } wait;
        struct {
            uint32_t step, of_index, of_step; /* of_index in a MESSAGE: the sender */
            struct ana_run_transfer moved;    /* only in a MESSAGE */
        } need;
        struct {
            uint32_t pair; /* field of ana_run_transfer */
            uint64_t bytes;
        } sent;
        struct ana_run_arrival arrival[ANA_RUN_ARRIVALS_MOST];
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
            int64_t now_ns; /* job time; INT64_MAX: end of the facts */
            bool replays;   /* the run is replayed up to there, if something was chosen */
            bool idle;      /* nothing more will come for now: it is replayed in any case */
        } settle;
    };
};
_Static_assert(sizeof(struct ana_run_fact) == 64, "a fact is a line of the cache");
