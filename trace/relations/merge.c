#include "trace/relations/merge_impl.h"
#include "trace/util/sort.h"
#include "trace/util/times.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define AHEAD_PART 256 /* items of a part that are unpacked in one go */

/* ---- order of lanes -------------------------------------------------------------------------------------------- */

/* The lane that comes first of all. */
static inline struct lane *first_of(const struct ana_merge *merge)
{
    return merge->lane[(uint32_t)merge->tree[0].order];
}

/* The node that a lane comes to first. */
static inline size_t node_of(const struct ana_merge *merge, size_t lane)
{
    return (merge->lanes + lane) / 2;
}

/* The entry of a lane's next item. */
static inline struct entry entry_of(const struct lane *lane, bool is_part)
{
    const struct ana_event *next = lane->next;
    int64_t end_ns = is_part ? next->end_ns : ana_clock_apply(&lane->line, next->item.end);
    return (struct entry){end_ns, (next->joined ? 0 : BEGINS_ANEW) | (uint64_t)lane->index << INDEX | lane->number};
}

/* Returns the entry of a lane's next item, or NOTHING. */
static struct entry entry_or_none(const struct lane *lane)
{
    return lane->next == lane->stop ? (struct entry){NOTHING, lane->number} : entry_of(lane, lane->part);
}

/* The slice that a time lies in. */
static inline int64_t slice_of(const struct ana_merge *merge, int64_t ns)
{
    return ns >> merge->shift;
}

static inline int64_t begin_of(const struct ana_merge *merge, int64_t ns)
{
    return slice_of(merge, ns) * ((int64_t)1 << merge->shift);
}

static inline bool before(const struct ana_merge *merge, const struct entry *a, const struct entry *b)
{
    if (merge->shift) {
        const int64_t slice_a = slice_of(merge, a->end_ns), slice_b = slice_of(merge, b->end_ns);
        const uint64_t rank_a = (a->order & ~BEGINS_ANEW) >> INDEX, rank_b = (b->order & ~BEGINS_ANEW) >> INDEX;
        if (slice_a != slice_b || rank_a != rank_b)
            return slice_a != slice_b ? slice_a < slice_b : rank_a < rank_b;
    }
    if (__builtin_expect(a->end_ns == b->end_ns, 0))
        return a->order < b->order;
    return a->end_ns < b->end_ns;
}

/* Replays the tournament along the way of a lane, which was the first and now has this entry. */
static inline void replay(struct ana_merge *merge, const struct lane *lane, struct entry entry)
{
    struct entry *tree = merge->tree;
    for (size_t node = node_of(merge, lane->number); node > 0; node /= 2)
        if (before(merge, &tree[node], &entry)) {
            struct entry loser = entry;
            entry = tree[node];
            tree[node] = loser;
        }
    tree[0] = entry;
}

ANA_COMPARE(by_rank, struct lane *const, ANA_ORDER((*x)->index, (*y)->index), ANA_ORDER((*x)->thread, (*y)->thread))

/* Plays the whole tournament anew: the lane that reaches a node first waits there for the lane of the other half. */
static void play_all(struct ana_merge *merge)
{
    if (!merge->parts.parts)
        ana_sort(merge->lane, merge->lanes, sizeof *merge->lane, by_rank);
    for (size_t i = 0; i < merge->lanes; i++)
        merge->tree[i].order = NOBODY;
    for (size_t l = 0; l < merge->lanes; l++) {
        merge->lane[l]->number = (uint32_t)l;
        merge->lane[l]->alone = (l == 0 || merge->lane[l - 1]->index != merge->lane[l]->index) &&
                                (l + 1 == merge->lanes || merge->lane[l + 1]->index != merge->lane[l]->index);
        struct entry entry = entry_or_none(merge->lane[l]);
        size_t i = node_of(merge, l);
        for (; i > 0 && merge->tree[i].order != NOBODY; i /= 2)
            if (before(merge, &merge->tree[i], &entry)) {
                struct entry loser = entry;
                entry = merge->tree[i];
                merge->tree[i] = loser;
            }
        merge->tree[i] = entry;
    }
}

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

/* Refills a lane with its next items, if there are any now. */
static void refill_lane(struct ana_merge *merge, struct lane *lane)
{
    size_t n = lane->part ? ana_part_unpack(lane->part, lane->event, AHEAD_PART, &merge->failed)
                          : ana_merge_decode(merge, lane);
    lane->next = lane->event;
    lane->stop = lane->event + n;
    lane->stop->joined = false; /* next item is not known yet */
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
    if (!ana_grow_alone(&merge->lane, merge->lanes, sizeof *merge->lane) ||
        !ana_grow_alone(&merge->tree, merge->lanes, sizeof *merge->tree))
        return false;
    merge->lane[merge->lanes++] = lane;
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static bool add_part(struct ana_merge *merge, size_t number, struct trc_file *const *files, size_t n)
{
    struct lane *lane = calloc(1, sizeof *lane + (AHEAD_PART + 1) * sizeof *lane->event);
    struct ana_part *part = lane ? ana_part_new(&merge->parts, number, files, n) : NULL;
    if (!part || !ana_merge_add_lane(merge, lane)) {
        ana_part_free(part);
        free(lane);
        return false;
    }
    lane->part = part;
    lane->index = (uint32_t)number;
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
        first_of(merge)->dry = true;
        first_of(merge)->asked = UINT64_MAX;
        merge->spent = false;
    }
    for (size_t i = 0; i < merge->lanes; i++) {
        struct lane *lane = merge->lane[i];
        if (!lane->dry || lane->asked == trc_revision(merge->source[lane->index].file))
            continue; /* later records may refer to definitions that nobody has read */
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
    merge->begin_ns = merge->position_ns = merge->latest_ns = INT64_MIN;
    merge->end_ns = INT64_MAX;
    bool complete = true;
    for (size_t i = 0; complete && i < n; i++)
        complete = ana_merge_add(merge, files[i]);
    if (complete)
        return merge;
    ana_merge_close(merge);
    return NULL;
}

void ana_merge_rest(struct ana_merge *merge)
{
    if (merge->begun && merge->parts.parts)
        merge->parts.end(merge->parts.user);
    merge->begun = false;
    close_lanes(merge);
}

void ana_merge_close(struct ana_merge *merge)
{
    if (!merge)
        return;
    ana_merge_rest(merge);
    free(merge->source);
    free(merge->lane);
    free(merge->tree);
    free(merge);
}

bool ana_merge_add(struct ana_merge *merge, struct trc_file *file)
{
    if (!ana_grow_alone(&merge->source, merge->sources, sizeof *merge->source))
        return false;
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
    merge->position_ns = merge->latest_ns = INT64_MIN;
    merge->count = 0;
    for (size_t i = 0; i < merge->sources; i++)
        merge->source[i].selected = !ranks || ranks[i];
    return refresh(merge);
}

void ana_merge_set_slices(struct ana_merge *merge, unsigned shift)
{
    merge->shift = shift;
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

/* Makes an event of a lane's next item, which has these times. */
static inline void make_event(const struct lane *lane, struct ana_event *event, int64_t begin_ns, int64_t end_ns)
{
    event->index = lane->index;
    event->thread = lane->thread;
    event->step = 0;
    event->begin_ns = begin_ns;
    event->end_ns = end_ns;
    if (__builtin_expect(event->kind != TRC_RECORD_EVENT, 0))
        ana_merge_other(lane, event);
    else
        event->use = (struct ana_use *)&event->item.of->note;
}

/* Outputs items that end until `until_ns`, until a lane has none left.  SUB items stay behind their event whatever else
 * ended at that time.  Items of parts are events already. */
static inline __attribute__((always_inline)) size_t output_items(struct ana_merge *merge, struct ana_event **out,
                                                                 size_t max, int64_t until_ns, bool in_parts)
{
    struct entry *tree = merge->tree;
    size_t n = 0;
    while (n < max && tree[0].end_ns <= until_ns) {
        struct lane *lane = first_of(merge);
        struct entry entry = tree[0];
        const bool stays = merge->shift && lane->alone; /* it is the first of its slice as long as it has items there */
        do {
            struct ana_event *event = lane->next;
            int64_t begin_ns = in_parts ? 0 : ana_clock_apply(&lane->line, event->item.begin);
            if (entry.end_ns > merge->latest_ns)
                merge->latest_ns = entry.end_ns;
            do {
                if (!in_parts)
                    make_event(lane, event, begin_ns, entry.end_ns);
                __builtin_prefetch(event->use); /* it lies apart, and all that follows waits for it */
                __builtin_prefetch(&event->use->route);
                out[n++] = event++;
            } while (event->joined && n < max);
            lane->next = event;
            if (event == lane->stop) {
                merge->spent = true;
                return n;
            }
            entry = entry_of(lane, in_parts);
        } while (stays && n < max && entry.end_ns <= until_ns);
        replay(merge, lane, entry);
    }
    return n;
}

/* Refills the first lane, if all its items were given out. */
static void refill_spent(struct ana_merge *merge)
{
    if (!merge->spent)
        return;
    merge->spent = false;
    struct lane *lane = first_of(merge);
    refill_lane(merge, lane);
    replay(merge, lane, entry_or_none(lane));
}

bool ana_merge_in_slice(struct ana_merge *merge)
{
    if (!merge->shift || !merge->begun || merge->lanes == 0)
        return false;
    refill_spent(merge);
    const int64_t next_ns = merge->tree[0].end_ns;
    const bool more = next_ns <= merge->horizon_ns && begin_of(merge, next_ns) <= merge->position_ns;
    merge->position_ns = more ? merge->position_ns : merge->latest_ns;
    return more;
}

size_t ana_merge_next_few(struct ana_merge *merge, struct ana_event **out, size_t max)
{
    if (__builtin_expect(!merge->begun, 0) && (merge->failed || !begin(merge)))
        return 0;
    if (merge->lanes == 0)
        return 0;
    refill_spent(merge);
    int64_t until_ns = merge->horizon_ns, begin_ns = begin_of(merge, merge->tree[0].end_ns);
    if (merge->shift && merge->tree[0].end_ns <= until_ns) {
        until_ns = ana_earlier(until_ns, begin_ns + (((int64_t)1 << merge->shift) - 1));
        merge->position_ns = begin_ns > merge->position_ns ? begin_ns : merge->position_ns;
    }
    size_t n = merge->parts.parts ? output_items(merge, out, max, until_ns, true)
                                  : output_items(merge, out, max, until_ns, false);
    merge->count += n;
    if (!merge->shift || n == 0)
        merge->position_ns = merge->latest_ns;
    return n;
}
