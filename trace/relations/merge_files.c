/* The files of a merge: threads become lanes, their items events in job time. */
#include "trace/relations/merge_impl.h"
#include "trace/util/times.h"
#include <stdlib.h>

#define AHEAD_MANY    8 /* items of a thread that are decoded in one go where there are many ranks: */
#define MANY          1024
#define WRITE_BACK_NS 2000000000 /* items may reach a reader on another node so much later than the heartbeat */

/* Looks up what we keep of a signature, at its first event in a chunk. */
static void look_up(const struct ana_merge *merge, const struct lane *lane, struct trc_signature *of)
{
    _Static_assert(sizeof(struct ana_use) <= sizeof(struct trc_note), "a note holds what we look up");
    const struct trc_file *file = merge->source[lane->index].file;
    struct ana_use *use = (struct ana_use *)&of->note;
    use->call = trc_call(file, of->sig.call);
    use->comm = of->sig.comm ? trc_comm(file, of->sig.comm) : NULL;
}

void ana_merge_other(const struct lane *lane, struct ana_event *event)
{
    event->use = event->item.of ? (struct ana_use *)&event->item.of->note : NULL;
    event->count = lane->count;
    if (event->kind == TRC_RECORD_FOLD)
        event->busy_ns = ana_rounded((double)lane->busy * lane->line.rate);
}

/* Drops the lane's items that do not overlap the time range; returns how many remain.  Regions that begin or end
 * before it stay: they tell which are open in it. */
static size_t clip_items(const struct ana_merge *merge, struct lane *lane, size_t n)
{
    const struct ana_clock_line *line = &lane->line;
    size_t kept = 0;
    for (size_t i = 0; i < n && !lane->ended; i++) {
        const struct trc_brief *item = &lane->event[i].item;
        int64_t begin_ns = ana_clock_apply(line, item->begin), end_ns = ana_clock_apply(line, item->end);
        bool inside = item->of && item->of->sig.flags & (TRC_SIG_NESTED | TRC_SIG_SUB);
        if (begin_ns >= merge->end_ns && !inside)
            lane->ended = true;
        else if ((end_ns >= merge->begin_ns || trc_is_region(item->kind)) && begin_ns < merge->end_ns)
            lane->event[kept++] = lane->event[i];
    }
    return kept;
}

/* Asks the filter for a signature.  Its events are not even decoded further on, where nothing can change that: a
 * thread that is alone in its file meets a wild event before the events that follow from it. */
static void ask_filter(struct ana_merge *merge, const struct lane *lane, struct trc_signature *of)
{
    struct source *source = &merge->source[lane->index];
    struct ana_use *use = (struct ana_use *)&of->note;
    const struct ana_event event = {.index = lane->index, .sig = &of->sig, .use = use};
    enum ana_wanted wanted = merge->filter.wants(merge->filter.user, &event);
    if (wanted == ANA_UNWANTED_TAME && (source->live || trc_threads(source->file) > 1))
        wanted = ANA_WANTED;
    if (wanted == ANA_WANTED_WILD && !source->wild) {
        source->wild = true;
        trc_cursor_want_all(lane->cursor);
    }
    of->wanted = wanted >= ANA_WANTED || source->wild;
    use->wanted = (uint8_t)(wanted + 1);
}

static bool is_wanted(struct ana_merge *merge, const struct lane *lane, const struct trc_brief *item)
{
    if (item->kind != TRC_RECORD_EVENT)
        return item->kind == TRC_RECORD_LOST;
    const struct ana_use *use = (const struct ana_use *)&item->of->note;
    if (!use->wanted)
        ask_filter(merge, lane, item->of);
    return use->wanted > ANA_WANTED || (use->wanted == ANA_UNWANTED_TAME + 1 && merge->source[lane->index].wild);
}

/* Drops the items that the filter leaves out; returns how many are left. */
static size_t filter_items(struct ana_merge *merge, struct lane *lane, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct trc_brief *item = &lane->event[i].item;
        bool wanted = is_wanted(merge, lane, item);
        item->joined = item->joined && lane->joined;
        lane->joined = wanted || item->joined;
        if (wanted)
            lane->event[kept++] = lane->event[i];
    }
    merge->count += n - kept;
    return kept;
}

static size_t ahead_of(const struct ana_merge *merge)
{
    return merge->sources > MANY ? AHEAD_MANY : AHEAD;
}

size_t ana_merge_decode(struct ana_merge *merge, struct lane *lane)
{
    struct trc_brief *item = &lane->event->item;
    size_t n = 0;
    while (n == 0 && !lane->ended) {
        n = trc_next_brief(lane->cursor, item, ahead_of(merge), &merge->record, &merge->count);
        if (n == 0) {
            lane->dry = true;
            lane->asked = trc_revision(merge->source[lane->index].file);
            break;
        }
        if (item->kind != TRC_RECORD_EVENT) {
            lane->count = merge->record.count;
            lane->busy = merge->record.busy;
        }
        if (n == 1 && item->of && !((struct ana_use *)&item->of->note)->call)
            look_up(merge, lane, item->of); /* the first event of a signature comes alone */
        if (merge->begin_ns != INT64_MIN || merge->end_ns != INT64_MAX)
            n = clip_items(merge, lane, n);
        if (merge->filter.wants)
            n = filter_items(merge, lane, n);
    }
    return n;
}

/* Adds the lane of a thread.  False: out of memory. */
static bool add_thread(struct ana_merge *merge, size_t index, size_t thread)
{
    struct lane *lane = calloc(1, sizeof *lane + (ahead_of(merge) + 1) * sizeof *lane->event);
    struct trc_cursor *cursor = lane ? trc_cursor_open(merge->source[index].file, thread) : NULL;
    if (!cursor || !ana_merge_add_lane(merge, lane)) {
        trc_cursor_close(cursor);
        free(lane);
        return false;
    }
    if (merge->begin_ns != INT64_MIN)
        trc_cursor_seek(cursor, ana_clock_ticks(merge->clock, index, merge->begin_ns));
    if (!merge->filter.wants)
        trc_cursor_want_regions(cursor);
    lane->cursor = cursor;
    lane->index = (uint32_t)index;
    lane->thread = (uint32_t)thread;
    lane->line = merge->source[index].line;
    lane->dry = true;
    lane->asked = UINT64_MAX;
    lane->next = lane->stop = lane->event;
    return true;
}

static bool is_over(const struct trc_head *head)
{
    return head->state == TRC_STATE_FINALIZED || head->state == TRC_STATE_ABORTED || head->state == TRC_STATE_STOPPED;
}

/* Returns the time before which all ended events are in the file, as far as its head tells. */
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

bool ana_files_refresh(struct ana_merge *merge)
{
    bool complete = true;
    merge->horizon_ns = NOTHING - 1;
    for (size_t i = 0; i < merge->sources; i++) {
        struct source *source = &merge->source[i];
        source->line = ana_clock_line(merge->clock, i);
        source->live = source->live && !is_over(trc_head(source->file));
        int64_t horizon_ns = file_horizon(merge, i);
        if (source->selected && horizon_ns < merge->horizon_ns)
            merge->horizon_ns = horizon_ns;
        size_t threads = source->selected ? trc_threads(source->file) : 0;
        while (complete && source->threads < threads) {
            complete = add_thread(merge, i, source->threads);
            source->threads += complete;
        }
    }
    for (size_t i = 0; i < merge->lanes; i++)
        merge->lane[i]->line = merge->source[merge->lane[i]->index].line;
    return complete;
}
