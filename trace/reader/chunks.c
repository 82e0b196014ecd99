/* The chunks of a file: their heads, and the order of each thread's event chunks. */
#include "trace/reader/file.h"
#include "trace/util/sort.h"

#include <string.h>

uint64_t trc_chunk_offset(const struct trc_file *file, uint32_t chunk)
{
    return file->head.chunks_offset + (uint64_t)file->chunks[chunk].block * file->head.block_size;
}

uint32_t trc_chunk_room(const struct trc_file *file, const struct trc_chunk *chunk)
{
    return chunk->blocks * file->head.block_size - TRC_ITEMS_OFFSET;
}

bool trc_chunk_is(const struct trc_chunk *a, const struct trc_chunk *b)
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
    if (!read_chunk_head(file, chunk, &head) || !trc_chunk_is(&head, known))
        return false;
    if (now)
        *now = head;
    return true;
}

/* Makes a head safe to use; a head that cannot be used gets magic 0. */
static void check_head(struct trc_file *file, uint32_t chunk, struct trc_chunk *head)
{
    const struct trc_chunk *old = &file->chunks[chunk];
    uint32_t room = trc_chunk_room(file, old);
    const char *why = NULL;
    if (!head->magic || head->kind == TRC_CHUNK_FREE)
        head->magic = 0;
    else if (head->magic != TRC_CHUNK_MAGIC || head->block != old->block || head->blocks != old->blocks)
        why = "not the head of a chunk";
    else if (head->kind > TRC_CHUNK_PAGE)
        why = "of a kind that this version does not know";
    else if (head->kind != TRC_CHUNK_DEFS && head->thread >= TRC_MAX_THREADS)
        why = "of an impossible thread";
    else if (head->kind == TRC_CHUNK_THREAD && room + TRC_ITEMS_OFFSET < sizeof(struct trc_page))
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
    head->block = old->block;
    head->blocks = old->blocks;
}

/* Reads one chunk's head again.  A chunk that was begun anew is read until two reads agree: its writer may be just
 * making it. */
static void read_chunk(struct trc_file *file, uint32_t chunk, bool *moved, bool *reordered)
{
    struct trc_chunk head, *old = &file->chunks[chunk];
    if (!read_chunk_head(file, chunk, &head))
        head = (struct trc_chunk){0};
    if (head.magic && !trc_chunk_is(&head, old)) {
        struct trc_chunk again;
        int tries = 0;
        for (; tries < 3 && read_chunk_head(file, chunk, &again) && !trc_chunk_is(&head, &again); tries++)
            head = again;
        if (tries == 3)
            head.magic = 0;
    }
    check_head(file, chunk, &head);
    if (!memcmp(old, &head, sizeof head))
        return;
    *moved = true;
    if (!trc_chunk_is(old, &head) && (old->kind == TRC_CHUNK_EVENTS || head.kind == TRC_CHUNK_EVENTS))
        *reordered = true;
    *old = head;
}

ANA_COMPARE(by_thread_and_sequence, struct trc_event_ref, ANA_ORDER(x->thread, y->thread),
            ANA_ORDER(x->sequence, y->sequence), ANA_ORDER(x->chunk, y->chunk))

static void order_events(struct trc_file *file)
{
    file->event_count = 0;
    if (!trc_file_grow(file, &file->events, &file->event_room, file->chunk_room, sizeof *file->events)) {
        trc_file_damage(file, "out of memory: no events");
        return;
    }
    size_t n = 0;
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].magic && file->chunks[i].kind == TRC_CHUNK_EVENTS)
            file->events[n++] = (struct trc_event_ref){file->chunks[i].thread, i, file->chunks[i].sequence};
    if (n)
        ana_sort(file->events, n, sizeof *file->events, by_thread_and_sequence);
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

/* Number of blocks that are in use and have at least the head of a chunk in the file. */
static uint32_t count_blocks(struct trc_file *file)
{
    const struct trc_head *head = &file->head;
    uint64_t behind = file->size > head->chunks_offset ? file->size - head->chunks_offset : 0;
    uint64_t present = behind / head->block_size + (behind % head->block_size >= sizeof(struct trc_chunk));
    bool lagging =
        head->flags & TRC_HEAD_WRITE_BACK && (trc_file_growing(file) || file->seen_alive); /* size comes late */
    file->truncated = behind < (uint64_t)head->blocks_used * head->block_size && !lagging;
    if (file->truncated)
        trc_file_damage(file, "truncated: %llu of %u blocks are whole", (unsigned long long)(behind / head->block_size),
                        head->blocks_used);
    return (uint32_t)(head->blocks_used < present ? head->blocks_used : present);
}

/* Adds a chunk that was found; its head is read later.  False: no more can be taken. */
static bool add_chunk(struct trc_file *file, const struct trc_chunk *head)
{
    size_t n = file->chunk_count, room = n < file->chunk_room ? n : n + n / 2 + 4; /* most ranks have three */
    if (n == TRC_CHUNKS_MAX)
        return trc_file_damage(file, "more than %u chunks: the rest is not read", TRC_CHUNKS_MAX);
    if (!trc_file_grow(file, &file->chunks, &file->chunk_room, room, sizeof *file->chunks))
        return trc_file_damage(file, "out of memory: new chunks are not read");
    file->chunks[file->chunk_count++] = (struct trc_chunk){.block = head->block, .blocks = head->blocks};
    return true;
}

/* Whether a chunk begins at this block, that ends before `end`. */
static bool begins_chunk(const struct trc_file *file, uint32_t block, uint32_t end, struct trc_chunk *head)
{
    uint64_t offset = file->head.chunks_offset + (uint64_t)block * file->head.block_size;
    return trc_file_read(file, offset, head, sizeof *head) == sizeof *head && head->block == block && head->blocks &&
           head->blocks <= TRC_CHUNK_MOST && head->blocks <= end - block &&
           (head->magic == 0 || head->magic == TRC_CHUNK_MAGIC);
}

/* Notes blocks to look at again later, up to a limit. */
static void add_hole(struct trc_file *file, uint32_t from, uint32_t to)
{
    if (!file->holes && !(file->holes = malloc(TRC_HOLES_MAX * sizeof *file->holes)))
        trc_file_damage(file, "out of memory: new chunks are not read");
    else if (file->hole_count < TRC_HOLES_MAX)
        file->holes[file->hole_count++] = (struct trc_hole){from, to};
}

/* Looks for chunks in blocks [from, to) and adds them.  Returns where those end that follow one another; behind it
 * holes are added for later. */
static uint32_t search_blocks(struct trc_file *file, uint32_t from, uint32_t to)
{
    uint32_t whole = from, hole = UINT32_MAX;
    for (uint32_t at = from; at < to;) {
        struct trc_chunk head;
        if (!begins_chunk(file, at, to, &head)) {
            if (file->steps++ == TRC_CHUNKS_MAX)
                trc_file_damage(file, "more than %u blocks begin no chunk: the rest is not read", TRC_CHUNKS_MAX);
            if (file->steps > TRC_CHUNKS_MAX)
                break;
            hole = hole < at ? hole : at;
            at++;
            continue;
        }
        if (!add_chunk(file, &head))
            break;
        if (hole != UINT32_MAX)
            add_hole(file, hole, at);
        hole = UINT32_MAX;
        at += head.blocks;
        whole = at;
    }
    return whole;
}

/* Finds new chunks: behind the known ones, and in holes between them, whose chunk had been handed out but not begun,
 * or is on a network file system that does not show it yet. */
static void find_chunks(struct trc_file *file, uint32_t end)
{
    const bool growing = trc_file_growing(file);
    uint32_t holes = file->hole_count;
    struct trc_hole old[TRC_HOLES_MAX];
    if (holes)
        memcpy(old, file->holes, holes * sizeof *old);
    file->hole_count = file->steps = 0;
    for (uint32_t i = 0; i < holes; i++) {
        uint32_t rest = search_blocks(file, old[i].from, old[i].to);
        if (rest < old[i].to && growing)
            add_hole(file, rest, old[i].to);
    }
    if (file->searched < end)
        file->searched = search_blocks(file, file->searched, end);
    file->searched = growing ? file->searched : end;
}

bool trc_chunks_refresh(struct trc_file *file)
{
    uint32_t end = count_blocks(file);
    file->check_again |= end < file->block_end; /* it was cut */
    file->block_end = end;
    find_chunks(file, end);
    bool moved = false, reordered = false;
    for (uint32_t i = 0; i < file->chunk_count; i++) {
        const struct trc_chunk *known = &file->chunks[i];
        if (!known->magic || known->state != TRC_CHUNK_FULL || file->check_again)
            read_chunk(file, i, &moved, &reordered);
    }
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
    const struct trc_event_ref *ref = file->events;
    return ANA_FIRST(i, file->event_count,
                     ref[i].thread < thread || (ref[i].thread == thread && ref[i].sequence < sequence));
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
