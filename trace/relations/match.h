/* Events to relations: sends with receives, and the ranks of one collective.
 *
 * Point to point, by MPI's rules.  A channel is (communicator identity, source, destination, tag).  Its messages are
 * sent in the order of the calls that start them and taken by its receives in the order in which these were posted
 * (MPI_Mprobe posts for the MPI_Mrecv that follows; MPI_Start for a persistent request).  A wildcard receive joins its
 * channel when it completes and its status tells the source and tag; until then it holds back every receive posted
 * later that could have taken the same message, since completion may be seen in another order (MPI_Waitany).
 * With several threads on one channel the order is the order of begins, as far as the events at hand allow: MPI leaves
 * it open.  Messages to MPI_PROC_NULL do not exist, cancelled ones leave, calls nested in other MPI calls do
 * not count.
 *
 * Missing events.  Where a rank's oldest events were recycled, or records were lost (a LOST item), counting from the
 * start would pair the wrong ends.  The channels of such a rank are kept (the last ANA_MATCH_KEPT of each end) and
 * paired from their last message backwards by ana_match_flush, if both ranks finalized (then nothing was in flight);
 * else they are uncertain: counted, and never reported.  A channel that outgrows its room is treated alike.
 *
 * Collectives: by (communicator identity, sequence number); complete when all members have come.
 *
 * Memory: bounded by ANA_MATCH_ENDS open message ends, ANA_MATCH_INSTANCES open collectives and the open requests. */
#pragma once

#include "trace/relations/bridge.h"
#include "trace/relations/relations.h"
#include "trace/util/archive.h"

#define ANA_MATCH_KEPT      65536u     /* ends kept of one channel and direction */
#define ANA_MATCH_ENDS      (1u << 20) /* ends kept in all */
#define ANA_MATCH_INSTANCES (1u << 16) /* collectives begun and not complete */

struct ana_match;

/* Each may be NULL.  The structs are valid during the call only. */
struct ana_match_sink {
    void *user;
    /* Once both ends are complete; a send that nobody completed (yet) comes with flush, send_complete_ns INT64_MIN. */
    void (*on_message)(void *user, const struct ana_message *message);
    /* Once the last member has come. */
    void (*on_instance)(void *user, const struct ana_instance *instance);
    /* After on_instance, for each member that completes a nonblocking one. */
    void (*on_joined)(void *user, const struct ana_joined *joined);
    /* Once a call of an epoch of a group, or of a neighbour, and the one that needs it are complete. */
    void (*on_need)(void *user, const struct ana_need *need);
    /* Messages between two ranks of one clock are left out, and collectives that tell nothing about clocks: of one
     * clock only, or where not all wait for all. */
    bool between_clocks;
};

struct ana_match_rank {
    uint32_t world;              /* 0 = the first MPI_COMM_WORLD, spawned ones 1, 2 ... */
    int32_t rank;                /* rank in that world; peers of its signatures are ranks of the same world */
    bool recycled;               /* oldest events were gone when reading began */
    bool finalized;              /* it will send and receive nothing more */
    bool lossy;                  /* records were lost, or it was switched off: unmatched ends are uncertain */
    const struct trc_file *file; /* definitions of groups and neighbours; NULL: they are not looked for */
    uint32_t clock;              /* number of its clock: equal numbers, one clock */
};

/* A match that reports to `sink`; NULL: out of memory.  Free with ana_match_free. */
struct ana_match *ana_match_new(struct ana_match_sink sink);
/* Frees it with everything open in it; NULL is none. */
void ana_match_free(struct ana_match *match);

/* Sets the communicators between worlds as they are known now.  They stay the caller's, and must live until others are
 * set.  `bridges` may be NULL. */
void ana_match_set_bridges(struct ana_match *match, const struct ana_bridges *bridges);

/* Makes a rank known, or updates it.  All ranks should be known before the first event: messages to a later one may
 * have been missed, so its channels are paired from the end.  Messages from and to unknown ranks are counted as
 * unknown.  False: out of memory, or an index out of reason. */
bool ana_match_set_rank(struct ana_match *match, size_t index, const struct ana_match_rank *rank);

/* Returns whether a match between clocks needs such events: for a filter (relations.h), whose user is the match.
 * Ranks and bridges do not change during the call; it may take events meanwhile. */
enum ana_wanted ana_match_wants(const void *match, const struct ana_event *event);

/* The next event; of one thread in order, of all in order of end as far as possible (merge.h).  Constant time on
 * average.  Never fails: what cannot be kept for want of memory is counted as uncertain. */
void ana_match_event(struct ana_match *match, const struct ana_event *event);

/* Whether something that began until `ns` waits for later events, or may: an end of a message, a collective, a
 * completion, a call that needs another. */
bool ana_match_waits(const struct ana_match *match, int64_t ns);

/* No more events are wanted, though there may be some: ends and collectives that are still open do not count as
 * unmatched.  Events after it are ignored. */
void ana_match_stop(struct ana_match *match);

/* No more events will come (of a job that has ended): reports all that is still open.  Once, before the counts are read
 * for good; events after it are ignored. */
void ana_match_flush(struct ana_match *match);

struct ana_match_counts {
    uint64_t messages;           /* reported */
    uint64_t unmatched_sends;    /* sends of a running job: not received yet */
    uint64_t unmatched_receives; /* posted and not complete */
    uint64_t unknown_peers;      /* ends whose partner has no file, or is not known */
    uint64_t uncertain;          /* ends that could not be paired for sure, see above */
    uint64_t cancelled;          /* ends that left by MPI_Cancel */
    uint64_t clock_violations;   /* messages complete before they were sent */
    uint64_t instances;          /* reported */
    uint64_t mismatched;         /* of these */
    uint64_t incomplete;         /* collectives that not all members have come to, open or given up */
};
/* Returns the counts so far. */
struct ana_match_counts ana_match_counts(const struct ana_match *match);

/* Returns the number of open collectives: not all members have come to them.  A hung job hangs in an open
 * collective. */
size_t ana_match_open_instances(const struct ana_match *match);
/* Open collective i < ana_match_open_instances(match), oldest first.  *out, with its arrivals in order of coming, is
 * valid until the next event.  False: there is no such one. */
bool ana_match_open_instance(struct ana_match *match, size_t i, struct ana_instance *out);

/* Saves the counts and the open collectives, without their arrivals; or loads them into a match that knows its ranks
 * and has seen no event.  After ana_match_flush only. */
void ana_match_archive(struct ana_archive *archive, struct ana_match *match);
