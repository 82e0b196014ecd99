#include "tests/support/trace_counters.h"
#include "trace/format/histogram.h"

#include <stdbool.h>
#include <stddef.h>

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

static void count_peer(struct trc_thread_chunk *page, int32_t rank, bool out, uint64_t bytes)
{
    if (rank < 0)
        return;
    *(out ? &page->thread.sent_messages : &page->thread.received_messages) += 1;
    for (uint32_t i = 0; i < TRC_PEERS; i++) {
        struct trc_peer *peer = &page->peers[((uint32_t)rank + i) % TRC_PEERS];
        if (peer->rank_plus_1 && peer->rank_plus_1 != (uint32_t)rank + 1)
            continue;
        peer->rank_plus_1 = (uint32_t)rank + 1;
        *(out ? &peer->sent_messages : &peer->received_messages) += 1;
        *(out ? &peer->sent_bytes : &peer->received_bytes) += bytes;
        return;
    }
    page->thread.peer_overflow++;
}

static struct trc_row *row_of(struct trc_thread_chunk *page, uint32_t call, uint16_t size_class)
{
    for (uint32_t i = 0; i < TRC_ROWS; i++) {
        struct trc_row *row = &page->rows[i];
        if (row->call_plus_1 && (row->call_plus_1 != call + 1 || row->size_class != size_class))
            continue;
        if (!row->call_plus_1)
            row->min_ticks = UINT64_MAX;
        row->call_plus_1 = (uint16_t)(call + 1);
        row->size_class = size_class;
        return row;
    }
    return NULL;
}

void tb_count(struct trc_thread_chunk *page, const struct trc_sig *sig, uint64_t ticks, uint64_t calls)
{
    if (!page || sig->flags & TRC_SIG_NESTED)
        return;
    /* What a posted receive has room for did not arrive yet. */
    bool posted = sig->flags & TRC_SIG_START && sig->flags & TRC_SIG_P2P_IN;
    uint64_t received = posted ? 0 : known(sig->received), sent = sig->flags & TRC_SIG_COMPLETE ? 0 : known(sig->sent);
    page->thread.sent += sent;
    page->thread.received += received;
    if (sig->flags & TRC_SIG_P2P_OUT && !(sig->flags & TRC_SIG_COMPLETE))
        count_peer(page, sig->peer, true, sent);
    if (sig->flags & TRC_SIG_P2P_IN && !posted && !(sig->flags & TRC_SIG_CANCELLED))
        count_peer(page, sig->source, false, received);
    if (sig->flags & TRC_SIG_START)
        page->thread.starts++;
    if (sig->flags & TRC_SIG_COMPLETE)
        page->thread.completes++;
    bool sub = sig->flags & TRC_SIG_SUB;
    struct trc_row *row = row_of(page, sig->call, trc_size_class(sent > received ? sent : received));
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
