/* Inside a merge: what the order of all (merge.c) and the reading of files (merge_files.c) share. */
#pragma once

#include "trace/relations/merge.h"

struct source {
    struct trc_file *file;
    struct ana_clock_line line;
    size_t threads; /* threads that have a lane */
    bool live, selected;
    bool wild; /* an event of its was wild to the filter */
};

#define AHEAD 64 /* items of a thread that are decoded in one go, at most */

/* One thread: its cursor and its next items, as they were decoded: they become events when they are given out.  Or a
 * part of the ranks (parts.h), whose items are events already: these ranks are neighbours, so that the parts are in the
 * order of all ranks. */
struct lane {
    struct ana_event *next, *stop; /* items not given out yet */
    struct ana_clock_line line;
    uint32_t number;           /* number by index and thread, or of the part */
    uint32_t index, thread;    /* index and thread in the file */
    bool dry;                  /* had nothing more when last asked, */
    bool joined;               /* the filter let the last event pass, or a SUB item of it */
    bool ended;                /* will give nothing more: past the time range */
    bool alone;                /* no other thread of its rank has a lane */
    struct trc_cursor *cursor; /* NULL: it is a part */
    struct ana_part *part;
    uint64_t asked;           /* dry at this revision of its file */
    uint64_t count, busy;     /* values of the next item, if it is no EVENT: then there is just one */
    struct ana_event event[]; /* room for them, and for one that is never joined to those before */
};

/* A lane's next item, as it comes in the order of all.  Among equal ends: SUB items of an event given out before, then
 * by rank and lane. */
struct entry {
    int64_t end_ns; /* NOTHING: the lane has no item now */
    uint64_t order; /* the lane's number, | its index << INDEX, | BEGINS_ANEW */
};
#define INDEX       32
#define NOTHING     INT64_MAX
#define BEGINS_ANEW ((uint64_t)1 << 63) /* it is no SUB of an event given out before */
#define NOBODY      UINT64_MAX

struct ana_merge {
    const struct ana_clock *clock;
    struct source *source;
    size_t sources;
    struct lane **lane;
    size_t lanes;
    struct entry *tree; /* tree of losers, lane i's leaf being lanes + i: [0] comes first of all, [n] lost at node n */
    bool spent;         /* all items of the first lane were given out: it decodes more first */
    bool begun, failed; /* files are read; but not all, for want of memory */
    struct ana_filter filter;     /* none: `wants` is NULL */
    struct ana_part_source parts; /* source of parts; it has none where files are read here */
    int64_t horizon_ns, begin_ns, end_ns;
    int64_t position_ns, latest_ns; /* all items up to there were given out; the latest end of one that was */
    unsigned shift;                 /* width of the slices, as a power of two; 0: there are none */
    uint64_t count;
    struct trc_record record; /* the last one that was no usual event */
};

/* merge_files.c */
/* Decodes a lane's next items into its room, if there are any now; returns how many. */
size_t ana_merge_decode(struct ana_merge *merge, struct lane *lane);
/* Completes an event of another kind. */
void ana_merge_other(const struct lane *lane, struct ana_event *event);
/* Reads the present clocks, horizons and threads of files; a thread is a lane.  False: out of memory. */
bool ana_files_refresh(struct ana_merge *merge);
/* merge.c */
/* Adds a lane; false: out of memory, and it is still the caller's. */
bool ana_merge_add_lane(struct ana_merge *merge, struct lane *lane);
