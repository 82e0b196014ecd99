#include "trace/relations/merge_impl.h"
#include <stdlib.h>

#define AHEAD_PART 256 /* items of a part that are unpacked in one go */

/* ---- who comes first ------------------------------------------------------------------------------------------- */

static inline int64_t end_of(const struct lane *lane)
{
    return ana_clock_apply(&lane->line, lane->next->end);
}

static struct entry entry_of(struct lane *lane)
{
    int64_t end_ns = lane->next == lane->stop ? NOTHING : lane->part ? lane->event->end_ns : end_of(lane);
    return (struct entry){end_ns, lane->order, lane};
}

static void set_order(struct lane *lane, size_t index, uint32_t thread, bool goes_on)
{
    lane->order = (goes_on ? 0 : BEGINS_ANEW) | (uint64_t)index << 32 | thread;
}

static inline bool before(const struct entry *a, const struct entry *b)
{
    return a->end_ns < b->end_ns || (a->end_ns == b->end_ns && a->order < b->order);
}

/* Replays the tournament along the way of the lane that was first and now has this entry. */
static inline void replay_lane(struct entry *tree, struct entry entry)
{
    for (size_t i = entry.lane->node; i > 0; i /= 2) {
        struct entry *other = &tree[i];
        if (before(other, &entry)) {
            struct entry loser = entry;
            entry = *other;
            *other = loser;
        }
    }
    tree[0] = entry;
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

static bool is_sub_event(const struct ana_event *event)
{
    return event->kind == TRC_RECORD_EVENT && event->sig->flags & TRC_SIG_SUB;
}

/* Gives a lane its next items, if there are any now. */
static void refill_lane(struct ana_merge *merge, struct lane *lane)
{
    if (lane->part) {
        lane->event = (struct ana_event *)lane->room;
        lane->event_stop = lane->event + ana_part_unpack(lane->part, lane->event, AHEAD_PART, &merge->failed);
        if (lane->event < lane->event_stop)
            set_order(lane, lane->event->index, lane->event->thread, is_sub_event(lane->event));
    } else {
        lane->next = (struct trc_brief *)lane->room;
        lane->stop = lane->next + ana_merge_decode(merge, lane);
        if (lane->next < lane->stop)
            set_order(lane, lane->index, lane->thread, merge->filter.wants ? lane->next->joined : is_sub(lane->next));
    }
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
    lane->event = lane->event_stop = (struct ana_event *)lane->room;
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
    merge->failed = !merge->parts.begin(merge->parts.user, merge->filter);
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

void ana_merge_set_filter(struct ana_merge *merge, struct ana_filter filter)
{
    merge->filter = filter;
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

/* Makes the event of a lane's next item, but for its times. */
static inline void make_event(const struct ana_merge *merge, const struct lane *lane, const struct trc_brief *item,
                              struct ana_event *restrict out)
{
    struct trc_signature *of = item->of;
    struct ana_use *use = of ? (struct ana_use *)&of->note : NULL;
    if (use && __builtin_expect(!use->call, 0))
        ana_merge_look_up(merge, lane, of);
    out->kind = TRC_RECORD_EVENT;
    out->request_thread = item->request_thread;
    out->sig = of ? &of->sig : NULL;
    out->count = 1;
    out->sequence = item->sequence;
    out->request = item->request;
    out->index = lane->index;
    out->thread = lane->thread;
    out->step = 0;
    out->busy_ns = 0;
    out->use = use;
    out->call = use ? use->call : NULL;
    out->comm = use ? use->comm : NULL;
    if (__builtin_expect(item->kind != TRC_RECORD_EVENT, 0))
        ana_merge_other(lane, item, out);
}

/* Gives out items of files, until a lane has none left.  SUB items stay behind their event whatever else ended at that
 * time. */
static size_t give_items(struct ana_merge *merge, struct ana_event **out, size_t max)
{
    struct entry *tree = merge->tree;
    struct ana_event *event = merge->event, *full = event + max;
    int64_t position_ns = merge->position_ns, horizon_ns = merge->horizon_ns;
    while (event < full && tree[0].end_ns <= horizon_ns) {
        struct lane *lane = tree[0].lane;
        const struct trc_brief *item = lane->next, *stop = lane->stop;
        int64_t end_ns = tree[0].end_ns, begin_ns = ana_clock_apply(&lane->line, item->begin);
        position_ns = end_ns > position_ns ? end_ns : position_ns;
        do {
            make_event(merge, lane, item++, event);
            event->begin_ns = begin_ns;
            event->end_ns = end_ns;
            *out++ = event++;
        } while (item < stop && item->joined && event < full);
        lane->next = (struct trc_brief *)item;
        if (item == stop) {
            merge->spent = true;
            break;
        }
        lane->order |= BEGINS_ANEW;
        if (__builtin_expect(item->joined, 0)) /* there was no more room */
            lane->order &= ~BEGINS_ANEW;
        replay_lane(tree, (struct entry){end_of(lane), lane->order, lane});
    }
    merge->position_ns = position_ns;
    return (size_t)(event - merge->event);
}

/* Gives out items of parts, likewise: they are events already. */
static size_t give_events(struct ana_merge *merge, struct ana_event **out, size_t max)
{
    struct entry *tree = merge->tree;
    size_t n = 0;
    while (n < max && tree[0].end_ns <= merge->horizon_ns) {
        struct lane *lane = tree[0].lane;
        struct ana_event *event = lane->event, *stop = lane->event_stop;
        int64_t end_ns = event->end_ns;
        bool goes_on;
        do {
            out[n++] = event++;
            goes_on = event < stop && event->end_ns == end_ns && is_sub_event(event);
        } while (goes_on && n < max);
        lane->event = event;
        merge->position_ns = end_ns > merge->position_ns ? end_ns : merge->position_ns;
        if (event == stop) {
            merge->spent = true;
            break;
        }
        if (goes_on || lane->order < BEGINS_ANEW)
            set_order(lane, event->index, event->thread, goes_on);
        replay_lane(tree, entry_of(lane));
    }
    return n;
}

size_t ana_merge_next_few(struct ana_merge *merge, struct ana_event **out, size_t max)
{
    if (__builtin_expect(!merge->begun, 0) && (merge->failed || !begin(merge)))
        return 0;
    if (merge->lanes == 0)
        return 0;
    if (merge->spent) {
        merge->spent = false;
        refill_lane(merge, merge->tree[0].lane);
        replay_lane(merge->tree, entry_of(merge->tree[0].lane));
    }
    max = max < EVENTS ? max : EVENTS;
    size_t n = merge->parts.parts ? give_events(merge, out, max) : give_items(merge, out, max);
    merge->count += n;
    return n;
}
