/* Relations between ranks: events in job time, messages and collective instances.
 *
 *   trc_cursor of each thread -> merge (merge.h) -> ana_event, in order of end
 *                             -> match (match.h) -> ana_message, ana_instance
 *                             -> wait states, statistics, timeline
 *
 * These structs are the whole contract between the stages: each can be fed by hand in a test. */
#pragma once

#include "trace/reader/reader.h"
#include <stddef.h>

/* Actions of the match for events of one signature, and their targets: filled by the match, see match.c. */
struct ana_channel;
struct ana_route {
    uint64_t epoch;    /* holds while this is the match's; 0: not looked up */
    uint64_t identity; /* identity of the communicator as all of its worlds see it; 0: none */
    union {
        struct { /* channels of the message ends that it begins; NULL: none, a wildcard, or not known */
            struct ana_channel *send, *receive;
        };
        struct ana_route_meeting { /* values of a collective, if that is all that it does */
            uint32_t operation;    /* number of the operation */
            uint32_t root;         /* rank index; UINT32_MAX: none */
            uint32_t expected;     /* members */
            int32_t comm_rank;     /* rank as in ana_arrival */
        } meeting;
    };
    uint32_t source; /* rank index of whom it receives from; UINT32_MAX: not known */
    uint32_t does;   /* enum ana_does */
};

/* Data shared by all events of one signature; looked up at the first event in a chunk.  It lies in the signature's
 * trc_note: zeros are "not yet". */
struct ana_use {
    const struct trc_call *call; /* set by the merge: never NULL in an event; lives as long as the job */
    const struct trc_comm *comm; /* set by the merge, or NULL */
    enum ana_use_kind { ANA_USE_NEW, ANA_USE_COUNTS, ANA_USE_LEFT_OUT } kind : 8; /* set by the code that adds up */
    enum trc_category category : 8;
    bool is_sub;                    /* no call of its own */
    bool is_remote : 1, is_out : 1; /* a message sent to another world; what a filter does not take */
    bool is_quiet : 1;              /* an unsuccessful poll, or a control round */
    uint8_t wanted : 3;             /* set by the merge: result of its filter, + 1 */
    bool is_plain : 1;              /* plain call: it counts, and is none of the above, nor of NCCL or I/O */
    bool is_local : 1;              /* set by trace/why: it communicates with nobody */
    uint32_t number, site;          /* set by ana_tally_use: job-wide number of the call; place of its site's sum + 1 */
    uint32_t place;                 /* set by trace/why: place of the call */
    uint64_t sent, received;        /* bytes of each call */
    uint32_t from, region, segment; /* set by trace/why: the segment that ends there, its first place and its region */
    struct ana_route route;
    uint32_t mark; /* set by trace/iter: mark of the call, + 1; 0: none */
    uint32_t size; /* set by trace/iter: tells the call from others at its place: size, tag, callers */
};

/* One item of one thread, with its times in job nanoseconds: a line of the cache.  The merge makes it where its item
 * was decoded, so what that holds is not copied. */
struct ana_event {
    union {
        struct trc_brief item; /* until then */
        struct {
            /* Fields of trc_record; in the order of trc_brief. */
            enum trc_record_kind kind : 8;
            bool joined; /* it is a SUB item, given out directly after its event, or another SUB item of that */
            uint16_t request_thread;
            uint32_t index;            /* index of the rank */
            const struct trc_sig *sig; /* NULL: it has no use */
            union {
                uint64_t sequence;
                int64_t busy_ns; /* time inside the polls of a FOLD, which has no sequence */
            };
            union {
                uint64_t request;
                uint64_t count; /* count of all kinds but EVENT, which have no request */
            };
            int64_t begin_ns, end_ns; /* times; of a SUB item: the times of its event */
            struct ana_use *use;      /* valid until more events are taken; NULL for LOST and regions */
            uint32_t thread;          /* index in its file */
            uint32_t step; /* number of its call in the steps of its rank, by trace/why; 0: none, or not looked at */
        };
    };
};
_Static_assert(sizeof(struct ana_event) == 64, "an event is a line of the cache");
_Static_assert(offsetof(struct ana_event, sig) == offsetof(struct trc_brief, of) &&
                   offsetof(struct ana_event, sequence) == offsetof(struct trc_brief, sequence) &&
                   offsetof(struct ana_event, request) == offsetof(struct trc_brief, request) &&
                   offsetof(struct ana_event, use) == offsetof(struct trc_brief, room),
               "what an item holds stays where it is");

/* The number of its collective; 0: it has none. */
static inline uint64_t ana_event_sequence(const struct ana_event *e)
{
    return e->kind == TRC_RECORD_FOLD ? 0 : e->sequence;
}

/* Answer of a filter, which selects the events that a merge gives out: asked once a signature and chunk, of an event
 * with index, sig and use only. */
enum ana_wanted {
    ANA_UNWANTED,
    ANA_UNWANTED_TAME, /* unwanted, unless a wild event came before it in its file */
    ANA_WANTED,
    ANA_WANTED_WILD
};
struct ana_filter {
    const void *user;
    enum ana_wanted (*wants)(const void *user, const struct ana_event *event); /* any thread */
};

/* Room for what the sink looks up once for all messages of a channel. */
struct ana_message_note {
    _Alignas(uint64_t) unsigned char room[40];
};

/* A point-to-point message whose both ends were seen. */
struct ana_message {
    size_t source, destination;
    uint64_t comm_identity;
    uint64_t bytes;
    struct ana_message_note *note; /* note of its channel: zeros at first and whenever the match has forgotten the
                                      channel; NULL: set by hand */
    int32_t tag;
    bool synchronous;
    int64_t send_begin_ns, send_end_ns;           /* the call that started the send */
    int64_t send_wait_begin_ns, send_complete_ns; /* the call that completed it (the same call for blocking sends);
                                                     INT64_MIN if not seen yet */
    const struct trc_call *send_call,
        *send_wait_call; /* calls of both: MPI_Isend, MPI_Start ..; MPI_Wait .., NULL: not seen */
    int64_t recv_wait_begin_ns, recv_complete_ns;      /* the call that completed the receive */
    const struct trc_call *recv_call, *recv_wait_call; /* calls that started and completed it; NULL: not seen */
    int64_t recv_begin_ns;                             /* posted */
    uint32_t send_step, send_wait_step, recv_step, recv_wait_step; /* step numbers of the calls (ana_event.step) */
};

/* One collective operation, all of its ranks seen. */
struct ana_arrival {
    size_t index;
    int64_t begin_ns, end_ns; /* times of the call that started it */
    int32_t comm_rank;        /* rank in its group; -1: a bystander (MPI_PROC_NULL as root on an intercommunicator) */
    uint32_t step;            /* number of that call (ana_event.step) */
};
struct ana_instance {
    const struct trc_call *call;
    const struct trc_comm *comm; /* communicator as one of the ranks defined it */
    uint64_t comm_identity;
    uint64_t sequence;
    bool mismatched;  /* the ranks called different functions under one sequence number */
    bool nonblocking; /* begins are of the initiating calls: nobody waits there */
    int64_t root;     /* rank index of the root, -1: none */
    size_t arrivals;
    const struct ana_arrival *arrival; /* sorted by begin; valid during the callback */
};

/* A call that completed a nonblocking collective which all its ranks had begun by then. */
struct ana_joined {
    size_t index;
    const struct trc_call *call; /* MPI_Wait .. */
    int64_t begin_ns, end_ns;
    uint32_t step; /* number of that call (ana_event.step) */
    uint64_t comm_identity, sequence;
    bool needs_all;            /* begun; else `needed`, or nobody */
    struct ana_arrival needed; /* last of the needed ranks to begin; its own index: nobody */
};

/* A call that needs one of another rank: in an epoch of a window, or of a neighbour. */
struct ana_need {
    const struct trc_call *call; /* the one that needs: MPI_Win_wait, MPI_Neighbor_alltoall .. */
    struct ana_arrival waiter, needed;
    uint64_t comm_identity; /* identity of the window, or the neighbours' communicator */
};
