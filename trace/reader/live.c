/* Live pages: one copy for each thread, which is read anew while the thread is active. */
#include "trace/reader/file.h"
#include "trace/format/uses.h"

#include <stdlib.h>
#include <string.h>

static struct trc_thread_chunk no_page; /* never written: of a thread that has none */

static void clamp_page(struct trc_thread_chunk *page, uint32_t index)
{
    page->thread.index = index;
    page->thread.name[sizeof page->thread.name - 1] = 0;
    trc_clean_text(page->thread.name);
    if (page->thread.inside > TRC_SIGS)
        page->thread.inside = 0;
    if (page->thread.last > TRC_SIGS)
        page->thread.last = 0;
    for (size_t i = 0; i < TRC_ROWS; i++)
        if (page->rows[i].size_class > 64)
            page->rows[i].size_class = 64;
}

/* Undoes a move of a signature's uses into the counters that a kill interrupted. */
static void take_back(struct trc_thread_chunk *page)
{
    const struct trc_undo *undo = &page->undo;
    if (undo->index_plus_1 == 0 || undo->index_plus_1 > TRC_SIGS || undo->row > TRC_ROWS || undo->out > TRC_PEERS ||
        undo->in > TRC_PEERS)
        return;
    page->uses[undo->index_plus_1 - 1] = undo->uses;
    if (undo->row) {
        page->rows[undo->row - 1].sent = undo->row_sent;
        page->rows[undo->row - 1].received = undo->row_received;
    }
    if (undo->out) {
        page->peers[undo->out - 1].sent_messages = undo->out_messages;
        page->peers[undo->out - 1].sent_bytes = undo->out_bytes;
    }
    if (undo->in) {
        page->peers[undo->in - 1].received_messages = undo->in_messages;
        page->peers[undo->in - 1].received_bytes = undo->in_bytes;
    }
    page->thread.sent = undo->sent;
    page->thread.received = undo->received;
    page->thread.sent_messages = undo->sent_messages;
    page->thread.received_messages = undo->received_messages;
    page->thread.peer_overflow = undo->peer_overflow;
}

static struct trc_row *row_of(struct trc_thread_chunk *page, const struct trc_sig *sig)
{
    struct trc_row_place place = trc_row_place(page->rows, sig);
    return place.exact ? place.exact : place.same_call;
}

static struct trc_peer *peer_of(struct trc_thread_chunk *page, int32_t rank)
{
    for (uint32_t i = 0; rank >= 0 && i < TRC_PEERS; i++) {
        struct trc_peer *peer = &page->peers[((uint32_t)rank + i) % TRC_PEERS];
        if (peer->rank_plus_1 == (uint32_t)rank + 1)
            return peer;
        if (peer->rank_plus_1 == 0)
            return NULL;
    }
    return NULL;
}

/* Adds to the counters what the recorder still counts by signature. */
static void complete_counters(struct trc_thread_chunk *page)
{
    take_back(page);
    for (size_t i = 0; i < TRC_SIGS; i++) {
        const struct trc_sig *sig = &page->sigs[i];
        if (page->uses[i] == 0)
            continue;
        struct trc_moved moved = trc_moved(sig);
        if (moved.sent || moved.received || moved.in || moved.out)
            trc_add_uses(&page->thread, row_of(page, sig), moved.out ? peer_of(page, sig->peer) : NULL,
                         moved.in ? peer_of(page, sig->source) : NULL, sig, page->uses[i]);
    }
    uint64_t calls = 0;
    for (size_t i = 0; i < TRC_ROWS; i++) {
        if (page->rows[i].call_plus_1 == 0)
            return; /* there is room: every call has a row */
        calls += page->rows[i].calls;
    }
    page->thread.row_overflow = page->thread.calls > calls ? page->thread.calls - calls : 0;
}

#define COPIES 8

/* Drops the uses of signatures that changed during the copy: nobody knows which signature they are of. */
static void forget_changed(struct trc_thread_chunk *page, const struct trc_sig *before)
{
    for (size_t i = 0; i < TRC_SIGS; i++)
        if (memcmp(&page->sigs[i], &before[i], sizeof *before) != 0)
            page->uses[i] = 0;
}

/* Copies a page.  A signature that gives up its place meanwhile moves its bytes from one part of the page to another;
 * the copy may have both or neither.  Then it copies once more.  If that goes on all the time, counts that are not
 * certain are left out of this refresh. */
static size_t copy_page(struct trc_file *file, uint64_t offset, struct trc_thread_chunk *page)
{
    size_t got = 0;
    for (int tries = 1; tries <= COPIES; tries++) {
        struct trc_undo now;
        struct trc_sig *before = tries == COPIES ? calloc(1, sizeof page->sigs) : NULL;
        if (before)
            trc_file_read(file, offset + offsetof(struct trc_thread_chunk, sigs), before, sizeof page->sigs);
        got = trc_file_read(file, offset, page, sizeof *page);
        bool still =
            got < sizeof *page ||
            trc_file_read(file, offset + offsetof(struct trc_thread_chunk, undo), &now, sizeof now) != sizeof now ||
            (now.settled == page->undo.settled && now.index_plus_1 == page->undo.index_plus_1);
        if (!still && before)
            forget_changed(page, before);
        free(before);
        if (still)
            break;
    }
    return got;
}

/* Copies the page of chunk `chunk` if it changed, and returns whether it did.  Most threads of a large job are quiet
 * most of the time: if the thread's state was equal at two refreshes, the rest of the page did not change either. */
static bool read_page(struct trc_file *file, uint32_t chunk)
{
    const struct trc_chunk *known = &file->chunks[chunk];
    uint32_t index = known->thread;
    struct trc_live *live = file->live[index];
    if (live && live->chunk != chunk) {
        trc_file_damage(file, "chunk %u: a second live page of thread %u: left out", chunk, index);
        return false;
    }
    bool moved = true;
    struct trc_thread now = {0};
    uint64_t offset = trc_chunk_offset(file, chunk);
    if (trc_file_read(file, offset + offsetof(struct trc_thread_chunk, thread), &now, sizeof now) != sizeof now) {
        trc_file_damage(file, "chunk %u: the live page of thread %u is cut off", chunk, index);
        return false;
    }
    if (!live) {
        live = calloc(1, sizeof *live);
        if (!live) {
            trc_file_damage(file, "out of memory: no live page of thread %u", index);
            return false;
        }
        live->chunk = chunk;
        file->live[index] = live;
        if (file->threads <= index)
            file->threads = index + 1u;
    } else {
        bool same = !memcmp(&now, &live->seen, sizeof now);
        if (same && live->settled)
            return false;
        live->settled = same;
        moved = !same;
    }
    live->seen = now;
    size_t got = copy_page(file, offset, &live->page);
    live->there = got;
    if (got < sizeof live->page) {
        memset((char *)&live->page + got, 0, sizeof live->page - got);
        trc_file_damage(file, "chunk %u: the live page of thread %u is cut off", chunk, index);
    }
    clamp_page(&live->page, index);
    complete_counters(&live->page);
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

bool trc_counters_known(const struct trc_file *file)
{
    bool any = false;
    for (size_t i = 0; i < file->threads; i++) {
        if (file->live[i] && file->live[i]->there < sizeof file->live[i]->page)
            return false;
        any |= file->live[i] != NULL;
    }
    const struct trc_head *head = &file->head;
    bool ended = head->state == TRC_STATE_FINALIZED || head->state == TRC_STATE_ABORTED;
    bool due = ended && head->chunks_used && head->chunk_size >= sizeof(struct trc_thread_chunk);
    return any || !(file->truncated || due);
}

bool trc_truncated(const struct trc_file *file)
{
    return file->truncated;
}

size_t trc_threads(const struct trc_file *file)
{
    return file->threads;
}

static const struct trc_thread_chunk *page_of(const struct trc_file *file, size_t i)
{
    return i < TRC_MAX_THREADS && file->live[i] ? &file->live[i]->page : &no_page;
}

const struct trc_thread *trc_thread(const struct trc_file *file, size_t i)
{
    return &page_of(file, i)->thread;
}
bool trc_is_stream(const struct trc_file *file, size_t i)
{
    return page_of(file, i)->of.number != 0;
}
const struct trc_device_stream *trc_device_stream(const struct trc_file *file, size_t i)
{
    return &page_of(file, i)->of;
}
const struct trc_row *trc_rows(const struct trc_file *file, size_t i)
{
    return page_of(file, i)->rows;
}
const struct trc_peer *trc_peers(const struct trc_file *file, size_t i)
{
    return page_of(file, i)->peers;
}

const struct trc_sig *trc_live_sig(const struct trc_file *file, size_t i, uint32_t index_plus_1)
{
    const struct trc_thread_chunk *page = page_of(file, i);
    if (index_plus_1 == 0 || index_plus_1 > TRC_SIGS || page == &no_page)
        return NULL;
    const struct trc_sig *sig = &page->sigs[index_plus_1 - 1];
    return (size_t)((const char *)(sig + 1) - (const char *)page) <= file->live[i]->there ? sig : NULL;
}
