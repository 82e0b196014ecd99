#include "trace/relations/merge.h"
#include "trace/util/times.h"
#include <stdlib.h>

#define WRITE_BACK_NS 2000000000 /* items may reach a reader on another node so much later than the heartbeat */

struct source {
    struct trc_file *file;
    struct ana_clock_line line;
    double ns_per_tick;
    size_t threads; /* that have a lane */
    int64_t horizon_ns;
    bool live, selected;
};

#define AHEAD      32 /* items of a thread that are decoded in one go, */
#define AHEAD_MANY 8  /* ... where there are many ranks: */
#define MANY       1024

/* The ticks of a decoded item: another fit of the clock gives it other times. */
struct ticks {
    uint64_t begin, end, busy;
};

/* One thread: its cursor and its next items. */
struct lane {
    struct trc_cursor *cursor;
    uint32_t index, thread;
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
    int64_t horizon_ns, begin_ns, end_ns;
    int64_t position_ns;
    uint64_t count;
    struct trc_record record[AHEAD]; /* that are being made events of */
};

/* ---- who comes first ------------------------------------------------------------------------------------------- */

static inline struct entry entry_of(struct lane *lane)
{
    int64_t end_ns = lane->next < lane->stop ? lane->next->end_ns : NOTHING;
    return (struct entry){end_ns, lane->order, lane};
}

static inline void set_order(struct lane *lane, bool goes_on)
{
    lane->order = (goes_on ? 0 : BEGINS_ANEW) | (uint64_t)lane->index << 32 | lane->thread;
}

static inline bool before(const struct entry *a, const struct entry *b)
{
    return a->end_ns < b->end_ns || (a->end_ns == b->end_ns && a->order < b->order);
}

/* Replays the tournament along the way of the lane that was first and now has another item. */
static inline void replay_lane(struct ana_merge *merge)
{
    struct entry entry = entry_of(merge->tree[0].lane);
    for (size_t i = entry.lane->node; i > 0; i /= 2) {
        struct entry *other = &merge->tree[i];
        if (before(other, &entry)) {
            struct entry loser = entry;
            entry = *other;
            *other = loser;
        }
    }
    merge->tree[0] = entry;
}

/* Plays the whole tournament anew: the lane that reaches a node first waits there for that of the other half. */
static void play_all(struct ana_merge *merge)
{
    for (size_t i = 0; i < merge->lanes; i++)
        merge->tree[i].lane = NULL;
    for (size_t l = 0; l < merge->lanes; l++) {
        struct entry entry = entry_of(merge->lane[l]);
        size_t i = merge->lane[l]->node = (merge->lanes + l) / 2;
        for (; i > 0 && merge->tree[i].lane; i /= 2)
            if (before(&merge->tree[i], &entry)) {
                struct entry loser = entry;
                entry = merge->tree[i];
                merge->tree[i] = loser;
            }
        merge->tree[i] = entry;
    }
}

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

static inline bool is_sub(const struct ana_event *event)
{
    return event->kind == TRC_RECORD_EVENT && (event->sig->flags & TRC_SIG_SUB);
}

static bool is_nested(const struct ana_event *event)
{
    return event->sig && event->sig->flags & TRC_SIG_NESTED;
}

/* The signature's note, as the struct that we keep in it. */
static inline struct ana_use *use_of(const struct source *source, const struct trc_record *record)
{
    _Static_assert(sizeof(struct ana_use) <= sizeof(struct trc_note), "a note holds what we look up");
    struct ana_use *use = (struct ana_use *)record->note;
    if (!use->call) {
        use->call = trc_call(source->file, record->sig->call);
        use->comm = record->sig->comm ? trc_comm(source->file, record->sig->comm) : NULL;
    }
    return use;
}

/* Sets an event's job times.  Unless `first`, the item before it has its times already: a SUB item shares them. */
static inline void set_times(const struct ana_clock_line *line, const struct ticks *ticks, struct ana_event *event,
                             bool first)
{
    if (!first && ticks->end == ticks[-1].end && ticks->begin == ticks[-1].begin) {
        event->begin_ns = event[-1].begin_ns;
        event->end_ns = event[-1].end_ns;
    } else {
        event->begin_ns = ana_clock_apply(line, ticks->begin);
        event->end_ns = ana_clock_apply(line, ticks->end);
    }
    event->busy_ns = event->kind == TRC_RECORD_FOLD ? ana_rounded((double)ticks->busy * line->rate) : 0;
}

/* Makes events of the first `n` records. */
static void make_events(const struct source *source, const struct trc_record *records, struct lane *lane, size_t n)
{
    struct ana_clock_line line = source->line;
    for (size_t i = 0; i < n; i++) {
        const struct trc_record *restrict record = &records[i];
        struct ana_event *restrict event = &lane->event[i];
        event->kind = record->kind;
        event->request_thread = record->request_thread;
        event->sig = record->sig;
        event->count = record->count;
        event->sequence = record->sequence;
        event->request = record->request;
        struct ana_use *use = record->sig ? use_of(source, record) : NULL;
        event->use = use;
        event->call = use ? use->call : NULL;
        event->comm = use ? use->comm : NULL;
        lane->ticks[i] = (struct ticks){record->begin, record->end, record->busy};
        set_times(&line, &lane->ticks[i], event, i == 0);
    }
}

/* Drops the lane's items that do not overlap the time range; returns how many are left.  Regions that begin or end
 * before it stay: they say what is open in it. */
static size_t clip_items(const struct ana_merge *merge, struct lane *lane, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n && !lane->ended; i++) {
        const struct ana_event *event = &lane->event[i];
        if (event->begin_ns >= merge->end_ns && !is_nested(event) && !is_sub(event)) {
            lane->ended = true;
        } else if ((event->end_ns >= merge->begin_ns || trc_is_region(event->kind)) &&
                   event->begin_ns < merge->end_ns) {
            lane->event[kept] = *event;
            lane->ticks[kept++] = lane->ticks[i];
        }
    }
    return kept;
}

static size_t ahead_of(const struct ana_merge *merge)
{
    return merge->sources > MANY ? AHEAD_MANY : AHEAD;
}

/* Decodes more items, if there are any now. */
static void refill_lane(struct ana_merge *merge, struct lane *lane)
{
    const struct source *source = &merge->source[lane->index];
    size_t n = 0;
    while (n == 0 && !lane->ended) {
        n = trc_next_few(lane->cursor, merge->record, ahead_of(merge));
        if (n == 0) {
            lane->dry = true;
            lane->asked = trc_revision(source->file);
            break;
        }
        make_events(source, merge->record, lane, n);
        if (merge->begin_ns != INT64_MIN || merge->end_ns != INT64_MAX)
            n = clip_items(merge, lane, n);
    }
    lane->next = lane->event;
    lane->stop = lane->event + n;
    set_order(lane, n > 0 && is_sub(lane->event));
}

static void close_lanes(struct ana_merge *merge)
{
    for (size_t i = 0; i < merge->lanes; i++) {
        trc_cursor_close(merge->lane[i]->cursor);
        free(merge->lane[i]);
    }
    merge->lanes = 0;
    merge->spent = false;
    for (size_t i = 0; i < merge->sources; i++)
        merge->source[i].threads = 0;
}

static bool add_lane(struct ana_merge *merge, size_t index, size_t thread)
{
    if (merge->lanes == merge->lane_room) {
        size_t room = merge->lane_room ? merge->lane_room * 2 : 16;
        struct lane **lane = realloc(merge->lane, room * sizeof *lane);
        if (lane)
            merge->lane = lane;
        struct entry *tree = realloc(merge->tree, room * sizeof *tree);
        if (tree)
            merge->tree = tree;
        if (!lane || !tree)
            return false;
        merge->lane_room = room;
    }
    size_t ahead = ahead_of(merge);
    struct lane *lane = calloc(1, sizeof *lane + ahead * (sizeof *lane->event + sizeof *lane->ticks));
    struct trc_cursor *cursor = lane ? trc_cursor_open(merge->source[index].file, thread) : NULL;
    if (!cursor) {
        free(lane);
        return false;
    }
    if (merge->begin_ns != INT64_MIN)
        trc_cursor_seek(cursor, ana_clock_ticks(merge->clock, index, merge->begin_ns));
    trc_cursor_want_regions(cursor);
    lane->cursor = cursor;
    lane->index = (uint32_t)index;
    lane->thread = (uint32_t)thread;
    lane->dry = true;
    lane->asked = UINT64_MAX;
    lane->next = lane->stop = lane->event;
    lane->ticks = (struct ticks *)(lane->event + ahead);
    for (size_t i = 0; i < ahead; i++) {
        lane->event[i].index = index;
        lane->event[i].thread = (uint32_t)thread;
    }
    merge->lane[merge->lanes++] = lane;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static bool is_over(const struct trc_head *head)
{
    return head->state == TRC_STATE_FINALIZED || head->state == TRC_STATE_ABORTED || head->state == TRC_STATE_STOPPED;
}

/* The time up to which all ended events are in the file, as far as its head tells. */
static int64_t file_horizon(const struct ana_merge *merge, size_t index)
{
    const struct source *source = &merge->source[index];
    const struct trc_head *head = trc_head(source->file);
    if (!source->live)
        return INT64_MAX;
    const struct trc_anchor *latest = trc_complete(source->file);
    const struct trc_anchor *seen = latest->ticks > head->start.ticks ? latest : &head->start;
    int64_t ns = ana_clock_apply(&source->line, seen->ticks);
    return head->flags & TRC_HEAD_WRITE_BACK ? ns - WRITE_BACK_NS : ns;
}

/* Gives decoded items new times, after the clock was fitted anew. */
static void convert_again(struct ana_merge *merge)
{
    for (size_t i = 0; i < merge->lanes; i++) {
        struct lane *lane = merge->lane[i];
        for (struct ana_event *event = lane->next; event < lane->stop; event++)
            set_times(&merge->source[lane->index].line, &lane->ticks[event - lane->event], event, event == lane->next);
    }
}

static bool refresh(struct ana_merge *merge)
{
    bool complete = true, other_times = false;
    for (size_t i = 0; i < merge->sources; i++) {
        struct source *source = &merge->source[i];
        struct ana_clock_line line = ana_clock_line(merge->clock, i);
        other_times |= line.job_ns != source->line.job_ns || line.rate != source->line.rate;
        source->line = line;
        source->live = source->live && !is_over(trc_head(source->file));
        source->horizon_ns = file_horizon(merge, i);
        size_t threads = source->selected ? trc_threads(source->file) : 0;
        while (complete && source->threads < threads) {
            complete = add_lane(merge, i, source->threads);
            source->threads += complete;
        }
    }
    if (merge->spent) {
        merge->tree[0].lane->dry = true;
        merge->tree[0].lane->asked = UINT64_MAX;
        merge->spent = false;
    }
    if (other_times)
        convert_again(merge);
    for (size_t i = 0; i < merge->lanes; i++) {
        struct lane *lane = merge->lane[i];
        if (!lane->dry || lane->asked == trc_revision(merge->source[lane->index].file))
            continue; /* what has come since may refer to definitions that nobody has read */
        lane->dry = false;
        refill_lane(merge, lane);
    }
    play_all(merge);
    merge->horizon_ns = NOTHING - 1;
    for (size_t i = 0; i < merge->sources; i++)
        if (merge->source[i].selected && merge->source[i].horizon_ns < merge->horizon_ns)
            merge->horizon_ns = merge->source[i].horizon_ns;
    merge->begun = true;
    merge->failed |= !complete;
    return complete;
}

bool ana_merge_refresh(struct ana_merge *merge)
{
    return !merge->begun || refresh(merge);
}

bool ana_merge_failed(const struct ana_merge *merge)
{
    return merge->failed;
}

struct ana_merge *ana_merge_open(struct trc_file *const *files, size_t n, const struct ana_clock *clock)
{
    struct ana_merge *merge = calloc(1, sizeof *merge);
    if (!merge)
        return NULL;
    merge->clock = clock;
    merge->begin_ns = merge->position_ns = INT64_MIN;
    merge->end_ns = INT64_MAX;
    bool complete = true;
    for (size_t i = 0; complete && i < n; i++)
        complete = ana_merge_add(merge, files[i]);
    if (complete)
        return merge;
    ana_merge_close(merge);
    return NULL;
}

void ana_merge_close(struct ana_merge *merge)
{
    if (!merge)
        return;
    close_lanes(merge);
    free(merge->source);
    free(merge->lane);
    free(merge->tree);
    free(merge);
}

bool ana_merge_add(struct ana_merge *merge, struct trc_file *file)
{
    if (merge->sources == merge->source_room) {
        size_t room = merge->source_room ? merge->source_room * 2 : 8;
        struct source *source = realloc(merge->source, room * sizeof *source);
        if (!source)
            return false;
        merge->source = source;
        merge->source_room = room;
    }
    merge->source[merge->sources++] = (struct source){.file = file, .live = true, .selected = true};
    return true;
}

void ana_merge_set_live(struct ana_merge *merge, size_t index, bool live)
{
    merge->source[index].live = live;
}

bool ana_merge_seek(struct ana_merge *merge, int64_t begin_ns, int64_t end_ns, const uint8_t *ranks)
{
    close_lanes(merge);
    merge->begin_ns = begin_ns;
    merge->end_ns = end_ns;
    merge->position_ns = INT64_MIN;
    merge->count = 0;
    for (size_t i = 0; i < merge->sources; i++)
        merge->source[i].selected = !ranks || ranks[i];
    return refresh(merge);
}

int64_t ana_merge_position(const struct ana_merge *merge)
{
    return merge->position_ns;
}

uint64_t ana_merge_count(const struct ana_merge *merge)
{
    return merge->count;
}

/* ---- the stream ------------------------------------------------------------------------------------------------ */

size_t ana_merge_next_few(struct ana_merge *merge, const struct ana_event **out, size_t max)
{
    size_t n = 0;
    if (__builtin_expect(!merge->begun, 0) && !refresh(merge))
        return 0;
    int64_t position_ns = merge->position_ns, horizon_ns = merge->horizon_ns;
    if (merge->spent) {
        merge->spent = false;
        refill_lane(merge, merge->tree[0].lane);
        replay_lane(merge);
    }
    while (n < max && merge->lanes > 0 && merge->tree[0].end_ns <= horizon_ns) {
        struct lane *lane = merge->tree[0].lane;
        struct ana_event *event = lane->next, *stop = lane->stop;
        int64_t end_ns = event->end_ns;
        out[n++] = event++; /* SUB items stay behind it whatever else ended at that time */
        while (event < stop && event->end_ns == end_ns && n < max && is_sub(event))
            out[n++] = event++;
        lane->next = event;
        position_ns = end_ns > position_ns ? end_ns : position_ns;
        if (event == stop) {
            merge->spent = true;
            break;
        }
        if (n == max || lane->order < BEGINS_ANEW)
            set_order(lane, n == max && event->end_ns == end_ns && is_sub(event));
        replay_lane(merge);
    }
    merge->position_ns = position_ns;
    merge->count += n;
    return n;
}
