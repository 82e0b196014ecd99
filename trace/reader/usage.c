/* Counts of the kernel: the items of USAGE chunks, in the order of their times. */
#include "trace/reader/usage.h"
#include "trace/format/decode.h"
#include "trace/reader/file.h"

#include <stdlib.h>

#define BUFFER       2048u
#define MOST_ENTRIES (TRC_MAX_THREADS + TRC_USAGE_THREAD)

struct trc_usage_cursor {
    struct trc_file *file;
    bool inside;            /* inside a chunk; else `known` is the last one done with */
    uint32_t chunk;         /* its number */
    struct trc_chunk known; /* head at the chunk's begin */
    uint32_t at;            /* bytes of it that are done with */
    uint64_t base;
    uint8_t *buffer; /* bytes buffer_at .. buffer_at + buffer_size */
    uint32_t buffer_at, buffer_size;
    size_t buffer_room;
    struct trc_usage *entry;
    size_t entry_room;
};

struct trc_usage_cursor *trc_usage_open(struct trc_file *file)
{
    struct trc_usage_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor)
        cursor->file = file;
    return cursor;
}

void trc_usage_close(struct trc_usage_cursor *cursor)
{
    if (!cursor)
        return;
    ana_budget_free(&cursor->file->budget, cursor->buffer, cursor->buffer_room);
    ana_budget_free(&cursor->file->budget, cursor->entry, cursor->entry_room * sizeof *cursor->entry);
    free(cursor);
}

/* The number of the chunk that comes next after `sequence`; UINT32_MAX: there is none. */
static uint32_t next_chunk(const struct trc_file *file, uint64_t sequence)
{
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        const struct trc_chunk *chunk = &file->chunks[i];
        if (chunk->magic && chunk->kind == TRC_CHUNK_USAGE && chunk->sequence > sequence &&
            (next == UINT32_MAX || chunk->sequence < file->chunks[next].sequence))
            next = i;
    }
    return next;
}

void trc_usage_seek(struct trc_usage_cursor *cursor, uint64_t ticks)
{
    for (uint32_t i = 0; i < cursor->file->chunk_count; i++) {
        const struct trc_chunk *chunk = &cursor->file->chunks[i];
        if (chunk->magic && chunk->kind == TRC_CHUNK_USAGE && chunk->first_ticks <= ticks &&
            chunk->sequence > cursor->known.sequence + 1)
            cursor->known.sequence = chunk->sequence - 1;
    }
}

static bool begin_chunk(struct trc_usage_cursor *cursor)
{
    uint32_t next = next_chunk(cursor->file, cursor->known.sequence);
    if (next == UINT32_MAX)
        return false;
    cursor->chunk = next;
    cursor->known = cursor->file->chunks[next];
    cursor->base = cursor->known.first_ticks;
    cursor->at = cursor->buffer_at = cursor->buffer_size = 0;
    return cursor->inside = true;
}

/* Reads at least `need` bytes from where the cursor is, if the chunk has them.  False: it was begun anew, or there is
 * no memory. */
static bool read_bytes(struct trc_usage_cursor *cursor, uint32_t need, uint32_t limit)
{
    need = need > BUFFER ? need : BUFFER;
    need = need < limit - cursor->at ? need : limit - cursor->at;
    if (!trc_file_grow(cursor->file, &cursor->buffer, &cursor->buffer_room, need, 1))
        return false;
    uint64_t offset = trc_chunk_offset(cursor->file, cursor->chunk) + TRC_ITEMS_OFFSET + cursor->at;
    cursor->buffer_at = cursor->at;
    trc_file_hold(cursor->file);
    cursor->buffer_size = (uint32_t)trc_file_read(cursor->file, offset, cursor->buffer, need);
    bool same = trc_chunk_same(cursor->file, cursor->chunk, &cursor->known, NULL);
    trc_file_release(cursor->file);
    return same;
}

/* Decodes the entries of an item.  False: damage. */
static bool decode_entries(struct trc_usage_cursor *cursor, struct trc_bytes bytes, struct trc_usage_item *out)
{
    for (out->n = 0; bytes.at < bytes.end; out->n++) {
        uint64_t whose, fields, value;
        if (out->n >= MOST_ENTRIES ||
            !trc_file_room(cursor->file, &cursor->entry, &cursor->entry_room, out->n, sizeof *cursor->entry))
            return false;
        if (!trc_get_varint(&bytes, &whose) || whose >= MOST_ENTRIES || !trc_get_varint(&bytes, &fields))
            return false;
        struct trc_usage *entry = &cursor->entry[out->n];
        *entry = (struct trc_usage){.whose = (uint32_t)whose, .fields = fields & ((1u << TRC_USAGE_FIELDS) - 1)};
        for (uint32_t i = 0; i < 64; i++) {
            if (!(fields >> i & 1))
                continue;
            if (!trc_get_varint(&bytes, &value))
                return false;
            if (i < TRC_USAGE_FIELDS)
                entry->value[i] = value;
        }
    }
    out->entry = cursor->entry;
    return true;
}

enum step { ITEM, SHORT, BAD };

/* Decodes the item at the cursor from the bytes in the buffer; *need: bytes that it has. */
static enum step decode_item(struct trc_usage_cursor *cursor, uint32_t limit, struct trc_usage_item *out,
                             uint32_t *need)
{
    uint32_t done = cursor->at - cursor->buffer_at;
    *need = 10;
    if (cursor->buffer_size <= done)
        return SHORT;
    struct trc_bytes bytes = {cursor->buffer + done, cursor->buffer + cursor->buffer_size};
    const uint8_t *begin = bytes.at;
    uint64_t size, gap;
    if (!trc_get_varint(&bytes, &size))
        return bytes.end - begin < 10 ? SHORT : BAD;
    uint64_t whole = (uint64_t)(bytes.at - begin) + size;
    if (!size || whole > limit - cursor->at)
        return BAD;
    *need = (uint32_t)whole;
    if (size > (uint64_t)(bytes.end - bytes.at))
        return SHORT;
    bytes.end = bytes.at + size;
    if (!trc_get_varint(&bytes, &gap) || gap > UINT64_MAX - cursor->base || !decode_entries(cursor, bytes, out))
        return BAD;
    out->begin = cursor->base;
    out->end = cursor->base += gap;
    cursor->at += (uint32_t)whole;
    return ITEM;
}

enum trc_status trc_usage_next(struct trc_usage_cursor *cursor, struct trc_usage_item *out)
{
    while (cursor->inside || begin_chunk(cursor)) {
        const struct trc_chunk *now = &cursor->file->chunks[cursor->chunk];
        bool same = cursor->chunk < cursor->file->chunk_count && now->magic && now->sequence == cursor->known.sequence;
        uint32_t limit = same ? now->committed : 0, need = 0;
        enum step step = SHORT;
        if (cursor->at < limit && (step = decode_item(cursor, limit, out, &need)) == ITEM)
            return TRC_OK;
        uint32_t had = cursor->buffer_at + cursor->buffer_size;
        if (cursor->at < limit && step == SHORT && read_bytes(cursor, need, limit) &&
            cursor->buffer_at + cursor->buffer_size > had)
            continue;
        if (cursor->at < limit && step == BAD)
            trc_file_damage(cursor->file, "chunk %u: what the kernel counted does not decode from byte %u on",
                            cursor->chunk, cursor->at);
        if (cursor->at >= limit && same && next_chunk(cursor->file, cursor->known.sequence) == UINT32_MAX)
            return TRC_END; /* more may come */
        cursor->inside = false;
    }
    return TRC_END;
}

const char *trc_usage_name(enum trc_usage_field field)
{
    static const char *const name[] = {
#define USAGE(id, name) name,
        TRC_USAGE_LIST(USAGE)
#undef USAGE
    };
    return name[field];
}
