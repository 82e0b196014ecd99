/* Items of one thread in order, decoded from a window that slides over its chunks.
 *
 * A cursor reads no further than the chunk heads of the last refresh say: what its events refer to has been defined by
 * then, so definitions are never missing. */
#include "trace/decode.h"
#include "trace/file.h"

#include <stdlib.h>

#define WINDOW   (32u << 10)
#define SIGS_MAX (1u << 16) /* in one chunk; a writer needs a dozen bytes for each */
#define PATIENCE 4          /* refreshes to wait for bytes that a network file system shows late */

struct chunk_sig {
    struct trc_sig sig;
    uint64_t sequence; /* of its last event here */
};

struct trc_cursor {
    struct trc_file *file;
    uint32_t thread;

    /* The chunk. */
    bool inside;            /* in one; else `known` is the last one done with (magic 0: none yet) */
    bool continued;         /* the one before was delivered to its end: SUB items may go on with its last event */
    uint32_t chunk;         /* its number */
    struct trc_chunk known; /* its head as the last refresh saw it */
    uint32_t at, limit;     /* bytes of items decoded, and there to decode */
    uint64_t delivered;
    uint64_t hole_look; /* file->looks when a hole was met first; 0: none */

    /* What its items stand on. */
    uint64_t base, row_base, row_end, next_start;
    bool in_row, row_settled; /* behind a FOLD; the FOLDs of this row grow no more */
    uint64_t event_begin, event_end;
    struct chunk_sig *sigs;
    size_t sig_count, sig_room;

    /* Bytes window_at .. window_at + window_size of its items. */
    uint32_t window_at, window_size;
    uint8_t window[WINDOW];
};

struct trc_cursor *trc_cursor_open(struct trc_file *file, size_t thread)
{
    struct trc_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return NULL;
    cursor->file = file;
    cursor->thread = thread < TRC_MAX_THREADS ? (uint32_t)thread : TRC_MAX_THREADS;
    return cursor;
}

void trc_cursor_close(struct trc_cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->sigs);
    free(cursor);
}

/* ---- from chunk to chunk ----------------------------------------------------------------------------------------- */

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

/* Begins a chunk.  The event that SUB items belong to lives on: they may continue those of the chunk before. */
static void enter(struct trc_cursor *cursor, const struct trc_event_ref *ref)
{
    cursor->inside = true;
    cursor->chunk = ref->chunk;
    cursor->known = cursor->file->chunks[ref->chunk];
    cursor->at = 0;
    cursor->limit = cursor->known.committed;
    cursor->delivered = 0;
    cursor->hole_look = 0;
    cursor->base = cursor->known.first_ticks;
    cursor->next_start = cursor->known.first_start;
    cursor->in_row = cursor->row_settled = false;
    if (!cursor->continued)
        cursor->event_begin = cursor->event_end = cursor->base;
    cursor->sig_count = 0;
    cursor->window_at = cursor->window_size = 0;
}

/* Takes over what the last refresh saw of the chunk.  False: the chunk is another one now. */
static bool update(struct trc_cursor *cursor)
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

/* No more items can come behind those in the chunk. */
static bool is_complete(const struct trc_cursor *cursor)
{
    return cursor->known.state == TRC_CHUNK_FULL || !trc_file_growing(cursor->file) || successor(cursor);
}

void trc_cursor_seek(struct trc_cursor *cursor, uint64_t ticks)
{
    const struct trc_file *file = cursor->file;
    size_t low = trc_events_from(file, cursor->thread, 0), high = trc_events_from(file, cursor->thread + 1, 0);
    size_t first = low, end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->chunks[file->events[middle].chunk].last_ticks < ticks)
            low = middle + 1;
        else
            high = middle;
    }
    if (first == end)
        return;
    cursor->continued = false;
    if (low == end && file->chunks[file->events[end - 1].chunk].state != TRC_CHUNK_FULL)
        low = end - 1; /* its last time is not the last word */
    if (low < end) {
        enter(cursor, &file->events[low]);
        return;
    }
    cursor->inside = false; /* behind all there is: what comes later is delivered */
    cursor->known = file->chunks[file->events[end - 1].chunk];
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

enum fill { FILL_OK, FILL_NOTHING, FILL_RECYCLED };

/* Makes the window begin at cursor->at.  What is in it then is of this chunk and no other. */
static enum fill fill(struct trc_cursor *cursor)
{
    const struct trc_file *file = cursor->file;
    uint32_t wanted = cursor->limit - cursor->at < WINDOW ? cursor->limit - cursor->at : WINDOW;
    uint64_t offset = trc_chunk_offset(file, cursor->chunk) + TRC_ITEMS_OFFSET + cursor->at;
    cursor->window_at = cursor->at;
    cursor->window_size = (uint32_t)trc_file_read(file, offset, cursor->window, wanted);
    if (cursor->window_size && !trc_chunk_same(file, cursor->chunk, &cursor->known, NULL)) {
        cursor->window_size = 0;
        return FILL_RECYCLED;
    }
    return cursor->window_size ? FILL_OK : FILL_NOTHING;
}

static struct trc_bytes bytes_at(const struct trc_cursor *cursor)
{
    const uint8_t *end = cursor->window + cursor->window_size;
    return (struct trc_bytes){cursor->window + (cursor->at - cursor->window_at), end};
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

enum step {
    STEP_RECORD,
    STEP_AGAIN, /* an item without a record */
    STEP_SHORT, /* the window ends inside the item */
    STEP_HOLE,  /* nothing written here */
    STEP_HELD,  /* a FOLD that still grows */
    STEP_BAD    /* *why says what is wrong */
};

static enum step take_sig(struct trc_cursor *cursor, struct trc_bytes *bytes, const char **why)
{
    const struct trc_schema *schema = &cursor->file->schema;
    uint64_t size;
    if (!trc_get_varint(bytes, &size) || size > (uint64_t)(bytes->end - bytes->at))
        return STEP_SHORT;
    struct trc_bytes body = {bytes->at, bytes->at + size};
    bytes->at += size;
    if (cursor->sig_count == cursor->sig_room) {
        size_t room = cursor->sig_room ? cursor->sig_room * 2 : 64;
        void *grown = room <= SIGS_MAX ? realloc(cursor->sigs, room * sizeof *cursor->sigs) : NULL;
        if (!grown) {
            *why = "too many signatures";
            return STEP_BAD;
        }
        cursor->sigs = grown;
        cursor->sig_room = room;
    }
    struct chunk_sig *fresh = &cursor->sigs[cursor->sig_count++];
    *fresh = (struct chunk_sig){.sig = trc_sig_empty()};
    uint64_t value;
    for (size_t i = 0; i < schema->field_count && trc_get_varint(&body, &value); i++) {
        const struct trc_schema_field *field = &schema->fields[i];
        if (field->zigzag)
            value = (uint64_t)trc_unzigzag(value);
        char *member = (char *)&fresh->sig + field->offset;
        if (field->size == 4)
            memcpy(member, &(uint32_t){(uint32_t)value}, 4);
        else if (field->size == 8)
            memcpy(member, &value, 8);
    }
    return STEP_AGAIN;
}

/* Steps over one item without taking it.  False: the bytes end first. */
static bool skip_item(struct trc_bytes *bytes, uint64_t kind)
{
    uint64_t n;
    if (kind == TRC_ITEM_FOLD)
        return trc_get_varint(bytes, &n) && trc_get_varint(bytes, &n) && trc_skip(bytes, 24);
    return trc_get_varint(bytes, &n) && trc_skip(bytes, n); /* SIG, and those of later versions */
}

/* Does anything follow the row of FOLDs that begins at `bytes`?  If not, its writer may still count polls into them. */
static enum step settle_row(struct trc_cursor *cursor, struct trc_bytes bytes)
{
    bool follows = false, reached = cursor->window_at + cursor->window_size >= cursor->limit;
    for (uint64_t kind; trc_get_varint(&bytes, &kind);) {
        if ((kind == TRC_ITEM_FOLD || kind == TRC_ITEM_SIG) && skip_item(&bytes, kind))
            continue;
        follows = kind != TRC_ITEM_FOLD && kind != TRC_ITEM_SIG && kind != TRC_ITEM_END;
        reached |= kind == TRC_ITEM_END;
        break;
    }
    if (!follows && !reached && cursor->at > cursor->window_at)
        return STEP_SHORT; /* see more of it first */
    if (!follows && reached && !is_complete(cursor))
        return STEP_HELD;
    cursor->row_settled = true;
    return STEP_AGAIN;
}

static enum step take_fold(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out, const char **why)
{
    uint64_t signature, gap, count, busy, span, begin, end;
    if (!trc_get_varint(bytes, &signature) || !trc_get_varint(bytes, &gap) || !trc_get_u64(bytes, &count) ||
        !trc_get_u64(bytes, &busy) || !trc_get_u64(bytes, &span))
        return STEP_SHORT;
    if (signature >= cursor->sig_count) {
        *why = "a signature that was not defined";
        return STEP_BAD;
    }
    if (!cursor->row_settled) {
        enum step step = settle_row(cursor, bytes_at(cursor));
        if (step != STEP_AGAIN)
            return step;
    }
    if (!cursor->in_row) {
        cursor->in_row = true;
        cursor->row_base = cursor->base;
    }
    if (__builtin_add_overflow(cursor->row_base, gap, &begin) || __builtin_add_overflow(begin, span, &end)) {
        *why = "an impossible time";
        return STEP_BAD;
    }
    const struct trc_sig *sig = &cursor->sigs[signature].sig;
    if (end > cursor->base && !(sig->flags & TRC_SIG_NESTED))
        cursor->base = end;
    *out = (struct trc_record){.kind = TRC_RECORD_FOLD,
                               .sig = sig,
                               .begin = begin,
                               .end = end,
                               .count = count,
                               .busy = busy < span ? busy : span,
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
    return STEP_RECORD;
}

/* The request of a COMPLETE item. */
static bool take_request(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out)
{
    uint64_t v;
    if (!trc_get_varint(bytes, &v))
        return false;
    if (v % 2 == 0) {
        if (v / 2 < cursor->next_start)
            out->request = cursor->next_start - 1 - v / 2;
        return true;
    }
    if (v / 2 == cursor->thread)
        return true; /* unknown */
    if (!trc_get_varint(bytes, &out->request))
        return false;
    if (v / 2 < TRC_MAX_THREADS)
        out->request_thread = (uint32_t)(v / 2);
    else
        out->request = UINT64_MAX;
    return true;
}

static enum step take_event(struct trc_cursor *cursor, struct trc_bytes *bytes, uint64_t signature,
                            struct trc_record *out, const char **why)
{
    if (signature >= cursor->sig_count) {
        *why = "a signature that was not defined";
        return STEP_BAD;
    }
    struct chunk_sig *entry = &cursor->sigs[signature];
    uint32_t flags = entry->sig.flags;
    uint64_t begin = cursor->event_begin, end = cursor->event_end, sequence = 0;
    out->kind = TRC_RECORD_EVENT;
    out->sig = &entry->sig;
    out->count = 1;
    out->request_thread = cursor->thread;
    out->request = UINT64_MAX;
    if (!(flags & TRC_SIG_SUB)) {
        uint64_t gap, duration;
        if (!trc_get_varint(bytes, &gap) || !trc_get_varint(bytes, &duration))
            return STEP_SHORT;
        if (__builtin_add_overflow(cursor->base, gap, &begin) || __builtin_add_overflow(begin, duration, &end)) {
            *why = "an impossible time";
            return STEP_BAD;
        }
    }
    if (flags & TRC_SIG_COLL) {
        if (!trc_get_varint(bytes, &sequence))
            return STEP_SHORT;
        sequence += entry->sequence;
    }
    if (flags & TRC_SIG_COMPLETE && !take_request(cursor, bytes, out))
        return STEP_SHORT;

    /* All of the item is there: now the cursor may move. */
    if (flags & TRC_SIG_COLL)
        entry->sequence = sequence;
    if (flags & TRC_SIG_START) {
        if (!(flags & TRC_SIG_COMPLETE))
            out->request = cursor->next_start;
        cursor->next_start++;
    }
    if (!(flags & TRC_SIG_SUB)) {
        cursor->event_begin = begin;
        cursor->event_end = end;
        if (!(flags & TRC_SIG_NESTED))
            cursor->base = end;
    }
    out->begin = begin;
    out->end = end;
    out->busy = end - begin;
    out->sequence = sequence;
    return STEP_RECORD;
}

static struct trc_record lost(const struct trc_cursor *cursor, uint64_t end, uint64_t count)
{
    return (struct trc_record){.kind = TRC_RECORD_LOST,
                               .begin = cursor->base,
                               .end = end > cursor->base ? end : cursor->base,
                               .count = count,
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
}

/* One item at the begin of `bytes`. */
static enum step take(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out, const char **why)
{
    uint64_t kind;
    if (!trc_get_varint(bytes, &kind))
        return STEP_SHORT;
    switch (kind) {
    case TRC_ITEM_END:
        return STEP_HOLE;
    case TRC_ITEM_SIG:
        return take_sig(cursor, bytes, why);
    case TRC_ITEM_FOLD:
        return take_fold(cursor, bytes, out, why);
    case TRC_ITEM_LOST: {
        uint64_t count;
        if (!trc_get_varint(bytes, &count))
            return STEP_SHORT;
        cursor->in_row = cursor->row_settled = false;
        *out = lost(cursor, cursor->base, count);
        return STEP_RECORD;
    }
    default:
        break;
    }
    if (kind < TRC_ITEM_EVENT) {
        if (!skip_item(bytes, kind))
            return STEP_SHORT;
        cursor->in_row = cursor->row_settled = false;
        return STEP_AGAIN;
    }
    enum step step = take_event(cursor, bytes, kind - TRC_ITEM_EVENT, out, why);
    if (step == STEP_RECORD)
        cursor->in_row = cursor->row_settled = false;
    return step;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* The chunk is another one now.  Its `records` tell what was not delivered if it was full when it was seen last.
 * False: nothing was missed. */
static bool leave_recycled(struct trc_cursor *cursor, struct trc_record *out)
{
    const struct trc_chunk *known = &cursor->known;
    bool told = known->state == TRC_CHUNK_FULL && known->records >= cursor->delivered;
    cursor->inside = cursor->continued = false;
    cursor->file->look_again = true;
    if (told && known->records == cursor->delivered)
        return false;
    *out = lost(cursor, known->last_ticks, told ? known->records - cursor->delivered : 0);
    return true;
}

/* Goes on to the next chunk, if there is one: TRC_OK.  TRC_BAD: chunks in between are gone, *out says how much. */
static enum trc_status next_chunk(struct trc_cursor *cursor, struct trc_record *out)
{
    const struct trc_event_ref *next = successor(cursor);
    if (!next)
        return TRC_END;
    uint64_t count;
    if (cursor->known.magic &&
        trc_events_vanished(cursor->file, cursor->thread, cursor->known.sequence, next->sequence, &count)) {
        *out = lost(cursor, cursor->file->chunks[next->chunk].first_ticks, count);
        cursor->continued = false;
        enter(cursor, next);
        return TRC_BAD;
    }
    enter(cursor, next);
    return TRC_OK;
}

/* Bytes that were committed are not there.  Are they still to come?  A network file system shows them late. */
static bool still_to_come(struct trc_cursor *cursor)
{
    const struct trc_file *file = cursor->file;
    if (!(file->head.flags & TRC_HEAD_WRITE_BACK) || !trc_file_growing(file))
        return false;
    if (!cursor->hole_look)
        cursor->hole_look = file->looks;
    return !successor(cursor) || (file->alive && file->looks - cursor->hole_look < PATIENCE);
}

/* The item at the cursor cannot be taken.  True: it may be whole after a refresh.  Else the chunk is done with. */
static bool wait_or_leave(struct trc_cursor *cursor, bool may_come, const char *why)
{
    cursor->window_at = cursor->at;
    cursor->window_size = 0;
    if (may_come && still_to_come(cursor))
        return true;
    trc_file_damage(cursor->file, "chunk %u, byte %u: %s: the rest of it is left out", cursor->chunk,
                    cursor->at + TRC_ITEMS_OFFSET, why);
    cursor->inside = cursor->continued = false;
    return false;
}

/* At the end of the window.  TRC_OK: there may be bytes in it now; TRC_END: nothing more at present; TRC_BAD: something
 * was missed, *out says what. */
static enum trc_status advance(struct trc_cursor *cursor, struct trc_record *out)
{
    if (!cursor->inside)
        return next_chunk(cursor, out);
    if (!update(cursor))
        return leave_recycled(cursor, out) ? TRC_BAD : TRC_OK;
    if (cursor->at == cursor->limit) {
        if (!successor(cursor))
            return TRC_END;
        cursor->inside = false;
        cursor->continued = true;
        return TRC_OK;
    }
    switch (fill(cursor)) {
    case FILL_RECYCLED:
        return leave_recycled(cursor, out) ? TRC_BAD : TRC_OK;
    case FILL_NOTHING:
        return wait_or_leave(cursor, true, "the file ends here") ? TRC_END : TRC_OK;
    default:
        return TRC_OK;
    }
}

enum trc_status trc_next(struct trc_cursor *cursor, struct trc_record *out)
{
    for (;;) {
        struct trc_bytes bytes = bytes_at(cursor);
        if (!cursor->inside || bytes.at >= bytes.end) {
            enum trc_status status = advance(cursor, out);
            if (status == TRC_OK)
                continue;
            return status == TRC_BAD ? TRC_OK : TRC_END;
        }
        const char *why = NULL;
        enum step step = take(cursor, &bytes, out, &why);
        if (step == STEP_RECORD || step == STEP_AGAIN) {
            cursor->at = cursor->window_at + (uint32_t)(bytes.at - cursor->window);
            if (step == STEP_AGAIN)
                continue;
            cursor->delivered++;
            return TRC_OK;
        }
        bool wait = false;
        if (step == STEP_SHORT && cursor->at > cursor->window_at) {
            cursor->window_at = cursor->at; /* filled anew from this item on */
            cursor->window_size = 0;
        } else if (step == STEP_SHORT) {
            uint32_t end = cursor->window_at + cursor->window_size;
            bool file_ends = end < cursor->limit && cursor->window_size < WINDOW;
            wait = wait_or_leave(cursor, file_ends, file_ends ? "the file ends here" : "an item is cut off");
        } else if (step == STEP_HOLE) {
            wait = wait_or_leave(cursor, true, "nothing was written here");
        } else if (step == STEP_HELD) {
            cursor->window_at = cursor->at; /* read again next time: it grows in place */
            cursor->window_size = 0;
            wait = true;
        } else
            wait_or_leave(cursor, false, why);
        if (wait)
            return TRC_END;
    }
}
