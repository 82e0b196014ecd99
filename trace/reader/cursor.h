/* Inside a cursor: what its two halves share, the walk over chunks (cursor.c) and the items in them (items.c). */
#pragma once

#include "trace/format/decode.h"
#include "trace/reader/file.h"

#define TRC_CURSOR_BUFFER (32u << 10) /* bytes of a buffer, at most */

struct trc_cursor {
    struct trc_file *file;
    uint32_t thread;
    bool want_rounds, want_regions;

    /* The chunk. */
    bool inside;            /* inside a chunk; else `known` is the last one done with (magic 0: none yet) */
    bool continued;         /* the one before was delivered to its end: SUB items may go on with its last event */
    uint32_t chunk;         /* its number */
    struct trc_chunk known; /* head as the last refresh saw it */
    uint32_t at, limit;     /* bytes of items decoded, and there to decode */
    uint64_t delivered;     /* records of it */
    uint64_t through;       /* not inside: records of the thread up to here, delivered or reported as lost */
    uint64_t hole_refresh;  /* file->refreshes when a hole was met first; 0: none */

    /* Bases that the items are relative to. */
    uint64_t base, row_base, next_start;
    bool in_row, row_settled; /* behind a FOLD; the FOLDs of this row grow no more */
    uint64_t event_begin, event_end;
    bool joined; /* the last item that was given out is the last event, or a SUB item of it */
    struct trc_signature *sigs;
    size_t sig_count, sig_room;

    /* Bytes buffer_at .. buffer_at + buffer_size of its items. */
    uint32_t buffer_at, buffer_size, buffer_room;
    uint8_t *buffer; /* NULL while there is nothing to read */
};

/* The bytes in the buffer that are not decoded yet. */
static inline struct trc_bytes trc_cursor_bytes(const struct trc_cursor *cursor)
{
    if (!cursor->buffer_size)
        return (struct trc_bytes){NULL, NULL};
    const uint8_t *end = cursor->buffer + cursor->buffer_size;
    return (struct trc_bytes){cursor->buffer + (cursor->at - cursor->buffer_at), end};
}

/* The result of decoding an item. */
enum trc_step {
    TRC_STEP_RECORD,
    TRC_STEP_ROUND, /* a record that its chunk does not count */
    TRC_STEP_AGAIN, /* an item without a record */
    TRC_STEP_SHORT, /* the buffer ends inside the item */
    TRC_STEP_HOLE,  /* nothing written here */
    TRC_STEP_HELD,  /* a FOLD that still grows */
    TRC_STEP_BAD    /* damage, named by *why */
};

/* Decodes the item at the begin of `bytes`.  On RECORD, ROUND and AGAIN `bytes` stands behind it.  Otherwise the
 * cursor has not moved, and on BAD *why names the damage. */
enum trc_step trc_item_decode(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out,
                              const char **why);

/* Decodes the usual items: events of signatures that were met before, as long as they lie in the buffer whole.
 * Returns their number; at 0 trc_item_decode says why. *left_out grows by the number of events left out. */
size_t trc_item_decode_events(struct trc_cursor *cursor, struct trc_brief *restrict out, size_t max,
                              uint64_t *left_out);

/* A LOST record from the cursor's time base to `end`. */
struct trc_record trc_item_lost(const struct trc_cursor *cursor, uint64_t end, uint64_t count);

/* Whether no more items can come behind those in the cursor's chunk. */
bool trc_cursor_is_complete(const struct trc_cursor *cursor);
