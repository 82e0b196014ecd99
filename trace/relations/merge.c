#include "trace/relations/merge_impl.h"
#include <stdlib.h>

#define AHEAD_PART 256 /* items of a part that are unpacked in one go */

/* ---- who comes first ------------------------------------------------------------------------------------------- */

static inline struct entry entry_of(struct lane *lane)
{
    int64_t end_ns = lane->next < lane->stop ? lane->next->end_ns : NOTHING;
    return (struct entry){end_ns, lane->order, lane};
}

/* Its next item must be there. */
static inline void set_order(struct lane *lane, bool goes_on)
{
    lane->order = (goes_on ? 0 : BEGINS_ANEW) | (uint64_t)lane->next->index << 32 | lane->next->thread;
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

/* Gives a lane its next items, if there are any now. */
static void refill_lane(struct ana_merge *merge, struct lane *lane)
{
    size_t n = lane->part ? ana_part_unpack(lane->part, lane->event, AHEAD_PART, &merge->failed)
                          : ana_merge_decode(merge, lane);
    lane->next = lane->event;
    lane->stop = lane->event + n;
    if (n > 0)
        set_order(lane, is_sub(lane->event));
}

static void close_lanes(struct ana_merge *merge)
{
    for (size_t i = 0; i < merge->lanes; i++) {
        trc_cursor_close(merge->lane[i]->cursor);
        ana_part_free(merge->lane[i]->part);
        free(merge->lane[i]);
    }
    merge->lanes = 0;
    merge->spent = false;
    for (size_t i = 0; i < merge->sources; i++)
        merge->source[i].threads = 0;
}

bool ana_merge_add_lane(struct ana_merge *merge, struct lane *lane)
{
    if (merge->lanes == merge->lane_room) {
        size_t room = merge->lane_room ? merge->lane_room * 2 : 16;
        struct lane **lanes = realloc(merge->lane, room * sizeof *lanes);
        if (lanes)
            merge->lane = lanes;
        struct entry *tree = realloc(merge->tree, room * sizeof *tree);
        if (tree)
            merge->tree = tree;
        if (!lanes || !tree)
            return false;
        merge->lane_room = room;
    }
    merge->lane[merge->lanes++] = lane;
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static bool add_part(struct ana_merge *merge, size_t number, struct trc_file *const *files, size_t n)
{
    struct lane *lane = calloc(1, sizeof *lane + AHEAD_PART * sizeof *lane->event);
    struct ana_part *part = lane ? ana_part_new(&merge->parts, number, files, n) : NULL;
    if (!part || !ana_merge_add_lane(merge, lane)) {
        ana_part_free(part);
        free(lane);
        return false;
    }
    lane->part = part;
    lane->next = lane->stop = lane->event;
    return true;
}

struct ana_merge *ana_merge_of_parts(const struct ana_part_source *source, struct trc_file *const *files, size_t n)
{
    struct ana_merge *merge = ana_merge_open(NULL, 0, NULL);
    bool complete = merge;
    if (complete)
        merge->parts = *source;
    for (size_t i = 0; complete && i < source->parts; i++)
        complete = add_part(merge, i, files, n);
    if (complete)
        return merge;
    ana_merge_close(merge);
    return NULL;
}

bool ana_merge_in_parts(const struct ana_merge *merge)
{
    return merge->parts.parts > 0;
}

/* ---- begin ----------------------------------------------------------------------------------------------------- */

static bool refresh(struct ana_merge *merge)
{
    bool complete = ana_files_refresh(merge);
    if (merge->spent) {
        merge->tree[0].lane->dry = true;
        merge->tree[0].lane->asked = UINT64_MAX;
        merge->spent = false;
    }
    for (size_t i = 0; i < merge->lanes; i++) {
        struct lane *lane = merge->lane[i];
        if (!lane->dry || lane->asked == trc_revision(merge->source[lane->index].file))
            continue; /* what has come since may refer to definitions that nobody has read */
        lane->dry = false;
        refill_lane(merge, lane);
    }
    play_all(merge);
    merge->begun = true;
    merge->failed |= !complete;
    return complete;
}

static bool begin(struct ana_merge *merge)
{
    if (!merge->parts.parts)
        return refresh(merge);
    merge->failed = !merge->parts.begin(merge->parts.user);
    merge->begun = !merge->failed;
    for (size_t i = 0; i < merge->lanes && !merge->failed; i++)
        refill_lane(merge, merge->lane[i]);
    play_all(merge);
    merge->horizon_ns = NOTHING - 1;
    return !merge->failed;
}

bool ana_merge_refresh(struct ana_merge *merge)
{
    return !merge->begun || merge->parts.parts || refresh(merge);
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
    if (merge->begun && merge->parts.parts)
        merge->parts.end(merge->parts.user);
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

size_t ana_merge_next_few(struct ana_merge *merge, struct ana_event **out, size_t max)
{
    size_t n = 0;
    if (__builtin_expect(!merge->begun, 0) && (merge->failed || !begin(merge)))
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
