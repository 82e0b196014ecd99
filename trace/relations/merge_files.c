/* The files of a merge: threads become lanes, their items events in job time. */
#include "trace/relations/merge_impl.h"
#include "trace/util/times.h"
#include <stdlib.h>

#define AHEAD_MANY    8 /* items of a thread that are decoded in one go where there are many ranks: */
#define MANY          1024
#define WRITE_BACK_NS 2000000000 /* items may reach a reader on another node so much later than the heartbeat */

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
        event->step = 0;
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

size_t ana_merge_decode(struct ana_merge *merge, struct lane *lane)
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
    return n;
}

/* Adds the lane of a thread.  False: out of memory. */
static bool add_thread(struct ana_merge *merge, size_t index, size_t thread)
{
    size_t ahead = ahead_of(merge);
    struct lane *lane = calloc(1, sizeof *lane + ahead * (sizeof *lane->event + sizeof *lane->ticks));
    struct trc_cursor *cursor = lane ? trc_cursor_open(merge->source[index].file, thread) : NULL;
    if (!cursor || !ana_merge_add_lane(merge, lane)) {
        trc_cursor_close(cursor);
        free(lane);
        return false;
    }
    if (merge->begin_ns != INT64_MIN)
        trc_cursor_seek(cursor, ana_clock_ticks(merge->clock, index, merge->begin_ns));
    trc_cursor_want_regions(cursor);
    lane->cursor = cursor;
    lane->index = (uint32_t)index;
    lane->dry = true;
    lane->asked = UINT64_MAX;
    lane->next = lane->stop = lane->event;
    lane->ticks = (struct ticks *)(lane->event + ahead);
    for (size_t i = 0; i < ahead; i++) {
        lane->event[i].index = index;
        lane->event[i].thread = (uint32_t)thread;
    }
    return true;
}

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

bool ana_files_refresh(struct ana_merge *merge)
{
    bool complete = true, other_times = false;
    merge->horizon_ns = NOTHING - 1;
    for (size_t i = 0; i < merge->sources; i++) {
        struct source *source = &merge->source[i];
        struct ana_clock_line line = ana_clock_line(merge->clock, i);
        other_times |= line.job_ns != source->line.job_ns || line.rate != source->line.rate;
        source->line = line;
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
    if (other_times)
        convert_again(merge);
    return complete;
}
