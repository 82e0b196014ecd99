/* Inside a merge: what the order of all (merge.c) and the reading of files (merge_files.c) share. */
#ifndef ANA_MERGE_IMPL_H
#define ANA_MERGE_IMPL_H

#include "trace/relations/merge.h"

struct source {
    struct trc_file *file;
    struct ana_clock_line line;
    size_t threads; /* that have a lane */
    bool live, selected;
};

#define AHEAD 32 /* items of a thread that are decoded in one go, at most */

/* The ticks of a decoded item: another fit of the clock gives it other times. */
struct ticks {
    uint64_t begin, end, busy;
};

/* One thread: its cursor and its next items.  Or a part of the ranks (parts.h): these are neighbours, so among parts any of
 * them stands for all in `order`. */
struct lane {
    struct trc_cursor *cursor; /* NULL: it is a part */
    struct ana_part *part;
    uint32_t index;                /* of its file */
    size_t node;                   /* of the tree, that it comes to first */
    uint64_t order;                /* among equal ends; see struct entry */
    bool dry;                      /* had nothing more when last asked, */
    uint64_t asked;                /* ... at this revision of its file */
    bool ended;                    /* will give nothing more: past the time range */
    struct ana_event *next, *stop; /* of event[], those that were not given out */
    struct ticks *ticks;           /* of event[] */
    struct ana_event event[];
};

/* A lane's next item, as it comes in the order of all.  Among equal ends: SUB items of an event given out before, then
 * by index and thread. */
struct entry {
    int64_t end_ns; /* NOTHING: the lane has no item now */
    uint64_t order;
    struct lane *lane;
};
#define NOTHING     INT64_MAX
#define BEGINS_ANEW ((uint64_t)1 << 63) /* it is no SUB of an event given out before */

struct ana_merge {
    const struct ana_clock *clock;
    struct source *source;
    size_t sources, source_room;
    struct lane **lane;
    size_t lanes, lane_room;
    struct entry *tree; /* of losers, lane i's leaf being lanes + i: [0] comes first of all, [n] lost at node n */
    bool spent;         /* all items of tree[0]'s lane were given out: it decodes more first */
    bool begun, failed; /* files are read; but not all, for want of memory */
    struct ana_part_source parts; /* of which there are none, where files are read here */
    int64_t horizon_ns, begin_ns, end_ns;
    int64_t position_ns;
    uint64_t count;
    struct trc_record record[AHEAD]; /* that are being made events of */
};

/* Whether an item belongs to the event before it. */
static inline bool is_sub(const struct ana_event *event)
{
    return event->kind == TRC_RECORD_EVENT && (event->sig->flags & TRC_SIG_SUB);
}

/* merge_files.c */
/* Decodes a lane's next items into lane->event[], if there are any now; returns how many. */
size_t ana_merge_decode(struct ana_merge *merge, struct lane *lane);
/* Takes up what files say now: clocks, horizons, and threads, a lane each.  False: out of memory. */
bool ana_files_refresh(struct ana_merge *merge);
/* merge.c */
/* Adds a lane; false: out of memory, and it is still the caller's. */
bool ana_merge_add_lane(struct ana_merge *merge, struct lane *lane);

#endif
