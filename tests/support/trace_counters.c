#include "tests/support/trace_counters.h"
#include "trace/format/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* Room for an entry of the thread's live page; its bytes are zero. */
static void *add_entry(struct tb *tb, struct thread *thread, uint16_t what, size_t size)
{
    struct trc_page *page = tb_page_of(tb, thread);
    unsigned char *entry = (unsigned char *)page + sizeof page->chunk + page->chunk.committed;
    if (page->chunk.committed + size > tb->chunk_size - sizeof page->chunk)
        tb_die("trace builder: a live page is full");
    page->chunk.committed += (uint32_t)size;
    memcpy(entry, &what, sizeof what);
    return entry;
}

/* The next entry of a kind in the page behind `entry` (NULL: the first); NULL: there is none. */
static void *next_entry(const struct trc_page *page, const void *entry, uint16_t what)
{
    const unsigned char *at = entry ? entry : (const unsigned char *)(page + 1);
    const unsigned char *end = (const unsigned char *)page + sizeof page->chunk + page->chunk.committed;
    for (bool skip = entry != NULL; at < end; skip = false) {
        uint16_t is;
        memcpy(&is, at, sizeof is);
        if (is == what && !skip)
            return (void *)(uintptr_t)at;
        at += is == TRC_ENTRY_USE   ? sizeof(struct trc_use)
              : is == TRC_ENTRY_ROW ? sizeof(struct trc_row)
                                    : sizeof(struct trc_peer);
    }
    return NULL;
}

struct trc_use *tb_use_at(struct tb *tb, struct thread *thread, uint32_t index, const struct trc_sig *sig)
{
    tb_name_call(tb, sig->call);
    struct trc_page *page = tb_page_of(tb, thread);
    struct trc_use *use = NULL;
    while (page && (use = next_entry(page, use, TRC_ENTRY_USE)) && use->index != index)
        ;
    if (page && !use)
        use = add_entry(tb, thread, TRC_ENTRY_USE, sizeof *use);
    if (!use)
        return NULL;
    use->index = (uint16_t)index;
    use->sig = *sig;
    return use;
}

struct trc_row *tb_row_of(struct tb *tb, struct thread *thread, uint32_t call, uint16_t size_class)
{
    struct trc_row *row = NULL;
    while ((row = next_entry(tb_page_of(tb, thread), row, TRC_ENTRY_ROW)))
        if (row->call_plus_1 == call + 1 && row->size_class == size_class)
            return row;
    if (thread->rows == TRC_ROWS) {
        tb_page_of(tb, thread)->short_of_rows = 1;
        return NULL;
    }
    row = add_entry(tb, thread, TRC_ENTRY_ROW, sizeof *row);
    row->number = (uint16_t)++thread->rows;
    row->call_plus_1 = (uint16_t)(call + 1);
    row->size_class = size_class;
    row->min_ticks = UINT64_MAX;
    return row;
}

struct trc_peer *tb_peer_of(struct tb *tb, struct thread *thread, int32_t rank)
{
    struct trc_peer *peer = NULL;
    while ((peer = next_entry(tb_page_of(tb, thread), peer, TRC_ENTRY_PEER)))
        if (peer->rank_plus_1 == (uint32_t)rank + 1)
            return peer;
    if (thread->peers == TRC_PEERS)
        return NULL;
    peer = add_entry(tb, thread, TRC_ENTRY_PEER, sizeof *peer);
    peer->number = (uint16_t)++thread->peers;
    peer->rank_plus_1 = (uint32_t)rank + 1;
    return peer;
}

static void count_peer(struct tb *tb, struct thread *thread, int32_t rank, bool out, uint64_t bytes)
{
    struct trc_page *page = tb_page_of(tb, thread);
    if (rank < 0)
        return;
    *(out ? &page->thread.sent_messages : &page->thread.received_messages) += 1;
    struct trc_peer *peer = tb_peer_of(tb, thread, rank);
    if (!peer) {
        page->thread.peer_overflow++;
        return;
    }
    *(out ? &peer->sent_messages : &peer->received_messages) += 1;
    *(out ? &peer->sent_bytes : &peer->received_bytes) += bytes;
}

void tb_count(struct tb *tb, struct thread *thread, const struct trc_sig *sig, uint64_t ticks, uint64_t calls)
{
    struct trc_page *page = tb_page_of(tb, thread);
    if (!page || sig->flags & TRC_SIG_NESTED)
        return;
    /* Bytes of a message or a file are counted when they have come, other ones when the call begins. */
    bool late = sig->flags & (TRC_SIG_P2P_IN | TRC_SIG_IO), posted = late && sig->flags & TRC_SIG_START;
    bool before = sig->flags & TRC_SIG_COMPLETE && !late;
    uint64_t received = posted || before ? 0 : known(sig->received);
    uint64_t sent = sig->flags & TRC_SIG_COMPLETE ? 0 : known(sig->sent);
    size_t known_calls;
    const struct trc_call *call = tb_calls(&known_calls);
    bool claimed = sig->flags & TRC_SIG_SUB && sig->call < known_calls && call[sig->call].opclass == TRC_OP_MRECV;
    page->thread.sent += sent;
    if (sig->flags & TRC_SIG_P2P_OUT && !(sig->flags & TRC_SIG_COMPLETE))
        count_peer(tb, thread, sig->peer, true, sent);
    if (sig->flags & TRC_SIG_P2P_IN && !posted && !(sig->flags & TRC_SIG_CANCELLED))
        count_peer(tb, thread, sig->source, false, received);
    received = claimed ? 0 : received; /* the event of MPI_Mrecv has them */
    page->thread.received += received;
    if (sig->flags & TRC_SIG_START)
        page->thread.starts++;
    if (sig->flags & TRC_SIG_COMPLETE)
        page->thread.completes++;
    bool sub = sig->flags & TRC_SIG_SUB;
    struct trc_row *row = tb_row_of(tb, thread, sig->call, trc_size_class(sig->sent | sig->received));
    if (row) {
        row->sent += sent;
        row->received += received;
    }
    if (sub)
        return;
    page->thread.calls += calls;
    page->thread.mpi_ticks += ticks;
    if (!row) {
        page->thread.row_overflow += calls;
        return;
    }
    row->calls += calls;
    row->ticks += ticks;
    uint64_t each = ticks / calls;
    row->min_ticks = each < row->min_ticks ? each : row->min_ticks;
    row->max_ticks = each > row->max_ticks ? each : row->max_ticks;
    row->histogram[trc_bucket(each)] += (uint32_t)calls;
}
