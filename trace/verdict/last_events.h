/* The ends of the ranks' event streams, and the messages between two ranks. For trace/verdict only. */
#pragma once

#include "trace/format/format.h"
#include "trace/verdict/case_impl.h"

struct ana_last_collective {
    uint64_t identity, sequence;
    const struct trc_call *call;
    struct trc_sig sig;
    bool doubt; /* other ranks may count otherwise */
};
struct ana_open_request {
    struct trc_sig sig;
    const struct trc_call *call;
    uint32_t thread;
    uint64_t sequence;
    int64_t begin_ns;
    bool ended;
    bool cancelling; /* MPI_Cancel was called for it, or for one like it: a wait for it ends whatever others do */
};
struct ana_held_lock {
    uint64_t identity; /* identity of the window */
    int32_t target;    /* world rank; TRC_PEER_NONE: all, by MPI_Win_lock_all */
    bool shared;       /* MPI_LOCK_SHARED */
    uint64_t site;     /* site of the call that took it */
};
/* Calls that ask in vain, in a row or in turns with others; flags 0: none. */
struct ana_last_poll {
    struct trc_sig sig;
    uint32_t thread;
    int64_t end_ns;
};
enum { ANA_HELD_LOCKS = 16 };
struct ana_last_events {
    struct ana_held_lock lock[ANA_HELD_LOCKS]; /* MPI_Win_lock(_all) calls without MPI_Win_unlock; the newest */
    size_t locks;
    struct ana_map newest; /* identity -> sequence of the last collective begun, uint64_t */
    struct ana_last_collective *collective;
    size_t collectives, collective_room;
    struct ana_open_request *open; /* started and not completed, in order of start */
    size_t opens, open_room;
    int64_t progress_ns[TRC_MAX_THREADS]; /* end of each thread's last event that is no poll; INT64_MIN none */
    struct trc_sig null_send;             /* the last send to MPI_PROC_NULL; comm 0: none */
    struct ana_last_poll probe, test;     /* the last that asked for a message, and for requests */
    int64_t effect_ns;                    /* end of the last call that completed anything; INT64_MIN none */
    uint64_t vain;                        /* calls since */
    struct ana_last_collective failed;    /* the last call that waits and returned an error; `call` NULL: none */
    uint64_t since_failed;                /* calls since */
    bool fails;                           /* some call returned an error */
    struct ana_last_collective nested;    /* the last collective call inside another call; `call` NULL: none */
    uint64_t since_nested;                /* calls since */
    int64_t gap_ns;                       /* the longest time between two calls of a thread, and how many there were */
    uint64_t gaps;
};

/* last_events.c */
/* The last events of a rank, read when they are first asked for.  Never NULL: empty when out of memory. */
struct ana_last_events *ana_case_last_events(struct ana_case *c, size_t index);
/* Returns the longest time of a rank outside MPI between two of these calls, in ns; INT64_MAX: too few calls. */
int64_t ana_longest_outside_ns(struct ana_case *c, size_t index);
/* Whether two signatures have the same communicator, partners and tags. */
bool ana_same_partner(const struct trc_sig *a, const struct trc_sig *b);
/* Calls that may return without having completed anything, so that a program can make them for ever. */
bool ana_may_be_vain(enum trc_opclass opclass);
void ana_last_events_free(struct ana_last_events *last_events); /* NULL is none */
/* Ends a case's last events; of a watched job they stay known for the next case until more is read of the rank. */
void ana_case_close_last_events(struct ana_case *c);

/* pair.c: finds whether the need of a dependency is under way (dependency->met), and the message that came instead. */
void ana_dependency_check(struct ana_case *c, const struct ana_waiting *waiting, struct ana_dependency *dependency,
                          size_t partner);

/* Receives of the messages of one sender, communicator and tag. */
struct ana_taken {
    int64_t all, any;          /* messages; by receives from any source or of any tag */
    struct trc_sig failed;     /* the last call that took some and returned an error; flags 0: none */
    int64_t freed;             /* receives given up by MPI_Request_free while active, which may have taken more */
    uint64_t site, freed_site; /* sites of the last receive, rather an `any` one, and of the last of `freed` */
};
/* Finds the receives of a dependency's messages from `sender`.  False: unknown.  Reads all streams of the receiver. */
bool ana_dependency_taken(struct ana_case *c, const struct ana_dependency *d, size_t sender, struct ana_taken *out);

/* Messages that `from` has sent to `to`, by the counters of `from` or, if `received`, of `to`; -1 unknown. */
int64_t ana_messages(const struct ana_case *c, size_t from, size_t to, bool received);
/* Whether, by the counters, a message from `sender` is left that `receiver` has not taken. */
bool ana_message_left(const struct ana_case *c, size_t sender, size_t receiver);
