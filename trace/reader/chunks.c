/* The chunks of a file: their heads, and the order of each thread's event chunks. */
#include "trace/reader/file.h"

#include <stdlib.h>
#include <string.h>

uint64_t trc_chunk_offset(const struct trc_file *file, uint32_t chunk)
{
    return file->head.chunks_offset + (uint64_t)chunk * file->head.chunk_size;
}

static bool same_identity(const struct trc_chunk *a, const struct trc_chunk *b)
{
    return a->magic == b->magic && a->kind == b->kind && a->thread == b->thread && a->sequence == b->sequence;
}

static bool read_chunk_head(const struct trc_file *file, uint32_t chunk, struct trc_chunk *head)
{
    return trc_file_read(file, trc_chunk_offset(file, chunk), head, sizeof *head) == sizeof *head;
}

bool trc_chunk_same(const struct trc_file *file, uint32_t chunk, const struct trc_chunk *known, struct trc_chunk *now)
{
    struct trc_chunk head;
    if (!read_chunk_head(file, chunk, &head) || !same_identity(&head, known))
        return false;
    if (now)
        *now = head;
    return true;
}

/* Makes a head safe to use; a head that cannot be used gets magic 0. */
static void check_head(struct trc_file *file, uint32_t chunk, struct trc_chunk *head)
{
    uint32_t room = file->head.chunk_size - TRC_ITEMS_OFFSET;
    const char *why = NULL;
    if (!head->magic || head->kind == TRC_CHUNK_FREE)
        head->magic = 0;
    else if (head->magic != TRC_CHUNK_MAGIC)
        why = "not the head of a chunk";
    else if (head->kind > TRC_CHUNK_USAGE)
        why = "of a kind that this version does not know";
    else if (head->kind != TRC_CHUNK_DEFS && head->thread >= TRC_MAX_THREADS)
        why = "of an impossible thread";
    else if (head->kind == TRC_CHUNK_THREAD && file->head.chunk_size < sizeof(struct trc_thread_chunk))
        why = "a live page, but too small for one";
    if (why) {
        trc_file_damage(file, "chunk %u: %s: left out", chunk, why);
        head->magic = 0;
    }
    if (head->magic && head->committed > room) {
        trc_file_damage(file, "chunk %u: says %u bytes where %u have room", chunk, head->committed, room);
        head->committed = room;
    }
    if (head->last_ticks < head->first_ticks)
        head->last_ticks = head->first_ticks;
}

/* Reads one chunk's head again.  A chunk that was begun anew is read until two reads agree: its writer may be just
 * making it. */
static void read_chunk(struct trc_file *file, uint32_t chunk, bool *moved, bool *reordered)
{
    struct trc_chunk head = {0}, *old = &file->chunks[chunk];
    if (!read_chunk_head(file, chunk, &head))
        head.magic = 0;
    if (head.magic && !same_identity(&head, old)) {
        struct trc_chunk again;
        int tries = 0;
        for (; tries < 3 && read_chunk_head(file, chunk, &again) && !same_identity(&head, &again); tries++)
            head = again;
        if (tries == 3)
            head.magic = 0;
    }
    check_head(file, chunk, &head);
    if (!memcmp(old, &head, sizeof head))
        return;
    *moved = true;
    if (!same_identity(old, &head) && (old->kind == TRC_CHUNK_EVENTS || head.kind == TRC_CHUNK_EVENTS))
        *reordered = true;
    *old = head;
}

static int by_thread_and_sequence(const void *a, const void *b)
{
    const struct trc_event_ref *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

static void order_events(struct trc_file *file)
{
    file->event_count = 0;
    if (file->event_room < file->chunk_count) {
        void *grown = realloc(file->events, file->chunk_room * sizeof *file->events);
        if (!grown) {
            trc_file_damage(file, "out of memory: no events");
            return;
        }
        file->events = grown;
        file->event_room = file->chunk_room;
    }
    size_t n = 0;
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].magic && file->chunks[i].kind == TRC_CHUNK_EVENTS)
            file->events[n++] = (struct trc_event_ref){file->chunks[i].thread, i, file->chunks[i].sequence};
    if (n)
        qsort(file->events, n, sizeof *file->events, by_thread_and_sequence);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct trc_event_ref *ref = &file->events[i], *last = kept ? &file->events[kept - 1] : NULL;
        if (last && last->thread == ref->thread && last->sequence == ref->sequence)
            trc_file_damage(file, "chunks %u and %u have the same place: the second is left out", last->chunk,
                            ref->chunk);
        else
            file->events[kept++] = *ref;
    }
    file->event_count = kept;
    if (kept && file->threads <= file->events[kept - 1].thread)
        file->threads = file->events[kept - 1].thread + 1u;
}

/* How many chunks are in use and have at least their head in the file. */
static uint32_t count_chunks(struct trc_file *file)
{
    const struct trc_head *head = &file->head;
    uint64_t behind = file->size > head->chunks_offset ? file->size - head->chunks_offset : 0;
    uint64_t present = behind / head->chunk_size + (behind % head->chunk_size >= sizeof(struct trc_chunk));
    bool lagging =
        head->flags & TRC_HEAD_WRITE_BACK && (trc_file_growing(file) || file->seen_alive); /* size comes late */
    file->truncated = behind < (uint64_t)head->chunks_used * head->chunk_size && !lagging;
    if (file->truncated)
        trc_file_damage(file, "truncated: %llu of %u chunks are whole", (unsigned long long)(behind / head->chunk_size),
                        head->chunks_used);
    uint64_t count = head->chunks_used < present ? head->chunks_used : present;
    if (count > TRC_CHUNKS_MAX) {
        trc_file_damage(file, "%llu chunks: only the first %u are read", (unsigned long long)count, TRC_CHUNKS_MAX);
        count = TRC_CHUNKS_MAX;
    }
    return (uint32_t)count;
}

bool trc_chunks_refresh(struct trc_file *file)
{
    uint32_t count = count_chunks(file);
    if (count > file->chunk_room) {
        uint32_t room = count + count / 2 + 16;
        void *grown = realloc(file->chunks, room * sizeof *file->chunks);
        if (!grown) {
            trc_file_damage(file, "out of memory: new chunks are not read");
            return false;
        }
        file->chunks = grown;
        file->chunk_room = room;
    }
    bool moved = false, reordered = false;
    for (uint32_t i = count; i < file->chunk_count; i++) /* cut off since */
        reordered |= file->chunks[i].kind == TRC_CHUNK_EVENTS;
    for (uint32_t i = 0; i < count; i++) {
        if (i >= file->chunk_count)
            file->chunks[i] = (struct trc_chunk){0};
        const struct trc_chunk *known = &file->chunks[i];
        if (!known->magic || known->state != TRC_CHUNK_FULL || file->check_again)
            read_chunk(file, i, &moved, &reordered);
    }
    file->chunk_count = count;
    file->check_again = false;
    if (!reordered)
        return moved;

    order_events(file);
    /* A chunk that has a successor is complete, but may have been read before it was. */
    for (size_t i = 0; i + 1 < file->event_count; i++) {
        const struct trc_event_ref *ref = &file->events[i];
        if (ref[1].thread == ref->thread && file->chunks[ref->chunk].state != TRC_CHUNK_FULL) {
            struct trc_chunk now;
            if (!trc_chunk_same(file, ref->chunk, &file->chunks[ref->chunk], &now))
                continue;
            check_head(file, ref->chunk, &now);
            file->chunks[ref->chunk] = now;
        }
    }
    return true;
}

size_t trc_events_from(const struct trc_file *file, uint32_t thread, uint64_t sequence)
{
    size_t low = 0, high = file->event_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct trc_event_ref *ref = &file->events[middle];
        if (ref->thread < thread || (ref->thread == thread && ref->sequence < sequence))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t trc_event_chunks(const struct trc_file *file)
{
    return file->event_count;
}

struct trc_chunk_info trc_event_chunk(const struct trc_file *file, size_t i)
{
    if (i >= file->event_count)
        return (struct trc_chunk_info){0};
    const struct trc_chunk *head = &file->chunks[file->events[i].chunk];
    return (struct trc_chunk_info){.thread = head->thread,
                                   .sequence = head->sequence,
                                   .first_ticks = head->first_ticks,
                                   .last_ticks = head->last_ticks,
                                   .committed = head->committed,
                                   .records = head->records,
                                   .lost = head->lost};
}
