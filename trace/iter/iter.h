/* Iterations of a program's loops, without any annotation of it.
 *
 * A place that is called once in each iteration ends it: from one of its calls to the next is an iteration, and the
 * n-th on one rank is the n-th on all.  The place is found by loop.h from the order of calls.  It is not known during
 * the pass, so each place of a rank keeps a *mark*: how often it was called, when, and its longest periods.
 *
 * A place in a function that several loops use is called in each loop, but after other calls, from other callers, or
 * with other sizes.  So a mark has *kinds* of two sorts: by the places that its thread had called since the call
 * before, as a sum; by size, tag and callers.  While these stay the same from call to call, they cost nothing more;
 * each change is kept as a mark of its kind.
 *
 * Memory is bounded: a rank has ANA_ITER_ENTRIES times at most, shared by its marks.  When they are used up, the mark
 * with most times forgets every second one, and keeps half as many from then on.  Counts stay exact.  Marks that are
 * watched, of a job that runs, keep their last times besides.
 *
 * Marks receive calls (trace/cause/run_facts.h); spikes are found in the events.
 *
 * One thread at a time, but for these two. */
#pragma once

#include "trace/util/packed.h"
#include "trace/why/emit.h"

#define ANA_ITER_ENTRIES 8192u      /* times that the marks of one rank keep, of a job of few ranks */
#define ANA_ITER_ALL     (1u << 21) /* times of all ranks together, if that leaves each ANA_ITER_LEAST */
#define ANA_ITER_LEAST   512u
#define ANA_ITER_LONGEST 6u  /* periods of a mark that are kept by their length */
#define ANA_ITER_FEW     63u /* calls of a mark: of no more, these periods are found when they are asked for */
#define ANA_ITER_SPIKES  16u
#define ANA_ITER_RECENT  256u /* last times of a mark that is watched, of a job of few ranks; a power of two */
#define ANA_ITER_KINDS   32u  /* kinds of a mark's calls, of each sort */
#define ANA_ITER_CALLERS 256u
#define ANA_ITER_KIND    0x80000000u

/* The end of one call, and the time that its rank had spent in calls by then. */
struct ana_iter_entry {
    int64_t end_ns, mpi_ns;
};

/* A period: the time from the end of a call at a place to the end of the next there. */
struct ana_iter_period {
    uint64_t number; /* number of the call that ends it, from 0 */
    int64_t end_ns, ns;
};

/* Sorts of kinds, which distinguish calls of a place: by the calls of its thread since the call before, by size, tag
 * and callers. */
enum ana_iter_sort { ANA_ITER_TURN, ANA_ITER_SIZE, ANA_ITER_SORTS };

/* The calls of a place as rows of one kind each. */
struct ana_iter_row {
    uint64_t changes; /* the kinds of all rows so far, added up */
    uint32_t last;    /* the kind of the last row, + 1, | ANA_ITER_KIND; 0: none */
    uint16_t kinds;
    bool is_mixed; /* hardly a row is like another */
};

/* Mark: times of some calls of a rank, and periods between them.  Fields needed at each call stand first. */
struct ana_iter_mark {
    uint64_t count;                /* calls so far */
    uint64_t next;                 /* number of the call that is kept next */
    int64_t last_ns, floor_ns;     /* end of the last call; periods above this go to `longest` */
    struct ana_iter_entry *recent; /* a ring of the last times, by their number; NULL: it is not watched */
    uint32_t stride;               /* step between the calls kept */
    uint32_t index, place;         /* rank; place of trace/why, + 1 */
    uint32_t before;               /* the one of the same rank made before, + 1; of a kind, of the same place; 0 none */
    uint32_t members;              /* members of the communicator, for a collective; else 0 */
    bool is_io;
    uint8_t width;    /* bytes of a number of its entries */
    int64_t first_ns; /* begin of its first call */
    uint8_t *entry;   /* two numbers for each kept call: its end, from first_ns on, and the time in calls */
    uint32_t entries, room;
    uint64_t recent_from;            /* number of the first call that is in it */
    struct ana_iter_period *longest; /* NULL: all its calls are among the entries; else as of ana_iter_longest */
};

/* Place of a rank; fields needed at each call stand first. */
struct ana_iter_place {
    uint64_t symbol, calls; /* hash of a call here; value of ana_iter_rank.calls of its thread at the last one */
    uint64_t turn;          /* change of `calls` since the one before */
    uint32_t size;          /* ana_use.size of the last call */
    uint32_t thread;        /* the first that called there; others are not looked at */
    bool is_mixed;          /* kinds of both sorts are too many: no longer looked at */
    uint32_t kind;          /* the kind made last, + 1, | ANA_ITER_KIND; 0: none */
    struct ana_iter_row row[ANA_ITER_SORTS];
    struct ana_iter_mark mark;
};

/* Usual value of a number, if the number takes it more than every second time. */
struct ana_iter_usual {
    uint64_t value;
    uint32_t votes, against; /* votes left for the value, and votes that cancelled one */
};

/* Calls of a mark that are alike.  Only the first of several in a row is marked. */
struct ana_iter_kind {
    uint64_t key;                            /* common key; 0: calls that there was no room for */
    uint64_t symbol;                         /* hash of a row of this kind */
    uint64_t changes, at;                    /* ana_iter_row.changes and ana_iter_mark.count at the last call */
    uint64_t calls;                          /* calls in all rows but the last */
    struct ana_iter_usual changed, gap, row; /* differences of changes and at since the call before; calls in a row */
    enum ana_iter_sort sort;
    uint32_t next; /* kind that came after it, + 1, | ANA_ITER_KIND; 0: none yet */
    struct ana_iter_mark mark;
    uint64_t after; /* a bit (ana_iter_bit) for each place that was called since the call before */
};

/* A time outside calls that took longer than the same segment of the rank does on average. */
struct ana_iter_spike {
    int64_t begin_ns, ns, excess_ns;
    uint32_t segment; /* number of trace/why, + 1 */
};

struct ana_iter_rank {
    int64_t mpi_ns;  /* time in calls so far, of all threads */
    uint32_t called; /* last mark made of a place that was called, + 1 */
    uint32_t entries;
    uint64_t *calls; /* sum of the hashes of all calls so far, by thread */
    uint32_t threads;
    uint32_t spikes; /* number, ANA_ITER_SPIKES at most; like the next members set by the finder of spikes */
    struct ana_iter_spike *spike; /* array in any order */
    int64_t floor_ns;             /* limit above which spikes are kept */
    uint32_t marks;               /* the last one made, + 1 */
    char padding[64];             /* distance to the next rank: two threads would hold each other up */
};

struct ana_iter {
    size_t ranks;
    uint32_t room;        /* entries of a rank */
    uint32_t recent_room; /* size of a ring */
    struct ana_iter_rank *rank;
    struct ana_map marks; /* struct ana_iter_place by index, place */
    struct ana_map kinds; /* struct ana_iter_kind by number of the place, key, sort */
};

/* Room for the marks of `ranks` ranks.  False: out of memory. */
bool ana_iter_init(struct ana_iter *iter, size_t ranks);
/* Frees them; the struct is the caller's.  Zeros are allowed. */
void ana_iter_free(struct ana_iter *iter);

/* Looks up what all events of the signature share, into event->use; after ana_why_use.  `file`: the rank's. */
void ana_iter_use(struct ana_iter *iter, struct ana_why *why, const struct ana_event *event,
                  const struct trc_file *file);
/* Returns a number for size, tag and callers of a signature, by which calls at one place differ; it is a number of the
 * callers modulo ANA_ITER_CALLERS. */
uint32_t ana_iter_size(const struct ana_event *event, const struct trc_file *file);
/* Adds the facts to the marks: for the queue of facts (ana_queue_add_consumer). */
ana_queue_consume ana_iter_consume;
/* Stores the last times of a mark from now on; again: nothing.  For want of memory they are not stored. */
void ana_iter_watch(struct ana_iter *iter, struct ana_iter_mark *mark);
/* The ANA_ITER_LONGEST longest periods of a mark, in any order; unused ones are 0 ns long.  In `room`, or the mark's
 * own. */
const struct ana_iter_period *ana_iter_longest(const struct ana_iter_mark *mark, struct ana_iter_period *room);
/* Whether a time is more than the rank's floor longer than the mean of its segment before it. */
static inline bool ana_iter_is_outlier(const struct ana_iter_rank *rank, struct ana_why_gap gap)
{
    int64_t times = (int64_t)gap.segment->count - 1, above_ns;
    bool far = __builtin_mul_overflow(gap.ns - rank->floor_ns, times, &above_ns);
    return far || above_ns > gap.segment->total_ns - gap.ns;
}
/* Stores such a time, before an event. */
void ana_iter_spike(struct ana_iter *iter, const struct ana_event *event, struct ana_why_gap gap);

/* Entry i of a mark, i < mark->entries. */
static inline struct ana_iter_entry ana_iter_entry_at(const struct ana_iter_mark *mark, size_t i)
{
    const uint8_t *at = mark->entry + i * 2 * mark->width;
    return (struct ana_iter_entry){(int64_t)((uint64_t)mark->first_ns + ana_packed_get(at, mark->width)),
                                   (int64_t)ana_packed_get(at + mark->width, mark->width)};
}
/* Appends an entry, if there is room. */
static inline void ana_iter_entry_put(struct ana_iter_mark *mark, uint64_t since_first, uint64_t mpi)
{
    uint8_t *at = mark->entry + (size_t)mark->entries++ * 2 * mark->width;
    ana_packed_put_last(at, since_first);
    ana_packed_put_last(at + mark->width, mpi);
}
/* Makes room for another entry, whose numbers are at most this.  False: out of memory. */
bool ana_iter_entry_room(struct ana_iter_mark *mark, uint64_t most);
/* Adds an entry.  False: out of memory, and nothing has changed. */
static inline bool ana_iter_entry_add(struct ana_iter_mark *mark, struct ana_iter_entry entry)
{
    uint64_t since_first = (uint64_t)entry.end_ns - (uint64_t)mark->first_ns, mpi = (uint64_t)entry.mpi_ns;
    bool fits = mark->entries < mark->room && ana_packed_fits(since_first | mpi, mark->width);
    if (__builtin_expect(!fits, 0) && !ana_iter_entry_room(mark, since_first | mpi))
        return false;
    ana_iter_entry_put(mark, since_first, mpi);
    return true;
}
/* Leaves each second entry, from the first on. */
void ana_iter_entries_halve(struct ana_iter_mark *mark);

/* The bit of a place in ana_iter_kind.after; places may share one. */
static inline uint64_t ana_iter_bit(uint32_t place)
{
    return 1ull << (place * 0x9e3779b9u >> 26);
}

/* The place with this number + 1; valid until another is made, unless there is room for that. */
static inline struct ana_iter_place *ana_iter_place_at(const struct ana_iter *iter, uint32_t number)
{
    return ana_map_value(&iter->marks, number - 1);
}
/* Returns the mark of a place by the place's number. */
static inline struct ana_iter_mark *ana_iter_mark_at(const struct ana_iter *iter, uint32_t number)
{
    return &ana_iter_place_at(iter, number)->mark;
}
/* Returns a kind of calls by its number.  NULL: there is none, or no more. */
static inline struct ana_iter_kind *ana_iter_kind_at(const struct ana_iter *iter, uint32_t number)
{
    return number ? ana_map_value(&iter->kinds, (number & ~ANA_ITER_KIND) - 1) : NULL;
}
/* Either, by its number. */
static inline struct ana_iter_mark *ana_iter_any_at(const struct ana_iter *iter, uint32_t number)
{
    return number & ANA_ITER_KIND ? &ana_iter_kind_at(iter, number)->mark : ana_iter_mark_at(iter, number);
}

/* Checks the gap before a call (ana_why_event). */
static inline void ana_iter_gap(struct ana_iter *iter, const struct ana_event *e, struct ana_why_gap gap)
{
    const struct ana_iter_rank *rank = &iter->rank[e->index];
    if (__builtin_expect(gap.ns > rank->floor_ns, 0) && gap.segment && ana_iter_is_outlier(rank, gap))
        ana_iter_spike(iter, e, gap);
}
/* Emits an event that was emitted by no ANA_RUN_CALL. */
void ana_iter_emit(struct ana_why *why, const struct ana_event *event);

/* The calls of one mark, found again in another pass over the events of its rank. */
struct ana_iter_again {
    uint32_t mark, place;   /* the mark; the mark of its place; 0: the rank has none */
    uint64_t calls, before; /* sum of the hashes of all calls so far; at the call before at the place */
    uint64_t count, turn;   /* calls at the place; change of `calls` at the last one */
    uint32_t size;          /* ana_iter_size of that */
};
/* The calls of a mark or kind by its number, from the first event on. */
struct ana_iter_again ana_iter_again(const struct ana_iter *iter, uint32_t mark);
/* Returns whether the next call of the rank, at the place of mark `at`, belongs to the mark or kind. */
bool ana_iter_is_again(struct ana_iter_again *again, const struct ana_iter *iter, uint32_t at, uint32_t thread,
                       uint32_t size);

/* Saves all marks, or loads them into an empty ana_iter of as many ranks; `why` was loaded before. */
void ana_iter_archive(struct ana_archive *archive, struct ana_iter *iter, const struct ana_why *why);
