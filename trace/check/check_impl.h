/* Declarations shared by the files of the check; nobody else includes this.
 *
 *   load     each thread's calls become steps; a request's completion is known when its start is reached
 *   replay   the steps are played again, every send synchronous: message ends are paired, ranks of collectives meet
 *   found    disagreements there, and leftovers, become findings */
#pragma once

#include "trace/check/check.h"
#include "trace/job/comms.h"
#include "trace/job/site_words.h"
#include "trace/util/hash_map.h"
#include "trace/util/pool.h"

#define ANA_NO_RANK UINT32_MAX

/* Fields shared by all steps of one signature. */
struct ana_act {
    struct trc_sig sig;
    const struct trc_call *call;
    const struct trc_comm *comm; /* or NULL */
    uint64_t identity;           /* identity of comm, in all of its worlds */
    uint32_t to, from;           /* rank indices of the partners; ANA_NO_RANK: none, any, or not known */
    uint32_t rank;               /* owner of the signature */
};
#define ANA_ACTS 256u /* acts in a piece */
struct ana_acts {
    struct ana_act **piece;
    size_t count;
};

/* An event, or a SUB item of the one before. */
struct ana_step {
    uint32_t act;
    uint32_t request_thread;
    uint64_t request, sequence;
    uint64_t begin; /* ticks */
};

struct ana_end;
struct ana_meeting;
struct ana_stamp;

/* A request, by its start number on its thread; or what a blocking call has under way. */
struct ana_request {
    const struct ana_act *start, *end; /* NULL: not seen */
    bool freed;                        /* freed by MPI_Request_free: its completion time is not known */
    struct ana_end *send, *receive;    /* replay: ends it has begun and nobody has completed; NULL: nothing */
    struct ana_meeting *meeting;
    size_t place; /* number in the meeting, by arrival */
};

/* One thread of one rank, and how far the replay has come with it. */
struct ana_actor {
    uint32_t rank, thread;
    struct ana_step *step;
    size_t steps, room;
    struct ana_request *request;
    size_t requests, request_room;
    size_t at;      /* the step that comes next */
    size_t waiting; /* begin of the call that it is inside; == at: in none */
    size_t missing; /* ends and meetings that this call still waits for */
    bool let_go;    /* it goes on, whatever is missing */
    bool stuck;     /* replay is stuck: nobody can ever move it */
    size_t visited; /* replay is stuck: its place on the way along the waiting chain, 0 none */
    struct ana_request blocking;
    uint32_t *clock; /* vector clock, one word an actor; NULL: none is kept */
};

/* One rank: its threads, and data common to all of them. */
struct ana_player {
    size_t first, actors;
    struct ana_acts acts;
    bool finalized;         /* ended in its own way: its leftovers are left */
    bool whole;             /* all its events are there */
    bool queued;            /* it has its turn */
    bool unknown_receives;  /* it received unknown messages: any message may have been received */
    struct ana_map windows; /* struct ana_epoch by object, target + 1 (0: the window itself) */
    struct ana_wild *wild;  /* last receives from any source */
};

/* One end of a message. */
struct ana_end {
    const struct ana_act *act;        /* act that started it */
    const struct ana_act *got;        /* receives: the message that came, by its completion */
    struct ana_actor *owner, *waiter; /* owner NULL: gone on without it */
    struct ana_end *next;             /* next end in its channel's queue */
    struct ana_stamp *stamp;          /* time of the send; owned by the receive once it is paired */
    uint64_t serial;                  /* order of posting */
    bool receive, paired, done;       /* done: nobody has to wait for it */
};

struct ana_check {
    struct ana_job *job;
    struct ana_player *player; /* indexed by rank */
    struct ana_actor *actor;   /* ordered by rank, then thread */
    size_t actors;
    uint64_t calls;
    bool memory;  /* ran out */
    bool partial; /* events are missing somewhere: matches are not known */
    bool free;    /* nobody waits in the replay: it has lost its way, or is partial */
    bool wild;    /* somebody receives from any source: clocks are kept */

    struct ana_pool ends, stamps;
    struct ana_map channels; /* struct ana_ends_queue by identity, source and destination, tag */
    struct ana_map meetings; /* struct ana_meeting * by identity, sequence */
    struct ana_map groups;   /* struct ana_group by identity */
    uint64_t serial;
    uint32_t *turn; /* ring of the ranks that have somebody to move */
    size_t turn_first, turns;
    struct ana_found *found;
};

/* load.c */
/* Reads all files into players and actors.  False: out of memory. */
bool ana_check_load(struct ana_check *c);
/* Frees them. */
void ana_check_unload(struct ana_check *c);
/* The actor of a rank's thread; NULL: there is none. */
static inline struct ana_actor *ana_actor_of(const struct ana_check *c, uint32_t rank, uint32_t thread)
{
    const struct ana_player *p = &c->player[rank];
    return thread < p->actors ? &c->actor[p->first + thread] : NULL;
}
/* The act of a step. */
static inline const struct ana_act *ana_act_of(const struct ana_check *c, const struct ana_actor *actor,
                                               const struct ana_step *step)
{
    return &c->player[actor->rank].acts.piece[step->act / ANA_ACTS][step->act % ANA_ACTS];
}
/* The request that a step starts or completes; NULL: not known. */
static inline struct ana_request *ana_request_of(const struct ana_check *c, const struct ana_actor *actor,
                                                 const struct ana_step *step)
{
    struct ana_actor *owner = ana_actor_of(c, actor->rank, step->request_thread);
    return owner && step->request < owner->requests ? &owner->request[step->request] : NULL;
}
/* Whether the actor is inside a call that does not end. */
static inline bool ana_actor_blocked(const struct ana_actor *actor)
{
    return actor->waiting < actor->at && actor->missing > 0;
}

/* replay.c */
/* Plays all steps again.  False: out of memory. */
bool ana_check_replay(struct ana_check *c);
/* Something that the actor waits for is there now. */
void ana_actor_wake(struct ana_check *c, struct ana_actor *actor);
/* Runs a rank until it waits. */
void ana_rank_queue(struct ana_check *c, uint32_t rank);

/* stuck.c */
/* Nobody can move: reports who waits for whom in a circle, and lets somebody go on.  False: nobody is blocked. */
bool ana_check_stuck(struct ana_check *c);

/* ends.c */
/* Begins without any. */
void ana_ends_begin(struct ana_check *c);
/* Frees all that are left. */
void ana_ends_free(struct ana_check *c);
/* Begins an end of a message; NULL: its partner is not known. */
struct ana_end *ana_end_post(struct ana_check *c, struct ana_actor *actor, const struct ana_act *act,
                             const struct ana_act *got, bool receive);
/* Releases an end whose owner goes on: it is freed now or when it is paired.  NULL is none. */
void ana_end_leave(struct ana_check *c, struct ana_end *end);
/* Completes a send without its receive. */
void ana_end_buffer(struct ana_check *c, struct ana_end *end);
/* Whether a receive from any source could take another message that waits. */
bool ana_end_has_other(const struct ana_check *c, const struct ana_end *end);
/* Whether a receive with this signature takes messages from anyone. */
static inline bool ana_act_is_wild(const struct ana_act *act)
{
    return act->sig.source == TRC_PEER_ANY || act->sig.flags & TRC_SIG_ANY_SOURCE;
}
/* The tag that a receive asks for; TRC_TAG_ANY. */
static inline int32_t ana_act_asks_tag(const struct ana_act *act)
{
    return act->sig.flags & TRC_SIG_ANY_TAG ? TRC_TAG_ANY : act->sig.rtag;
}
/* Reports the messages that nobody received. */
void ana_check_unreceived(struct ana_check *c);

/* race.c */
/* Begins the clocks, where somebody receives from any source.  False: out of memory. */
bool ana_clocks_begin(struct ana_check *c);
/* Copies the actor's clock; NULL: none is kept.  Free with ana_stamp_drop. */
struct ana_stamp *ana_stamp_copy(struct ana_check *c, const struct ana_actor *actor);
/* The stamp now includes what the actor knows.  NULL: nothing. */
void ana_stamp_meet(struct ana_stamp *into, const struct ana_actor *actor);
/* Frees a stamp; NULL is none. */
void ana_stamp_drop(struct ana_check *c, struct ana_stamp *stamp);
/* Merges the stamp's knowledge into the actor's.  NULL: nothing. */
void ana_clock_join(struct ana_actor *actor, const struct ana_stamp *stamp);
/* Both ends were paired: reports the receives from any source that could have taken the message before. */
void ana_check_race(struct ana_check *c, const struct ana_end *send, const struct ana_end *receive);
/* A receive has completed.  Nothing unless it was from any source. */
void ana_race_open(struct ana_check *c, const struct ana_actor *actor, const struct ana_end *receive);

/* meet.c */
/* Begins without any. */
void ana_meetings_begin(struct ana_check *c);
/* Adds an actor to a collective; *place: its number among the actors there.  NULL: the others are not known. */
struct ana_meeting *ana_meeting_enter(struct ana_check *c, struct ana_actor *actor, const struct ana_act *act,
                                      uint64_t sequence, size_t *place);
/* Makes the actor at a place wait for the members that are missing, if any are.  NULL: nothing. */
void ana_meeting_wait(struct ana_meeting *meeting, size_t place, struct ana_actor *actor);
/* Lets the actor at a place continue, with what the others knew.  NULL: nothing. */
void ana_meeting_leave(struct ana_check *c, struct ana_meeting *meeting, size_t place, struct ana_actor *actor);
/* The next member that has not come, from number *at on, as a rank index; ANA_NO_RANK: no more. */
uint32_t ana_meeting_missing(const struct ana_check *c, struct ana_meeting *meeting, size_t *at);
/* Compares the collectives that not all have come to. */
void ana_check_incomplete(struct ana_check *c);
/* Frees all that are left. */
void ana_meetings_free(struct ana_check *c);

/* agree.c */
/* Compares what the ranks of one collective gave, and reports what differs.  `all`: nobody is missing. */
void ana_check_agree(struct ana_check *c, const struct ana_act *const *act, size_t n, bool all);

/* types.c */
/* Returns whether the data that `a` sends (which_a 0) or receives (1) has the basic types of the data of `b`, as far
 * as both go.  If not, text[0] and text[1] are their signatures.  Unknown types are equal. */
bool ana_same_types(struct ana_check *c, const struct ana_act *a, unsigned which_a, uint64_t bytes_a,
                    const struct ana_act *b, unsigned which_b, uint64_t bytes_b, const char **text);
/* The reduction operation of an act. */
enum trc_reduction ana_operation_of(const struct ana_check *c, const struct ana_act *act);
/* Compares the datatypes of a message's ends, and reports what differs. */
void ana_check_message(struct ana_check *c, const struct ana_act *send, const struct ana_act *receive);

/* epochs.c */
/* Follows the epochs of windows: its rank's next call on one. */
void ana_check_epoch(struct ana_check *c, const struct ana_act *act);
/* Reports the epochs that are open at the end. */
void ana_check_open_epochs(struct ana_check *c);

/* left.c */
/* Reports calls that failed, and requests and objects that were left. */
void ana_check_left(struct ana_check *c);

/* findings.c */
/* Begins the findings of a check.  False: out of memory. */
bool ana_found_begin(struct ana_check *c);
/* Adds one: these acts (of any ranks) are to blame.  The detail is kept of the first at the same places. */
void ana_found_add(struct ana_check *c, enum ana_check_class id, const struct ana_act *const *act, size_t n,
                   const char *detail, ...) __attribute__((format(printf, 5, 6)));
/* Notes what could not be checked; each text once. */
void ana_found_limit(struct ana_check *c, const char *text);
/* Ends them, sorted; NULL: out of memory.  Free with ana_findings_free. */
const struct ana_findings *ana_found_end(struct ana_check *c);
