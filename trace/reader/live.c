/* Live pages: one copy for each thread, which is read anew while the thread is active. */
#include "trace/reader/file.h"
#include "trace/format/uses.h"
#include "trace/util/hash.h"

#include <stdlib.h>
#include <string.h>

static const struct trc_live no_page; /* page of a thread without one */

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* Makes room for element `n` of an array, and `spare` more.  False: no memory is left for it. */
static bool grow(struct trc_file *file, void *array, size_t *room, size_t n, size_t spare, size_t size)
{
    return n < *room || trc_file_grow(file, array, room, n + 1 + spare, size);
}

static void copy_row(struct trc_file *file, struct trc_live *live, struct trc_row *row)
{
    if (!row->number || row->number > TRC_ROWS || !row->call_plus_1)
        return;
    if (!grow(file, &live->rows, &live->row_room, row->number - 1u, 0, sizeof *live->rows))
        return;
    struct trc_counter *counter = &live->rows[row->number - 1];
    *counter = (struct trc_counter){
        .call_plus_1 = row->call_plus_1,
        .size_class = row->size_class > 64 ? 64 : row->size_class,
        .calls = row->calls,
        .ticks = row->ticks,
        .min_ticks = row->min_ticks,
        .max_ticks = row->max_ticks,
        .sent = row->sent,
        .received = row->received,
        .histogram = counter->histogram,
    };
    if (live->thread.late_row == row->number)
        row->histogram[live->thread.late_bucket]++;
    if (!ana_counts_set(&counter->histogram, row->histogram))
        *counter = (struct trc_counter){0};
    live->row_count = live->row_count > row->number ? live->row_count : row->number;
}

static void copy_peer(struct trc_file *file, struct trc_live *live, const struct trc_peer *peer)
{
    if (!peer->number || peer->number > TRC_PEERS || !peer->rank_plus_1)
        return;
    if (!grow(file, &live->peers, &live->peer_room, peer->number - 1u, peer->number / 2u, sizeof *live->peers))
        return;
    live->peers[peer->number - 1] = *peer;
    live->peer_count = live->peer_count > peer->number ? live->peer_count : peer->number;
}

static struct trc_use *use_at(const struct trc_live *live, size_t i)
{
    return &live->uses[i / TRC_USES_PART][i % TRC_USES_PART];
}

/* Makes room for use i.  False: out of memory. */
static bool reach_use(struct trc_file *file, struct trc_live *live, size_t i)
{
    size_t part = i / TRC_USES_PART;
    if (!grow(file, &live->uses, &live->use_parts, part, part / 2, sizeof *live->uses))
        return false;
    struct trc_use **uses = live->uses;
    return uses[part] || (uses[part] = trc_file_alloc(file, TRC_USES_PART * sizeof *uses[part]));
}

/* `changed`: the entries change all the time.  Nobody knows which signature the uses of one that did are of: they are
 * left out. */
static void copy_use(struct trc_file *file, struct trc_live *live, const struct trc_use *use, bool changed)
{
    if (use->index >= TRC_SIGS || live->use_count == TRC_SIGS || !reach_use(file, live, live->use_count))
        return;
    struct trc_use *kept = use_at(live, live->use_count++);
    bool other = changed && memcmp(&kept->sig, &use->sig, sizeof use->sig) != 0;
    *kept = *use;
    if (other)
        kept->uses = kept->arrivals = 0;
}

static size_t entry_size(uint16_t what)
{
    return what == TRC_ENTRY_USE    ? sizeof(struct trc_use)
           : what == TRC_ENTRY_ROW  ? sizeof(struct trc_row)
           : what == TRC_ENTRY_PEER ? sizeof(struct trc_peer)
                                    : 0;
}

static void copy_entries(struct trc_file *file, struct trc_live *live, const unsigned char *at, size_t size,
                         bool changed)
{
    union {
        uint16_t what;
        struct trc_use use;
        struct trc_row row;
        struct trc_peer peer;
    } entry;
    for (size_t bytes; size >= sizeof entry.what; at += bytes, size -= bytes) {
        memcpy(&entry.what, at, sizeof entry.what);
        bytes = entry_size(entry.what);
        if (!bytes || bytes > size)
            return; /* not written yet, or of a later version */
        memcpy(&entry, at, bytes);
        if (entry.what == TRC_ENTRY_ROW)
            copy_row(file, live, &entry.row);
        else if (entry.what == TRC_ENTRY_PEER)
            copy_peer(file, live, &entry.peer);
        else
            copy_use(file, live, &entry.use, changed);
    }
}

/* Reads the entries in one chunk, whose head is `now`, from byte `from` on.  False: the file ends within them. */
static bool read_piece(struct trc_file *file, struct trc_live *live, uint32_t chunk, struct trc_chunk now,
                       uint32_t from, bool changed)
{
    uint32_t room = trc_chunk_room(file, &file->chunks[chunk]);
    uint32_t end = (now.committed < room ? now.committed : room) + TRC_ITEMS_OFFSET;
    if (end <= from)
        return true;
    unsigned char *bytes = trc_file_alloc(file, end - from);
    size_t got = bytes ? trc_file_read(file, trc_chunk_offset(file, chunk) + from, bytes, end - from) : 0;
    copy_entries(file, live, bytes, got, changed);
    ana_budget_free(&file->budget, bytes, end - from);
    return got == end - from;
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static struct trc_counter *row_at(const struct trc_live *live, uint32_t number)
{
    return number && number <= live->row_count ? &live->rows[number - 1] : NULL;
}

static struct trc_peer *peer_at(const struct trc_live *live, uint32_t number)
{
    return number && number <= live->peer_count ? &live->peers[number - 1] : NULL;
}

static struct trc_use *use_of(const struct trc_live *live, uint32_t index)
{
    for (size_t i = 0; i < live->use_count; i++)
        if (use_at(live, i)->index == index)
            return use_at(live, i);
    return NULL;
}

/* Drops the uses of a thread that will do nothing more: only the signatures of its last calls are asked for, and
 * whether it made control rounds. */
static void drop_uses(struct trc_file *file, struct trc_live *live)
{
    const struct trc_thread *thread = &live->thread;
    size_t kept = 0;
    for (size_t i = 0; i < live->use_count; i++) {
        const struct trc_use *use = use_at(live, i);
        if (use->index + 1u == thread->inside || use->index + 1u == thread->last)
            *use_at(live, kept++) = *use;
    }
    live->use_count = kept;
    for (size_t part = (kept + TRC_USES_PART - 1) / TRC_USES_PART; part < live->use_parts; part++) {
        ana_budget_free(&file->budget, live->uses[part], TRC_USES_PART * sizeof *live->uses[part]);
        live->uses[part] = NULL;
    }
}

/* Undoes an addition of a signature's uses to the counters that is under way, or that a kill interrupted. */
static void roll_back(struct trc_live *live, const struct trc_undo *undo)
{
    struct trc_thread *thread = &live->thread;
    if (undo->settled % TRC_SETTLE_STEPS != TRC_SETTLE_ADD || undo->index_plus_1 == 0 || undo->index_plus_1 > TRC_SIGS)
        return;
    struct trc_use *use = use_of(live, undo->index_plus_1 - 1);
    struct trc_counter *row = row_at(live, undo->row);
    struct trc_peer *out = peer_at(live, undo->out), *in = peer_at(live, undo->in);
    if (use) {
        use->uses = undo->uses;
        use->arrivals = undo->arrivals;
    }
    if (row) {
        row->sent = undo->row_sent;
        row->received = undo->row_received;
    }
    thread->sent = undo->sent;
    thread->received = undo->received;
    thread->sent_messages = undo->sent_messages;
    thread->received_messages = undo->received_messages;
    thread->peer_overflow = undo->peer_overflow;
    if (out) {
        out->sent_messages = undo->out_messages;
        out->sent_bytes = undo->out_bytes;
    }
    if (in) {
        in->received_messages = undo->in_messages;
        in->received_bytes = undo->in_bytes;
    }
}

/* Adds to the counters what the recorder still counts by signature. */
static void complete_counters(struct trc_live *live)
{
    struct trc_thread *thread = &live->thread;
    for (size_t i = 0; i < live->use_count; i++) {
        const struct trc_use *use = use_at(live, i);
        const struct trc_moved moved = trc_moved_by(use);
        struct trc_counter *row = row_at(live, use->row);
        live->controls |= (use->sig.flags & TRC_SIG_CONTROL) != 0;
        if (row) {
            row->sent += moved.sent;
            row->received += moved.received;
        }
        trc_add_moved(thread, NULL, moved.out ? peer_at(live, use->out) : NULL,
                      moved.in ? peer_at(live, use->in) : NULL, &moved);
    }
    uint64_t calls = 0;
    for (size_t i = 0; i < live->row_count; i++)
        calls += live->rows[i].calls;
    if (live->short_of_rows)
        thread->row_overflow = (thread->calls > calls ? thread->calls - calls : 0) & ((UINT64_C(1) << 48) - 1);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void clamp_thread(struct trc_thread *thread, uint32_t index, bool off)
{
    thread->index = (uint16_t)index;
    thread->late_row = thread->late_bucket = 0; /* the rows have it */
    thread->name[sizeof thread->name - 1] = 0;
    trc_clean_text(thread->name);
    if (thread->inside > TRC_SIGS || off) /* not every call is noted while recording is off */
        thread->inside = 0;
    if (thread->last > TRC_SIGS)
        thread->last = 0;
}

#define COPIES 8

/* Copies what there is of a page once; *page: its begin.  False: the file ends within it. */
static bool copy_once(struct trc_file *file, struct trc_live *live, struct trc_page *page, bool changed)
{
    const uint64_t offset = trc_chunk_offset(file, live->chunk);
    size_t got = trc_file_read(file, offset, page, sizeof *page);
    live->thread = page->thread;
    live->of = page->of;
    live->short_of_rows = page->short_of_rows;
    if (got != sizeof *page)
        return false;
    live->row_count = live->peer_count = live->use_count = 0;
    static const uint32_t none[TRC_BUCKETS];
    for (size_t i = 0; i < live->row_room; i++) {
        ana_counts_set(&live->rows[i].histogram, none);
        live->rows[i] = (struct trc_counter){.histogram = live->rows[i].histogram};
    }
    if (live->peer_room)
        memset(live->peers, 0, live->peer_room * sizeof *live->peers);
    struct trc_chunk now = page->chunk;
    bool whole = trc_chunk_is(&now, &file->chunks[live->chunk]) &&
                 read_piece(file, live, live->chunk, now, sizeof *page, changed);
    uint32_t pieces = 0;
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].magic && file->chunks[i].kind == TRC_CHUNK_PAGE &&
            file->chunks[i].thread == file->chunks[live->chunk].thread) {
            whole &= trc_chunk_same(file, i, &file->chunks[i], &now) &&
                     read_piece(file, live, i, now, TRC_ITEMS_OFFSET, changed);
            pieces++;
        }
    bool to_come = trc_file_growing(file) && !file->truncated; /* the newest may not have been found yet */
    return whole && (pieces >= page->pieces || to_come);
}

/* Reads the number of steps of exchanges that the writer has begun, ordered after earlier reads and before later
 * ones.  False: the file ends before it. */
static bool read_steps(const struct trc_file *file, const struct trc_live *live, uint64_t *steps)
{
    const size_t at = offsetof(struct trc_page, undo) + offsetof(struct trc_undo, settled);
    atomic_thread_fence(memory_order_acquire);
    bool whole = trc_file_read(file, trc_chunk_offset(file, live->chunk) + at, steps, sizeof *steps) == sizeof *steps;
    atomic_thread_fence(memory_order_acquire);
    return whole;
}

/* Copies a page.  An exchange of signatures meanwhile moves bytes from one part of the page to another; the copy may
 * have both or neither.  Then it copies once more.  If that goes on all the time, counts that are not certain are left
 * out of this refresh. */
static void copy_page(struct trc_file *file, struct trc_live *live)
{
    struct trc_page page = {.thread = live->thread, .of = live->of, .short_of_rows = live->short_of_rows};
    uint64_t before = 0, after = 0;
    bool whole = read_steps(file, live, &before), same = false;
    for (int tries = 1; tries <= COPIES && !same; tries++) {
        whole &= copy_once(file, live, &page, tries == COPIES);
        whole &= read_steps(file, live, &after);
        if (!whole)
            break;
        same = before == after;
        before = after;
    }
    live->cut = !whole;
    if (same || live->cut)
        roll_back(live, &page.undo);
}

/* The thread's copy, made if it has none.  NULL: out of memory. */
static struct trc_live *make_live(struct trc_file *file, uint32_t chunk, uint32_t index)
{
    bool room = grow(file, &file->live, &file->live_room, index, 0, sizeof *file->live);
    struct trc_live *live = room ? trc_file_alloc(file, sizeof *live) : NULL;
    if (!live) {
        trc_file_damage(file, "out of memory: no live page of thread %u", index);
        return NULL;
    }
    live->chunk = chunk;
    file->live[index] = live;
    if (file->threads <= index)
        file->threads = index + 1u;
    return live;
}

/* Copies the page of chunk `chunk` if it changed, and returns whether it did.  Most threads of a large job are quiet
 * most of the time: if the thread's state was equal at two refreshes, the rest of the page did not change either. */
static bool read_page(struct trc_file *file, uint32_t chunk)
{
    const uint32_t index = file->chunks[chunk].thread;
    struct trc_live *live = trc_live_page(file, index);
    if (live && live->chunk != chunk)
        return trc_file_damage(file, "chunk %u: a second live page of thread %u: left out", chunk, index);
    bool moved = true;
    struct trc_thread now = {0};
    uint64_t offset = trc_chunk_offset(file, chunk);
    if (trc_file_read(file, offset + offsetof(struct trc_page, thread), &now, sizeof now) != sizeof now)
        return trc_file_damage(file, "chunk %u: the live page of thread %u is cut off", chunk, index);
    uint64_t hash = ana_hash(&now, sizeof now);
    if (!live) {
        live = make_live(file, chunk, index);
        if (!live)
            return false;
    } else {
        bool same = hash == live->seen;
        if (same && live->settled)
            return false;
        live->settled = same;
        moved = !same;
    }
    live->seen = hash;
    live->placed = false;
    copy_page(file, live);
    if (live->cut)
        trc_file_damage(file, "chunk %u: the live page of thread %u is cut off", chunk, index);
    clamp_thread(&live->thread, index, file->head.off_since != 0);
    complete_counters(live);
    if (!trc_file_growing(file))
        drop_uses(file, live);
    return moved;
}

bool trc_live_refresh(struct trc_file *file)
{
    bool moved = false;
    for (uint32_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].magic && file->chunks[i].kind == TRC_CHUNK_THREAD)
            moved |= read_page(file, i);
    return moved;
}

void trc_live_place(struct trc_file *file)
{
    for (size_t i = 0; i < file->live_room; i++) {
        struct trc_live *live = file->live[i];
        if (!live || live->placed)
            continue;
        const uint32_t asked[] = {live->thread.inside, live->thread.last};
        for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
            struct trc_use *use = asked[k] ? use_of(live, asked[k] - 1) : NULL;
            if (use)
                trc_place_sig(file, &use->sig);
        }
        live->placed = true;
    }
}

void trc_live_free(struct trc_file *file)
{
    for (size_t i = 0; i < file->live_room; i++) {
        struct trc_live *live = file->live[i];
        if (!live)
            continue;
        for (size_t k = 0; k < live->use_parts; k++)
            free(live->uses[k]);
        free(live->uses);
        for (size_t k = 0; k < live->row_room; k++)
            ana_counts_free(&live->rows[k].histogram);
        free(live->rows);
        free(live->peers);
        free(live);
    }
    free(file->live);
}

bool trc_counters_known(const struct trc_file *file)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < file->threads; i++) {
        const struct trc_live *live = trc_live_page(file, i);
        if (live && live->cut)
            return false;
        pages += live != NULL;
    }
    return pages >= file->head.threads;
}

bool trc_truncated(const struct trc_file *file)
{
    return file->truncated;
}

size_t trc_threads(const struct trc_file *file)
{
    return file->threads;
}

static const struct trc_live *live_of(const struct trc_file *file, size_t i)
{
    const struct trc_live *live = trc_live_page(file, i);
    return live ? live : &no_page;
}

const struct trc_thread *trc_thread(const struct trc_file *file, size_t i)
{
    return &live_of(file, i)->thread;
}
bool trc_is_stream(const struct trc_file *file, size_t i)
{
    return live_of(file, i)->of.number != 0;
}
const struct trc_device_stream *trc_device_stream(const struct trc_file *file, size_t i)
{
    return &live_of(file, i)->of;
}
const struct trc_counter *trc_rows(const struct trc_file *file, size_t i, size_t *n)
{
    *n = live_of(file, i)->row_count;
    return live_of(file, i)->rows;
}
const struct trc_peer *trc_peers(const struct trc_file *file, size_t i, size_t *n)
{
    *n = live_of(file, i)->peer_count;
    return live_of(file, i)->peers;
}

const struct trc_sig *trc_live_sig(const struct trc_file *file, size_t i, uint32_t index_plus_1)
{
    const struct trc_use *use = index_plus_1 ? use_of(live_of(file, i), index_plus_1 - 1) : NULL;
    return use ? &use->sig : NULL;
}

const struct trc_sig *trc_live_nested(const struct trc_file *file, size_t i)
{
    const struct trc_thread *thread = trc_thread(file, i);
    return thread->inside ? trc_live_sig(file, i, (uint32_t)thread->nested) : NULL;
}

bool trc_live_controls(const struct trc_file *file, size_t i)
{
    return live_of(file, i)->controls;
}
