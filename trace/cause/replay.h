/* What it would save to mend one thing: the run is gone through once more, with that thing taken out.
 *
 * A *shadow* is the run as it would be.  Kept is how much earlier than in truth each step ends in it:
 *   its begin    as much as the step before, and what is taken out of the segment between
 *   its end      its own begin and those of the calls that it needs (*edges*) are as much earlier as they are; the last
 *                of them counts, and the rest of the call lasts as long as it did
 * So whoever waited for the one that is mended now waits for the next.  All shadows go along in one pass, some time
 * after the events, when all edges of that time are known; a rank is replayed when a step needs it.
 *
 * Edges: a receive needs its send; a send that was held up, or is synchronous, its receive; a collective those of its
 * calls that its kind waits for.  A send that did not wait for its receiver never will. */
#ifndef ANA_REPLAY_H
#define ANA_REPLAY_H

#include "trace/util/hash_map.h"
#include "trace/cause/ahead.h"
#include "trace/cause/causes.h"

#define ANA_SHADOW_IDEAL  0u /* calls that communicate take no time of their own: the ideal network of POP */
#define ANA_SHADOW_CALLS  6u /* and above: nor do those of one place; below: segments are as fast as those of others */
#define ANA_EDGES_OF_STEP 2u /* room for so many, on average */

/* What is taken out. */
struct ana_shadow {
    uint32_t what;    /* number of the stretch, or of the place, + 1; 0: nothing */
    int64_t usual_ns; /* a stretch: what others take */
    int64_t weight;   /* why it was chosen: what it costs */
};

/* What a step needs. */
struct ana_edge {
    uint32_t next;        /* another one of the same step; 0: none */
    uint32_t index, step; /* a step of a rank; ANA_MEETING: the number of a meeting */
};
#define ANA_MEETING UINT32_MAX

/* Calls that all wait for the last of them: a collective. */
struct ana_meeting {
    uint64_t first; /* of its members */
    uint32_t count, ready;
    int64_t last_ns; /* when the last of those came that are ready; INT64_MIN: none is */
    struct ana_ahead last;
};
struct ana_member {
    uint32_t index, step;
};

/* A nonblocking collective that some of its ranks have still to complete. */
struct ana_begun {
    uint32_t meeting, left;
};

struct ana_replay_rank {
    uint32_t done;           /* steps that have been replayed */
    uint32_t edges;          /* so far */
    struct ana_edge *edge;   /* a ring */
    struct ana_ahead now;    /* at the end of the last one that was replayed */
    struct ana_ahead *ahead; /* in any order: at the ends of those steps where the begin of the next is needed */
    uint16_t *ahead_of;      /* by step: which of them, + 1; 0: none */
    uint16_t edge_room;      /* a power of two */
    uint16_t aheads;         /* that were ever kept at a time, */
    uint16_t ahead_room;     /* ... and that there is room for */
    uint16_t free;           /* one of them that is free, + 1, and has the number of the next; 0: none is */
    bool busy;               /* it is being replayed for another */
};

struct ana_replay {
    struct ana_replay_rank *rank;
    struct ana_meeting *meeting;
    struct ana_member *member;
    uint32_t meetings, meeting_room; /* so far; a power of two */
    uint64_t members, member_room;
    struct ana_told_arrival *came; /* to the collective that is being told */
    size_t coming, came_room;
    struct ana_map begun; /* struct ana_begun by communicator, sequence, 0 */
    uint32_t *stack;      /* pairs of a rank and a step that it must come to */
    struct ana_shadow shadow[ANA_SHADOWS];
    uint8_t *segment; /* by number - 1: the shadow that it is in, 0: none; as many as there were at the last choice */
    size_t segments;
    int64_t saves[ANA_SHADOWS]; /* of causes that are closed */
    bool out_of_memory;         /* how far ahead a rank was is missing somewhere */
};

/* The next edge of a step, `number` being that; NULL: there is no more, or it has been overwritten. */
static inline const struct ana_edge *ana_edge_at(const struct ana_replay_rank *rank, uint32_t number)
{
    uint32_t room = rank->edge_room;
    return number && rank->edges - number < room ? &rank->edge[number & (room - 1u)] : NULL;
}

/* How far ahead a rank was at the end of a step that has been replayed and is kept; where that was not needed, as of
 * now. */
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

/* Makes room for what a rank's steps need, of which `room` are kept.  False: out of memory. */
bool ana_replay_rank_begin(struct ana_replay *replay, size_t index, uint32_t room);
/* Keeps how far ahead a rank is now, at the end of a step, which was replayed last. */
void ana_replay_keep(const struct ana_causes *causes, size_t index, uint32_t step);
/* Notes that a step needs another; 0 is none. */
void ana_replay_edge(struct ana_causes *causes, size_t index, uint32_t step, size_t needs_index, uint32_t needs_step);
/* Remembers some who came to the collective that is told next. */
void ana_replay_arrivals(struct ana_causes *causes, const struct ana_told_arrival *arrival, uint32_t n);
/* Notes what the calls of a collective (an ANA_TOLD_INSTANCE) wait for. */
void ana_replay_instance(struct ana_causes *causes, const struct ana_told *told);
/* Notes what the completion of a nonblocking collective (an ANA_TOLD_JOINED) waits for. */
void ana_replay_joined(struct ana_causes *causes, const struct ana_told *told);
/* Notes that all ranks ended together, if they did: none left MPI_Finalize before the last had come to it. */
void ana_replay_ends(struct ana_causes *causes);

/* Replays a rank's steps up to this one, and what they need. */
void ana_replay_to(struct ana_causes *causes, size_t index, uint32_t step);
/* Replays all steps that ended by `now_ns`. */
void ana_replay_until(struct ana_causes *causes, int64_t now_ns);

/* The shadow that a segment is in, by its number; 0: none. */
static inline uint32_t ana_shadow_of(const struct ana_replay *replay, uint32_t segment)
{
    return segment - 1 < replay->segments ? replay->segment[segment - 1] : 0;
}

/* How much earlier the run would end, in ns; `over`: by rank, whether its last step is the last it will ever make. */
int64_t ana_replay_saves(const struct ana_causes *causes, uint32_t shadow, const bool *over);

#endif
