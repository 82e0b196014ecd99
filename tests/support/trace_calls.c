/* The usual MPI calls, as the recorder would write them. */
#include "tests/support/trace_builder.h"

static struct trc_sig sending(enum tb_call call, uint32_t flags, int32_t peer, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_P2P_OUT | flags;
    sig.comm = TB_WORLD;
    sig.peer = peer;
    sig.tag = tag;
    sig.sent = bytes;
    sig.site = 0x1000u + call;
    return sig;
}

static struct trc_sig receiving(enum tb_call call, uint32_t flags, int32_t source, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_P2P_IN | flags;
    sig.comm = TB_WORLD;
    sig.source = source;
    sig.rtag = tag;
    sig.received = bytes;
    sig.site = 0x1000u + call;
    return sig;
}

void tb_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = sending(TB_SEND, 0, peer, tag, bytes);
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

void tb_ssend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = sending(TB_SSEND, TRC_SIG_SYNC, peer, tag, bytes);
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

void tb_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = receiving(TB_RECV, 0, source, tag, bytes);
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

uint64_t tb_isend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = sending(TB_ISEND, TRC_SIG_START, peer, tag, bytes);
    return tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

uint64_t tb_irecv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag,
                  uint64_t room)
{
    struct trc_sig sig = receiving(TB_IRECV, TRC_SIG_START, source, tag, room);
    return tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

void tb_completed_send(struct tb *tb, uint32_t thread, uint64_t request)
{
    struct trc_sig sig = tb_sig(TB_ISEND);
    sig.flags = TRC_SIG_COMPLETE;
    sig.comm = TB_WORLD;
    tb_sub(tb, thread, &sig, (struct tb_more){.request_thread = thread, .request = request});
}

void tb_completed_recv(struct tb *tb, uint32_t thread, uint64_t request, int32_t source, int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = receiving(TB_IRECV, TRC_SIG_COMPLETE, source, tag, bytes);
    tb_sub(tb, thread, &sig, (struct tb_more){.request_thread = thread, .request = request});
}

void tb_wait_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request)
{
    struct trc_sig sig = tb_sig(TB_WAIT);
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
    tb_completed_send(tb, thread, request);
}

void tb_wait_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request, int32_t source,
                  int32_t tag, uint64_t bytes)
{
    struct trc_sig sig = tb_sig(TB_WAIT);
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
    tb_completed_recv(tb, thread, request, source, tag, bytes);
}

void tb_collective(struct tb *tb, uint32_t thread, enum tb_call call, int64_t begin, int64_t end, uint32_t comm,
                   uint64_t sequence, int32_t root, uint64_t sent, uint64_t received)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_COLL;
    sig.comm = comm;
    sig.peer = root;
    sig.sent = sent;
    sig.received = received;
    sig.site = 0x1000u + call;
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){.sequence = sequence});
}

void tb_barrier(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence)
{
    tb_collective(tb, thread, TB_BARRIER, begin, end, comm, sequence, TRC_PEER_NONE, 0, 0);
}

void tb_listens(struct tb *tb, uint32_t thread, int64_t since)
{
    struct trc_sig sig = tb_sig(TB_RECV);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_P2P_IN;
    sig.source = TRC_PEER_ANY;
    sig.rtag = 9;
    tb_inside(tb, thread, &sig, since, 0);
}

void tb_allreduce(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence,
                  uint64_t bytes)
{
    tb_collective(tb, thread, TB_ALLREDUCE, begin, end, comm, sequence, TRC_PEER_NONE, bytes, bytes);
}
