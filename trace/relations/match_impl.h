/* Shared by the files of the matching; nobody else includes this. */
#pragma once

#include "trace/format/opclass.h"
#include "trace/relations/match.h"
#include "trace/util/hash_map.h"
#include "trace/util/pool.h"

#define ANA_NOBODY UINT32_MAX /* no rank index; of a posted receive: any source */

enum ana_end_flag {
    ANA_END_COMPLETE = 1u << 0, /* the call that completes it was seen */
    ANA_END_REQUEST = 1u << 1,  /* an open request leads here: freed when that completes */
    ANA_END_RECEIVE = 1u << 2,
    ANA_END_SYNC = 1u << 3,
    ANA_END_SILENT = 1u << 4,    /* takes its place in the order, but its times are not known: never reported */
    ANA_END_ABANDONED = 1u << 5, /* out of all lists: only its request still knows it */
    ANA_END_WILD = 1u << 6       /* a wildcard whose channel is not known yet */
};

/* Data of one end of a message. */
struct ana_half {
    int64_t begin_ns, end_ns; /* times of the call that started it */
    int64_t wait_begin_ns, complete_ns;
    const struct trc_call *call, *wait_call;
    uint64_t bytes;
    uint64_t serial;          /* order of ends that begin together */
    uint32_t flags;           /* enum ana_end_flag */
    uint32_t gaps;            /* number of gaps of its rank when it began */
    uint32_t step, wait_step; /* step numbers of both calls */
};

/* Arguments of a wildcard receive. */
struct ana_asked {
    uint64_t identity;
    uint32_t source;      /* or ANA_NOBODY */
    int32_t tag;          /* or TRC_TAG_ANY */
    uint32_t destination; /* index of the receiving rank */
};

/* One end that waits for the other.  Jobs of many ranks have many, which are cold when their other end comes: two lines
 * of a cache each. */
struct ana_end {
    struct ana_half half;
    struct ana_end *next, *prev; /* neighbours in `list` */
    struct ana_ends *list; /* a channel's queue, a rank's wildcards, or the pairs that wait for the send's completion */
    union {
        struct {
            struct ana_channel *channel;
            struct ana_end *partner; /* receive of a send that waits to be completed */
        };
        struct ana_asked asked; /* ANA_END_WILD */
    };
};

struct ana_ends {
    struct ana_end *head, *tail;
    uint32_t count;
};

/* Channel, where messages keep their order.  All but the data for reports is in the first line of a cache. */
struct ana_channel {
    struct ana_ends sends, receives; /* ends in order of begin */
    uint32_t source, destination;
    int32_t tag;
    bool blocked; /* member of the destination's list of channels that a wildcard holds back */
    bool kept;    /* outgrew its room: to be paired from the end */

    uint64_t identity;            /* identity of the communicator */
    struct ana_message_note note; /* the sink's */
    struct ana_channel *next_blocked;
    uint64_t pairs; /* waiting for the send's completion */
};
_Static_assert(sizeof(struct ana_end) == 128 && sizeof(struct ana_channel) == 128, "as many lines as promised");

/* A request that was started lately.  Start numbers of a thread follow each other, so each has its place. */
struct ana_pending {
    uint64_t number;
    uint32_t thread;
    struct ana_end *end, *also; /* the ends that it completes: none if the place is free; two of MPI_Isendrecv */
};
#define ANA_MATCH_PENDING 64u /* most of a rank; the excess goes into match->requests */
#define ANA_MATCH_FEW     4u  /* initial number; both are powers of two */

/* Process of a rank.  Fields that each event needs are in the first line of a cache. */
struct ana_match_process {
    _Alignas(64) const struct trc_call **inside; /* call of the last event that was not SUB, by thread */
    const struct trc_call *inside_first;         /* storage of `inside` as long as there is one thread */
    struct ana_pending *pending;
    uint32_t threads;
    uint32_t pending_mask; /* room, a power of two, - 1 */
    uint32_t gaps;         /* number of gaps: events missing, since reading began */
    bool gap;              /* events are missing: pair from the end */
    struct ana_ends wildcards;
    struct ana_channel *blocked;
    struct ana_match_rank is;
};

struct ana_world {
    uint32_t *index; /* rank -> index + 1 */
    uint32_t size;
};

/* The place of an event's request. */
static inline struct ana_pending *ana_pending_at(const struct ana_match_process *process, const struct ana_event *event)
{
    return &process->pending[event->request & process->pending_mask];
}
/* Whether a place is taken. */
static inline bool ana_is_open(const struct ana_pending *pending)
{
    return pending->end;
}
/* Whether a place is taken by the request of an event. */
static inline bool ana_is_of(const struct ana_pending *pending, const struct ana_event *event)
{
    return ana_is_open(pending) && pending->number == event->request && pending->thread == event->request_thread;
}

/* Request that was started long ago and is not completed: value of match->requests. */
struct ana_open_request {
    struct ana_end *end, *also; /* ends as in ana_pending */
};

struct ana_open_instance {
    uint64_t identity, sequence;
    struct ana_open_instance *older, *newer;
    uint32_t operation; /* number as in ana_route_meeting */
    const struct trc_call *call;
    const struct trc_comm *comm;
    uint32_t first_index; /* rank in whose world the members are ranks */
    int64_t root;
    bool mismatched, nonblocking;
    size_t expected, arrivals, room;
    struct ana_arrival *arrival;
};

/* The request of a nonblocking collective: value of match->joining. */
struct ana_coll_request {
    uint64_t identity, sequence;
};

/* A nonblocking collective that all have begun: value of match->begun_colls. */
struct ana_begun_coll {
    struct ana_arrival last, root; /* arrival that began last; the root, its comm_rank -1: none */
    enum trc_shape shape;
    size_t left; /* members that have not completed it */
};

/* One kind of call from one rank to another: value of match->partners. */
#define ANA_PARTNER_KEPT 4
struct ana_partner_line {
    uint64_t made, needed; /* calls so far; the last ones of the side ahead are kept */
    struct ana_partner_end {
        struct ana_arrival at;
        const struct trc_call *call;
    } kept[ANA_PARTNER_KEPT];
};

/* Actions of the match for an event, by its signature. */
enum ana_does {
    ANA_DOES_CALL = 1u << 0, /* the SUB items after it are seen by it */
    ANA_DOES_COMPLETE = 1u << 1,
    ANA_DOES_MEET = 1u << 2, /* meets others in a collective */
    ANA_DOES_SEND = 1u << 3,
    ANA_DOES_RECEIVE = 1u << 4,
    ANA_DOES_REQUEST = 1u << 5, /* starts a request that completes the operation */
    ANA_DOES_FOREIGN = 1u << 6, /* the source is known to be none of ours */
    ANA_DOES_NEED = 1u << 7,    /* call needs, or is needed by, particular ranks */
    ANA_DOES_NEAR = 1u << 8,    /* source rank is left out: of the same clock */
    ANA_DOES_SYNC = 1u << 9,    /* sends are complete only once received */
    ANA_DOES_LATER = 1u << 10,  /* nobody waits in it: a collective of a request, or of a stream */
};

/* The short way that an event takes, beside its actions: match_usual.c. */
enum ana_route_kind {
    ANA_ROUTE_ANY,
    ANA_ROUTE_NONE,
    ANA_ROUTE_SEND,
    ANA_ROUTE_RECEIVE,
    ANA_ROUTE_EXCHANGE,
    ANA_ROUTE_ISEND,
    ANA_ROUTE_IRECEIVE,
    ANA_ROUTE_COMPLETE,
    ANA_ROUTE_MEET
};
#define ANA_ROUTE_SHIFT 16

struct ana_match {
    struct ana_match_sink sink;
    struct ana_match_counts counts; /* open ones are added by ana_match_counts */
    bool begun, flushed, any_gap;   /* any_gap: of any process */
    uint64_t epoch;                 /* version of look-ups: rises when channels or ranks may have changed */
    const struct ana_bridges *bridges;
    struct ana_match_process **process; /* indexed by rank; NULL: not known.  They never move: lists point into them */
    uint32_t processes;
    struct ana_world *world;
    uint32_t worlds;

    struct ana_pool process_pool, end_pool, channel_pool, instance_pool;
    struct ana_map channels;   /* struct ana_channel * by identity, source << 32 | destination, tag */
    struct ana_map requests;   /* struct ana_open_request by index, thread, start number */
    struct ana_map instances;  /* struct ana_open_instance * by identity, sequence, 0 */
    struct ana_map operations; /* uint32_t, a number, by hash and length of a collective's name, 0 */
    struct ana_map joining;    /* struct ana_coll_request by index, thread, start number */
    struct ana_map early; /* struct ana_joined of collectives that not all have begun, by identity, sequence, index */
    struct ana_map begun_colls; /* struct ana_begun_coll by identity, sequence, 0 */
    struct ana_map partners;    /* struct ana_partner_line by identity, from << 32 | to, kind */
    size_t partners_most;       /* partners: when to look for unused ones */
    size_t sweep_at;            /* channels: when to look for unused ones */
    uint64_t serial;
    struct ana_ends waiting;                         /* sends received but not complete, oldest first */
    uint64_t queued_sends, open_receives, wildcards; /* wildcards: open ones of all ranks */

    struct ana_open_instance *oldest, *newest;
    size_t kept_arrivals;
    struct ana_arrival *spare_arrival; /* arrivals of the collective that was forgotten last */
    size_t spare_room;
    const struct ana_open_instance *walked; /* the last one asked for, or NULL */
    size_t walked_at;
};

/* The rank index of a rank in the world of process `from`; ANA_NOBODY if it has no file or is no rank. */
uint32_t ana_match_index(const struct ana_match *match, uint32_t from, int32_t world_rank);

/* Returns the pair of an event's communicator with another world's; NULL: it is of one world, or its other side is not
 * known. */
static inline const struct ana_bridge *ana_match_bridge(const struct ana_match *match, const struct ana_event *event)
{
    if (!match->bridges || !event->use->comm || !(event->use->comm->def.flags & TRC_COMM_FOREIGN))
        return NULL;
    return ana_bridge_find(match->bridges, match->process[event->index]->is.world, event->use->comm->def.identity);
}
/* The identity of an event's communicator, as all of its worlds know it. */
static inline uint64_t ana_match_identity(const struct ana_match *match, const struct ana_event *event)
{
    return ana_bridge_identity(match->bridges, match->process[event->index]->is.world, &event->use->comm->def);
}
/* The rank index of a partner in an event's signature; ANA_NOBODY: it has no file, is no rank, or is not known. */
static inline uint32_t ana_match_partner(const struct ana_match *match, const struct ana_event *event, int32_t peer)
{
    if (peer > TRC_PEER_REMOTE)
        return ana_match_index(match, (uint32_t)event->index, peer);
    uint32_t index = ana_bridge_partner(ana_match_bridge(match, event), peer);
    return index < match->processes && match->process[index] ? index : ANA_NOBODY;
}

/* Whether messages between these two ranks are left out; the second may be ANA_NOBODY. */
static inline bool ana_match_near(const struct ana_match *match, uint32_t index, uint32_t partner)
{
    return match->sink.between_clocks && partner != ANA_NOBODY &&
           match->process[index]->is.clock == match->process[partner]->is.clock;
}

/* match_channels.c */

/* The channel, made if there is none yet; NULL: out of memory.  Valid as long as match->epoch stays. */
struct ana_channel *ana_channel_of(struct ana_match *match, uint64_t identity, uint32_t source, uint32_t destination,
                                   int32_t tag);
/* The i-th of match->channels. */
static inline struct ana_channel *ana_channel_at(const struct ana_match *match, size_t i)
{
    return *(struct ana_channel **)ana_map_value(&match->channels, i);
}

/* Returns the call that an item belongs to: for a SUB item, the call of the event before. */
static inline const struct trc_call *ana_call_of(const struct ana_match_process *process, const struct ana_event *event,
                                                 uint32_t does)
{
    bool sub = !(does & ANA_DOES_CALL);
    return sub && event->thread < process->threads && process->inside[event->thread] ? process->inside[event->thread]
                                                                                     : event->use->call;
}

/* match.c */
/* Begins those ends of the messages of an event that are named: ANA_DOES_SEND, ANA_DOES_RECEIVE or both. */
void ana_message_begin(struct ana_match *match, const struct ana_event *event, const struct ana_route *route,
                       uint32_t ends);

/* match_usual.c: messages of known channels, which are most.  Unusual ones are left to others. */
/* Matches a call that sends and is over then. */
void ana_usual_send(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);
/* Matches one that receives. */
void ana_usual_receive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);
/* Matches one that does both. */
void ana_usual_exchange(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);
/* Begins a send of a request. */
void ana_usual_isend(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);
/* Begins a receive of a request. */
void ana_usual_ireceive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);
/* Completes a request. */
void ana_usual_complete(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);

/* match_requests.c */
/* Remembers what a request that an event starts leads to: one end, or also another. */
void ana_request_open(struct ana_match *match, const struct ana_event *event, struct ana_end *end,
                      struct ana_end *also);
/* Completes what the request of an event leads to. */
void ana_request_complete(struct ana_match *match, const struct ana_event *event, const struct ana_route *route);

/* match_p2p.c */

/* The call that completes a message end: an event, and its call. */
struct ana_end_finish {
    const struct trc_call *call;
    const struct ana_event *event;
    const struct ana_route *route;
    bool silent; /* completion time is not known */
};

/* Adds an end, with only `half` filled in, to a channel.  Returns the end for its request; NULL: it has no request, or
 * could not be kept. */
struct ana_end *ana_end_begin(struct ana_match *match, struct ana_channel *channel, struct ana_end *end);
/* Adds a wildcard receive, with only `half` filled in; its channel is not known before it completes. */
void ana_end_begin_wildcard(struct ana_match *match, const struct ana_asked *asked, struct ana_end *end);
/* Counts an end of rank `index` that there was no memory for. */
void ana_end_lost(struct ana_match *match, uint32_t index);
/* Completes an end whose request completed.  The request must drop its pointer: it is no longer valid. */
void ana_end_complete(struct ana_match *match, struct ana_end *end, const struct ana_end_finish *finish);
/* Removes an end whose request was cancelled.  The request must drop its pointer. */
void ana_end_cancel(struct ana_match *match, struct ana_end *end);
/* Completes a receive whose start is not known: it takes the place of the oldest open receive that fits, if any. */
void ana_end_complete_unknown(struct ana_match *match, const struct ana_end_finish *finish);
/* Counts a receive of rank `index` whose channel is not known; `foreign`: its source is none of ours. */
void ana_end_unresolved(struct ana_match *match, uint32_t index, bool foreign);
/* Notes that events of rank `index` are missing here: its open ends can no longer be paired in order. */
void ana_p2p_gap(struct ana_match *match, uint32_t index);

/* match_flush.c */
/* Pairs, from their last messages backwards, the channels that were kept for it, and counts what stays open. */
void ana_p2p_flush(struct ana_match *match);

/* match_coll.c */
/* Adds a collective that nobody has come to yet; NULL: out of memory. */
struct ana_open_instance *ana_coll_open(struct ana_match *match, const struct ana_open_instance *like);
/* Looks up what all events of a signature that meet in a collective share; they have a communicator. */
struct ana_route_meeting ana_coll_look_up(struct ana_match *match, const struct ana_event *event);
/* Adds an event to its collective, and reports the collective when all members have come. */
void ana_coll_arrive(struct ana_match *match, const struct ana_event *event, const struct ana_route *route,
                     const struct ana_route_meeting *meeting);
/* Frees the open collectives. */
void ana_coll_free(struct ana_match *match);

/* match_joined.c */
/* Remembers the request of a nonblocking collective. */
void ana_coll_request(struct ana_match *match, const struct ana_event *event, uint64_t identity);
/* Notes that all have begun a nonblocking collective. */
void ana_coll_all_begun(struct ana_match *match, const struct ana_open_instance *open);
/* Matches the completion of a request that is no message's: of a nonblocking collective, perhaps. */
void ana_coll_complete(struct ana_match *match, const struct ana_event *event, const struct trc_call *call);

/* match_partners.c */
/* Returns whether the call of an event needs, or is needed by, calls of particular ranks. */
bool ana_has_partners(const struct ana_event *event);
/* Adds such a call, and reports its needs and the calls that need it, as far as both are seen. */
void ana_partners_event(struct ana_match *match, const struct ana_event *event, uint64_t identity);
