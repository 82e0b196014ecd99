/* Replay: time that mending one thing would save.  The run is gone through once more, with that thing taken out.
 *
 * A *scenario* is the run as it would be.  It keeps how much earlier each step ends in it than in truth:
 *   begin of a step  as much earlier as the step before, plus the time taken out of the segment between
 *   end of a step    as much earlier as the latest of its own begin and the begins of the calls that it needs
 *                    (*edges*); the rest of the call lasts as long as it did A rank that waited for the mended one now
 * waits for the next.  All scenarios go along in one pass, some time after the events, when all edges of that time are
 * known; a rank is replayed when a step needs it.
 *
 * Edges: a receive needs its send; a send that was held up, or is synchronous, its receive; a collective the calls of
 * other ranks that its kind waits for.  A send that did not wait for its receiver never will. */
#pragma once

#include "trace/util/hash_map.h"
#include "trace/cause/ahead.h"
#include "trace/cause/causes.h"

#define ANA_SCENARIO_IDEAL  0u /* calls that communicate take no time of their own: the ideal network of POP */
#define ANA_SCENARIO_CALLS  6u /* upwards: calls of one place take no time; below: segments are as fast as others */
#define ANA_SCENARIO_SECOND 5u /* segments of the next ranks, and of the scenario before it (`then`) */
#define ANA_EDGES_OF_STEP   2u /* average number of edges there is room for */

/* Thing taken out of the run in a scenario. */
struct ana_scenario {
    uint32_t what;    /* number of the segment kind, or of the place, + 1; 0: nothing */
    bool siblings;    /* usual_ns is the time of other segment kinds after the same call */
    bool then;        /* it is taken out in ANA_SCENARIO_SECOND, too */
    int64_t usual_ns; /* segment kind: usual time of other ranks */
    int64_t weight;   /* cost that led to the choice */
};

/* Dependency of a step. */
struct ana_edge {
    uint32_t next;        /* another one of the same step; 0: none */
    uint32_t index, step; /* a step of a rank; ANA_MEETING: the number of a meeting */
};
#define ANA_MEETING UINT32_MAX

/* Calls that all wait for the last of them: a collective. */
struct ana_meeting {
    uint64_t first; /* number of its first member */
    uint32_t count, ready;
    int64_t last_ns; /* begin of the latest ready member; INT64_MIN: none is ready */
    struct ana_ahead last;
};
struct ana_member {
    uint32_t index, step;
};

/* Nonblocking collective that some of its ranks have still to complete. */
struct ana_begun {
    uint32_t meeting, left;
};

struct ana_replay_rank {
    uint32_t done;           /* steps that have been replayed */
    uint32_t edges;          /* so far */
    struct ana_edge *edge;   /* a ring */
    struct ana_ahead now;    /* state at the end of the last step replayed */
    struct ana_ahead *ahead; /* slots, unordered: ends of steps where the begin of the next is needed */
    uint16_t *ahead_of;      /* slot of each step, + 1; 0: none */
    uint16_t edge_room;      /* a power of two */
    uint16_t aheads;         /* slots ever used at a time, */
    uint16_t ahead_room;     /* slots allocated */
    uint16_t free;           /* first free slot, + 1, which holds the number of the next; 0: none */
    bool busy;               /* it is being replayed for another */
};

struct ana_replay {
    struct ana_replay_rank *rank;
    struct ana_meeting *meeting;
    struct ana_member *member;
    uint32_t meetings, meeting_room; /* number so far; a power of two */
    uint64_t members, member_room;
    struct ana_run_arrival *arrived; /* arrivals at the present collective */
    size_t coming, arrived_room;
    struct ana_map begun; /* struct ana_begun by communicator, sequence, 0 */
    uint32_t *stack;      /* pairs of a rank and a step that it must come to */
    struct ana_scenario scenario[ANA_SCENARIOS];
    uint8_t *segment; /* scenario of each segment, by number - 1, 0: none; as many as at the last choice */
    size_t segments;
    int64_t saves[ANA_SCENARIOS]; /* values for closed causes */
    bool out_of_memory;           /* state of a rank is missing somewhere */
};

/* Returns the next edge of a step, by its `number`; NULL: there is no more, or it has been overwritten. */
static inline const struct ana_edge *ana_edge_at(const struct ana_replay_rank *rank, uint32_t number)
{
    uint32_t room = rank->edge_room;
    return number && rank->edges - number < room ? &rank->edge[number & (room - 1u)] : NULL;
}

/* Returns how far ahead a rank was at the end of a step that has been replayed and is kept; where that was not needed,
 * the present state. */
static inline const struct ana_ahead *ana_ahead_at(const struct ana_causes *causes, const struct ana_replay_rank *rank,
                                                   uint32_t step)
{
    uint16_t of = rank->ahead_of[step & causes->mask];
    return of ? &rank->ahead[of - 1] : &rank->now;
}

/* A meeting by its number; NULL: it has been overwritten. */
static inline struct ana_meeting *ana_meeting_at(const struct ana_replay *replay, uint32_t number)
{
    struct ana_meeting *meeting = &replay->meeting[number & (replay->meeting_room - 1)];
    bool kept =
        replay->meetings - number < replay->meeting_room && replay->members - meeting->first <= replay->member_room;
    return kept ? meeting : NULL;
}

/* One of its members. */
static inline struct ana_member *ana_member_at(const struct ana_replay *replay, const struct ana_meeting *meeting,
                                               uint32_t i)
{
    return &replay->member[(meeting->first + i) & (replay->member_room - 1)];
}

/* Room for the replay of `ranks` ranks with `room` steps each; NULL: out of memory. */
struct ana_replay *ana_replay_new(size_t ranks, uint32_t room);
/* Frees it; NULL is none. */
void ana_replay_free(struct ana_replay *replay, size_t ranks);

/* Makes room for edges and states of a rank, for `room` kept steps.  False: out of memory. */
bool ana_replay_rank_begin(struct ana_replay *replay, size_t index, uint32_t room);
/* Stores how far ahead a rank is now, at the end of a step, which was replayed last. */
void ana_replay_store_ahead(const struct ana_causes *causes, size_t index, uint32_t step);
/* Notes that a step needs another; 0 is none. */
void ana_replay_edge(struct ana_causes *causes, size_t index, uint32_t step, size_t needs_index, uint32_t needs_step);
/* Adds some arrivals at the next collective. */
void ana_replay_arrivals(struct ana_causes *causes, const struct ana_run_arrival *arrival, uint32_t n);
/* Notes the needs of the calls of a collective (an ANA_RUN_INSTANCE). */
void ana_replay_instance(struct ana_causes *causes, const struct ana_run_fact *fact);
/* Notes the need of the completion of a nonblocking collective (an ANA_RUN_JOINED). */
void ana_replay_joined(struct ana_causes *causes, const struct ana_run_fact *fact);
/* Notes that all ranks ended together, if they did: none left MPI_Finalize before the last had come to it. */
void ana_replay_ends(struct ana_causes *causes);

/* Replays a rank's steps up to this one, and the steps needed for them. */
void ana_replay_to(struct ana_causes *causes, size_t index, uint32_t step);
/* Replays all steps that ended by `now_ns`. */
void ana_replay_until(struct ana_causes *causes, int64_t now_ns);

/* The scenario that a segment is in, by its number; 0: none. */
static inline uint32_t ana_scenario_of(const struct ana_replay *replay, uint32_t segment)
{
    return segment - 1 < replay->segments ? replay->segment[segment - 1] : 0;
}

/* Returns how much earlier the run would end, in ns; `over`: by rank, whether its last step is the last it will ever
 * make. */
int64_t ana_replay_saves(const struct ana_causes *causes, uint32_t scenario, const bool *over);
