/* Items of one thread in order, decoded from a buffer that slides over its chunks.  A cursor reads no further than the
 * chunk heads of the last refresh say.  What its events refer to was defined by then, so definitions are never missing.
 */
#include "trace/reader/cursor.h"
#include "trace/util/sort.h"

#include <stdlib.h>

#define PATIENCE 4 /* refreshes to wait for bytes that a network file system shows late */

#define BUFFERS_ALL  (32u << 20) /* bytes that the buffers of all cursors have, more or less */
#define BUFFER_LEAST (4u << 10)

static atomic_uint cursors; /* open cursors, of all threads of this process */

/* Largest size of a buffer: with many thousand cursors, 32 KiB each would be too much. */
static uint32_t buffer_share(void)
{
    uint32_t share = BUFFERS_ALL / (atomic_load_explicit(&cursors, memory_order_relaxed) + 1);
    return share < BUFFER_LEAST ? BUFFER_LEAST : share < TRC_CURSOR_BUFFER ? share : TRC_CURSOR_BUFFER;
}

/* Frees the buffer of a cursor that has nothing more to read. */
static void drop_buffer(struct trc_cursor *cursor)
{
    free(cursor->buffer);
    cursor->buffer = NULL;
    cursor->buffer_size = cursor->buffer_room = 0;
    cursor->buffer_at = cursor->at;
}

struct trc_cursor *trc_cursor_open(struct trc_file *file, size_t thread)
{
    struct trc_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    atomic_fetch_add_explicit(&cursors, 1, memory_order_relaxed);
    cursor->file = file;
    cursor->thread = thread < TRC_MAX_THREADS ? (uint32_t)thread : TRC_MAX_THREADS;
    return cursor;
}

void trc_cursor_close(struct trc_cursor *cursor)
{
    if (!cursor)
        return;
    atomic_fetch_sub_explicit(&cursors, 1, memory_order_relaxed);
    free(cursor->buffer);
    ana_budget_free(&cursor->file->budget, cursor->sigs, cursor->sig_room * sizeof *cursor->sigs);
    free(cursor);
}

void trc_cursor_want_rounds(struct trc_cursor *cursor)
{
    cursor->want_rounds = true;
}

void trc_cursor_want_regions(struct trc_cursor *cursor)
{
    cursor->want_regions = true;
}

void trc_cursor_want_all(struct trc_cursor *cursor)
{
    for (size_t i = 0; i < cursor->sig_count; i++)
        cursor->sigs[i].wanted = true;
}

/* ---- steps between chunks ---------------------------------------------------------------------------------------- */

static const struct trc_event_ref *ref_from(const struct trc_cursor *cursor, uint64_t sequence)
{
    const struct trc_file *file = cursor->file;
    size_t i = trc_events_from(file, cursor->thread, sequence);
    return i < file->event_count && file->events[i].thread == cursor->thread ? &file->events[i] : NULL;
}

static const struct trc_event_ref *successor(const struct trc_cursor *cursor)
{
    uint64_t done = cursor->known.sequence;
    if (cursor->known.magic == 0)
        return ref_from(cursor, 0);
    return done == UINT64_MAX ? NULL : ref_from(cursor, done + 1);
}

/* Begins a chunk.  Keeps the event that SUB items belong to: SUB items may continue from the chunk before. */
static void enter_chunk(struct trc_cursor *cursor, const struct trc_event_ref *ref)
{
    cursor->inside = true;
    cursor->chunk = ref->chunk;
    cursor->known = cursor->file->chunks[ref->chunk];
    cursor->at = 0;
    cursor->limit = cursor->known.committed;
    cursor->delivered = 0;
    cursor->hole_refresh = 0;
    cursor->base = cursor->known.first_ticks;
    cursor->next_start = cursor->known.first_start;
    cursor->in_row = cursor->row_settled = false;
    if (!cursor->continued)
        cursor->event_begin = cursor->event_end = cursor->base;
    cursor->sig_count = 0;
    cursor->buffer_at = cursor->buffer_size = 0;
}

/* Ends a chunk after `records` records were delivered or reported as lost. */
static void leave_chunk(struct trc_cursor *cursor, uint64_t records, bool continued)
{
    cursor->inside = false;
    cursor->continued = continued;
    cursor->through = cursor->known.earlier + records;
}

/* Copies the chunk's head of the last refresh.  False: the chunk was begun anew. */
static bool update_chunk(struct trc_cursor *cursor)
{
    const struct trc_file *file = cursor->file;
    const struct trc_chunk *now = &file->chunks[cursor->chunk];
    if (cursor->chunk >= file->chunk_count || now->magic != cursor->known.magic || now->kind != cursor->known.kind ||
        now->thread != cursor->known.thread || now->sequence != cursor->known.sequence)
        return false;
    cursor->known = *now;
    if (cursor->limit < now->committed)
        cursor->limit = now->committed;
    return true;
}

bool trc_cursor_is_complete(const struct trc_cursor *cursor)
{
    return cursor->known.state == TRC_CHUNK_FULL || !trc_file_growing(cursor->file) || successor(cursor);
}

void trc_cursor_seek(struct trc_cursor *cursor, uint64_t ticks)
{
    const struct trc_file *file = cursor->file;
    size_t first = trc_events_from(file, cursor->thread, 0), end = trc_events_from(file, cursor->thread + 1, 0);
    if (first == end)
        return;
    const struct trc_event_ref *of = &file->events[first];
    size_t low = first + ANA_FIRST(i, end - first, file->chunks[of[i].chunk].last_ticks < ticks);
    cursor->continued = false;
    if (low == end && file->chunks[file->events[end - 1].chunk].state != TRC_CHUNK_FULL)
        low = end - 1; /* times after its last one may still come */
    if (low < end) {
        enter_chunk(cursor, &file->events[low]);
        return;
    }
    cursor->known = file->chunks[file->events[end - 1].chunk];
    leave_chunk(cursor, cursor->known.records, false); /* all items so far are before it: later ones are delivered */
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

enum fill { FILL_OK, FILL_NOTHING, FILL_RECYCLED };

/* Makes the buffer as large as it may be, and may be of use; at least `least` bytes.  False: out of memory. */
static bool make_buffer(struct trc_cursor *cursor, uint32_t least)
{
    uint32_t share = buffer_share(), left = cursor->limit - cursor->at, wanted = left < share ? left : share;
    wanted = wanted < least ? least : wanted;
    if (wanted <= cursor->buffer_room)
        return true;
    uint8_t *grown = realloc(cursor->buffer, wanted);
    if (!grown)
        return false;
    cursor->buffer = grown;
    cursor->buffer_room = wanted;
    return true;
}

/* Fills the buffer from cursor->at on, with bytes of this chunk and no other. */
static enum fill fill_buffer(struct trc_cursor *cursor)
{
    const struct trc_file *file = cursor->file;
    if (!make_buffer(cursor, 0))
        return FILL_NOTHING;
    uint32_t left = cursor->limit - cursor->at, wanted = left < cursor->buffer_room ? left : cursor->buffer_room;
    uint64_t offset = trc_chunk_offset(file, cursor->chunk) + TRC_ITEMS_OFFSET + cursor->at;
    cursor->buffer_at = cursor->at;
    trc_file_hold(file);
    cursor->buffer_size = (uint32_t)trc_file_read(file, offset, cursor->buffer, wanted);
    bool same = !cursor->buffer_size || trc_chunk_same(file, cursor->chunk, &cursor->known, NULL);
    trc_file_release(file);
    if (!same) {
        cursor->buffer_size = 0;
        return FILL_RECYCLED;
    }
    return cursor->buffer_size ? FILL_OK : FILL_NOTHING;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Leaves a chunk that was begun anew.  How many records were missed, its `records` tell if it was full when it was read
 * last; else `earlier` of the thread's next chunk does.  False: there is nothing to report here. */
static bool leave_recycled(struct trc_cursor *cursor, struct trc_record *out)
{
    const struct trc_chunk *known = &cursor->known;
    bool full = known->state == TRC_CHUNK_FULL && known->records >= cursor->delivered;
    leave_chunk(cursor, full ? known->records : cursor->delivered, false);
    cursor->file->check_again = true;
    if (full ? known->records == cursor->delivered : successor(cursor) != NULL)
        return false;
    *out = trc_item_lost(cursor, known->last_ticks, full ? known->records - cursor->delivered : 0);
    return true;
}

/* Opens the next chunk, if there is one: TRC_OK.  TRC_BAD: chunks in between are gone; *out says how many records.
 */
static enum trc_status next_chunk(struct trc_cursor *cursor, struct trc_record *out)
{
    const struct trc_event_ref *next = successor(cursor);
    if (!next)
        return TRC_END;
    const struct trc_chunk *head = &cursor->file->chunks[next->chunk];
    bool gap = cursor->known.magic && head->earlier > cursor->through;
    if (gap) {
        *out = trc_item_lost(cursor, head->first_ticks, head->earlier - cursor->through);
        cursor->continued = false;
    }
    enter_chunk(cursor, next);
    return gap ? TRC_BAD : TRC_OK;
}

/* Whether committed bytes that are not there may still come.  A network file system may show the pages of a file in any
 * order, its head (and that its process has finished) before the last items. */
static bool is_pending(struct trc_cursor *cursor)
{
    const struct trc_file *file = cursor->file;
    if (!(file->head.flags & TRC_HEAD_WRITE_BACK))
        return false;
    if (!cursor->hole_refresh)
        cursor->hole_refresh = file->refreshes;
    if (trc_file_growing(file) && !successor(cursor))
        return true;
    return file->seen_alive && file->refreshes - cursor->hole_refresh < PATIENCE;
}

/* Handles an item that cannot be decoded.  True: it may be whole after a refresh.  Else the chunk is left. */
static bool wait_or_leave(struct trc_cursor *cursor, bool may_come, const char *why)
{
    cursor->buffer_at = cursor->at;
    cursor->buffer_size = 0;
    if (may_come && is_pending(cursor))
        return true;
    trc_file_damage(cursor->file, "chunk %u, byte %u: %s: the rest of it is left out", cursor->chunk,
                    cursor->at + TRC_ITEMS_OFFSET, why);
    leave_chunk(cursor, cursor->known.records, false);
    return false;
}

/* Refills the buffer at its end.  TRC_OK: it may have bytes now; TRC_END: nothing more at present; TRC_BAD: records
 * were missed, *out says how many. */
static enum trc_status advance_buffer(struct trc_cursor *cursor, struct trc_record *out)
{
    if (!cursor->inside)
        return next_chunk(cursor, out);
    if (!update_chunk(cursor))
        return leave_recycled(cursor, out) ? TRC_BAD : TRC_OK;
    if (cursor->at == cursor->limit) {
        if (!successor(cursor))
            return TRC_END;
        leave_chunk(cursor, cursor->known.records, true);
        return TRC_OK;
    }
    switch (fill_buffer(cursor)) {
    case FILL_RECYCLED:
        return leave_recycled(cursor, out) ? TRC_BAD : TRC_OK;
    case FILL_NOTHING:
        return wait_or_leave(cursor, true, "the file ends here") ? TRC_END : TRC_OK;
    default:
        return TRC_OK;
    }
}

/* Makes a buffer that is too small for the item at its begin larger, if the chunk has more bytes. */
static bool is_to_grow(struct trc_cursor *cursor)
{
    uint32_t room = cursor->buffer_room, most = TRC_CURSOR_BUFFER;
    return room < most && room < cursor->limit - cursor->at && make_buffer(cursor, room * 2 < most ? room * 2 : most) &&
           cursor->buffer_room > room;
}

enum trc_status trc_next(struct trc_cursor *cursor, struct trc_record *out)
{
    for (;;) {
        struct trc_bytes bytes = trc_cursor_bytes(cursor);
        if (!cursor->inside || bytes.at >= bytes.end) {
            enum trc_status status = advance_buffer(cursor, out);
            if (status == TRC_OK)
                continue;
            if (status == TRC_END)
                drop_buffer(cursor);
            return status == TRC_BAD ? TRC_OK : TRC_END;
        }
        const char *why = NULL;
        enum trc_step step = trc_item_decode(cursor, &bytes, out, &why);
        if (step == TRC_STEP_RECORD || step == TRC_STEP_AGAIN || step == TRC_STEP_ROUND) {
            cursor->at = cursor->buffer_at + (uint32_t)(bytes.at - cursor->buffer);
            if (step == TRC_STEP_AGAIN)
                continue;
            cursor->delivered += step == TRC_STEP_RECORD;
            return TRC_OK;
        }
        bool wait = false;
        if (step == TRC_STEP_SHORT && cursor->at > cursor->buffer_at) {
            cursor->buffer_at = cursor->at; /* filled anew from this item on */
            cursor->buffer_size = 0;
        } else if (step == TRC_STEP_SHORT && cursor->buffer_size == cursor->buffer_room && is_to_grow(cursor)) {
            cursor->buffer_size = 0; /* filled anew, now that the item has room */
        } else if (step == TRC_STEP_SHORT) {
            uint32_t end = cursor->buffer_at + cursor->buffer_size;
            bool file_ends = end < cursor->limit && cursor->buffer_size < cursor->buffer_room;
            wait = wait_or_leave(cursor, file_ends, file_ends ? "the file ends here" : "an item is cut off");
        } else if (step == TRC_STEP_HOLE) {
            wait = wait_or_leave(cursor, true, "nothing was written here");
        } else if (step == TRC_STEP_HELD) {
            cursor->buffer_at = cursor->at; /* read again next time: it grows in place */
            cursor->buffer_size = 0;
            wait = true;
        } else
            wait_or_leave(cursor, false, why);
        if (wait)
            return TRC_END;
    }
}

size_t trc_next_brief(struct trc_cursor *cursor, struct trc_brief *out, size_t max, struct trc_record *other,
                      uint64_t *left_out)
{
    size_t n = trc_item_decode_events(cursor, out, max, left_out);
    if (n > 0 || trc_next(cursor, other) != TRC_OK)
        return n;
    bool is_event = other->kind == TRC_RECORD_EVENT, is_sub = is_event && other->sig->flags & TRC_SIG_SUB;
    out[0] = (struct trc_brief){.kind = (uint8_t)other->kind,
                                .joined = is_sub && cursor->joined,
                                .request_thread = (uint16_t)other->request_thread,
                                .of = other->of,
                                .sequence = other->sequence,
                                .request = other->request,
                                .begin = other->begin,
                                .end = other->end};
    cursor->joined = is_event;
    return 1;
}
