#include "trace/merge.h"
#include <stdlib.h>

#define WRITE_BACK_NS 2000000000 /* so much later than the heartbeat may items reach a reader on another node */

struct source {
    struct trc_file *file;
    struct ana_clock_line line;
    double ns_per_tick;
    size_t threads; /* that have a lane */
    int64_t horizon_ns;
    bool live, selected;
};

/* One thread: its cursor and its next item. */
struct lane {
    struct trc_cursor *cursor;
    uint32_t index, thread;
    bool dry;                  /* had nothing more when last asked */
    bool ended;                /* will give nothing more: past the window */
    uint32_t call_id, comm_id; /* what the pointers below stand for */
    const struct trc_call *call;
    const struct trc_comm *comm;
    struct trc_record record;
    int64_t begin_ns, end_ns;
};

/* Heap entries carry their key, so that comparing them touches no lane. */
struct entry {
    int64_t end_ns;
    uint64_t order; /* among equal ends: what belongs to an event given out before, then by index and thread */
    uint32_t lane;
};

struct ana_merge {
    const struct ana_clock *clock;
    struct source *source;
    size_t sources, source_room;
    struct lane *lane;
    size_t lanes, lane_room;
    struct entry *heap; /* room for every lane */
    size_t heaped;
    bool holding; /* heap[0] was given out: its lane has to move first */
    int64_t horizon_ns, begin_ns, end_ns;
    int64_t position_ns;
    uint64_t count;
};

/* ---- heap ------------------------------------------------------------------------------------------------------ */

static bool before(const struct entry *a, const struct entry *b)
{
    return a->end_ns < b->end_ns || (a->end_ns == b->end_ns && a->order < b->order);
}

static inline void sift_down(struct ana_merge *merge, struct entry entry)
{
    struct entry *heap = merge->heap;
    size_t hole = 0, n = merge->heaped;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= n)
            break;
        if (child + 1 < n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &entry))
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = entry;
}

static void push(struct ana_merge *merge, struct entry entry)
{
    size_t hole = merge->heaped++;
    while (hole > 0 && before(&entry, &merge->heap[(hole - 1) / 2])) {
        merge->heap[hole] = merge->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    merge->heap[hole] = entry;
}

static void pop(struct ana_merge *merge)
{
    if (--merge->heaped > 0)
        sift_down(merge, merge->heap[merge->heaped]);
}

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

static bool is_sub(const struct trc_record *record)
{
    return record->kind == TRC_RECORD_EVENT && (record->sig->flags & TRC_SIG_SUB);
}

/* Takes the lane's next item that is wanted.  False: nothing now. */
static bool advance(struct ana_merge *merge, struct lane *lane)
{
    const struct source *source = &merge->source[lane->index];
    while (!lane->ended) {
        if (trc_next(lane->cursor, &lane->record) != TRC_OK) {
            lane->dry = true;
            return false;
        }
        const struct trc_record *record = &lane->record;
        /* A SUB item has the times of its event: they are there already, unless that was recycled. */
        if (!is_sub(record) || lane->end_ns == INT64_MIN) {
            lane->begin_ns = ana_clock_apply(&source->line, record->begin);
            lane->end_ns = ana_clock_apply(&source->line, record->end);
        }
        if (lane->begin_ns >= merge->end_ns && !(record->sig && record->sig->flags & TRC_SIG_NESTED) && !is_sub(record))
            lane->ended = true;
        else if (lane->end_ns >= merge->begin_ns && lane->begin_ns < merge->end_ns)
            return true;
    }
    return false;
}

static inline struct entry entry_of(const struct ana_merge *merge, size_t lane)
{
    const struct lane *l = &merge->lane[lane];
    uint64_t order = (uint64_t)l->index << 32 | l->thread;
    return (struct entry){l->end_ns, is_sub(&l->record) ? order : order | 1ull << 63, (uint32_t)lane};
}

static void close_lanes(struct ana_merge *merge)
{
    for (size_t i = 0; i < merge->lanes; i++)
        trc_cursor_close(merge->lane[i].cursor);
    merge->lanes = merge->heaped = 0;
    merge->holding = false;
    for (size_t i = 0; i < merge->sources; i++)
        merge->source[i].threads = 0;
}

static bool add_lane(struct ana_merge *merge, size_t index, size_t thread)
{
    if (merge->lanes == merge->lane_room) {
        size_t room = merge->lane_room ? merge->lane_room * 2 : 16;
        struct lane *lane = realloc(merge->lane, room * sizeof *lane);
        if (lane)
            merge->lane = lane;
        struct entry *heap = realloc(merge->heap, room * sizeof *heap);
        if (heap)
            merge->heap = heap;
        if (!lane || !heap)
            return false;
        merge->lane_room = room;
    }
    struct trc_cursor *cursor = trc_cursor_open(merge->source[index].file, thread);
    if (!cursor)
        return false;
    if (merge->begin_ns != INT64_MIN)
        trc_cursor_seek(cursor, ana_clock_ticks(merge->clock, index, merge->begin_ns));
    merge->lane[merge->lanes++] = (struct lane){.cursor = cursor,
                                                .index = (uint32_t)index,
                                                .thread = (uint32_t)thread,
                                                .dry = true,
                                                .call_id = UINT32_MAX,
                                                .comm_id = UINT32_MAX,
                                                .begin_ns = INT64_MIN,
                                                .end_ns = INT64_MIN};
    return true;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static bool over(const struct trc_head *head)
{
    return head->state == TRC_STATE_FINALIZED || head->state == TRC_STATE_ABORTED || head->state == TRC_STATE_STOPPED;
}

/* Up to when all that ended is in the file, as far as its head tells. */
static int64_t file_horizon(const struct ana_merge *merge, size_t index)
{
    const struct source *source = &merge->source[index];
    const struct trc_head *head = trc_head(source->file);
    if (!source->live)
        return INT64_MAX;
    const struct trc_anchor *seen = head->latest.ticks > head->start.ticks ? &head->latest : &head->start;
    int64_t ns = ana_clock_apply(&source->line, seen->ticks);
    return head->flags & TRC_HEAD_WRITE_BACK ? ns - WRITE_BACK_NS : ns;
}

bool ana_merge_refresh(struct ana_merge *merge)
{
    bool complete = true;
    for (size_t i = 0; i < merge->sources; i++) {
        struct source *source = &merge->source[i];
        source->line = ana_clock_line(merge->clock, i);
        source->live = source->live && !over(trc_head(source->file));
        source->horizon_ns = file_horizon(merge, i);
        size_t threads = source->selected ? trc_threads(source->file) : 0;
        while (complete && source->threads < threads) {
            complete = add_lane(merge, i, source->threads);
            source->threads += complete;
        }
    }
    if (merge->holding) { /* it is neither on the heap nor waiting for more: let it go the way of the dry ones */
        merge->lane[merge->heap[0].lane].dry = true;
        pop(merge);
        merge->holding = false;
    }
    for (size_t i = 0; i < merge->lanes; i++) {
        struct lane *lane = &merge->lane[i];
        lane->call_id = lane->comm_id = UINT32_MAX; /* a definition may have come */
        lane->call = NULL;
        lane->comm = NULL;
        if (!lane->dry)
            continue;
        lane->dry = false;
        if (advance(merge, lane))
            push(merge, entry_of(merge, i));
    }
    merge->horizon_ns = INT64_MAX;
    for (size_t i = 0; i < merge->sources; i++)
        if (merge->source[i].selected && merge->source[i].horizon_ns < merge->horizon_ns)
            merge->horizon_ns = merge->source[i].horizon_ns;
    return complete;
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
    if (complete && ana_merge_refresh(merge))
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
    free(merge->heap);
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
    return ana_merge_refresh(merge);
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

static void give_out(struct ana_merge *merge, struct lane *lane, struct ana_event *out)
{
    const struct source *source = &merge->source[lane->index];
    const struct trc_record *record = &lane->record;
    /* Field by field: clearing the whole struct first would cost as much as all the rest. */
    out->index = lane->index;
    out->thread = lane->thread;
    out->kind = record->kind;
    out->begin_ns = lane->begin_ns;
    out->end_ns = lane->end_ns;
    out->busy_ns = 0;
    out->count = record->count;
    out->sig = record->sig;
    out->call = NULL;
    out->comm = NULL;
    out->sequence = record->sequence;
    out->request_thread = record->request_thread;
    out->request = record->request;
    if (record->kind == TRC_RECORD_FOLD)
        out->busy_ns = (int64_t)((double)record->busy * source->line.rate);
    if (record->sig) {
        if (record->sig->call != lane->call_id || !lane->call) {
            lane->call_id = record->sig->call;
            lane->call = trc_call(source->file, lane->call_id);
        }
        if (record->sig->comm != lane->comm_id || !lane->comm) {
            lane->comm_id = record->sig->comm;
            lane->comm = lane->comm_id ? trc_comm(source->file, lane->comm_id) : NULL;
        }
        out->call = lane->call;
        out->comm = lane->comm;
    }
    if (lane->end_ns > merge->position_ns)
        merge->position_ns = lane->end_ns;
    merge->count++;
}

enum trc_status ana_merge_next(struct ana_merge *merge, struct ana_event *out)
{
    if (merge->holding) {
        uint32_t top = merge->heap[0].lane;
        struct lane *lane = &merge->lane[top];
        if (!advance(merge, lane)) {
            pop(merge);
        } else if (is_sub(&lane->record)) { /* stays behind its event whatever else ended at that time */
            give_out(merge, lane, out);
            return TRC_OK;
        } else {
            sift_down(merge, entry_of(merge, top));
        }
        merge->holding = false;
    }
    if (merge->heaped == 0 || merge->heap[0].end_ns > merge->horizon_ns)
        return TRC_END;
    give_out(merge, &merge->lane[merge->heap[0].lane], out);
    merge->holding = true;
    return TRC_OK;
}
