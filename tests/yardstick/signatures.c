/* Signatures of calls, as the recorder has them: e2e/played runs programs by real MPIs, and compares every record. */
#include "tests/yardstick/record.h"

/* The second of the builder's communicators is MPI_COMM_SELF. */
uint32_t comm_id(int comm)
{
    return comm ? (uint32_t)comm + TB_SELF : TB_WORLD;
}

static int32_t source_of(int from)
{
    return from == ANY ? TRC_PEER_ANY : from;
}

static int32_t tag_of(int tag)
{
    return tag == ANY ? TRC_TAG_ANY : tag;
}

static void put_send(struct trc_sig *sig, const struct op *op, int to)
{
    bool synchronous = op->call == CALL_SSEND || op->call == CALL_ISSEND || op->call == CALL_SSEND_INIT;
    sig->flags |= TRC_SIG_P2P_OUT | (synchronous ? TRC_SIG_SYNC : 0);
    sig->peer = to;
    sig->tag = op->tag;
    sig->sent = op->bytes;
}

static void put_recv(struct trc_sig *sig, const struct op *op, int from, int tag)
{
    sig->flags |= TRC_SIG_P2P_IN;
    sig->source = source_of(from);
    sig->rtag = tag_of(tag);
    sig->received = op->room ? op->room : op->bytes;
}

static bool sends_nothing(enum call call)
{
    return call == CALL_BARRIER || call == CALL_IBARRIER || call == CALL_WIN_FENCE || call == CALL_WIN_FREE ||
           call == CALL_FILE_CLOSE;
}

/* Bytes that a rank hands to MPI and gets: in rooted collectives the root and the others differ. */
static void put_collective(struct trc_sig *sig, const struct program *p, int rank, const struct op *op)
{
    const struct comm *c = &p->comm[op->comm];
    uint64_t all = op->bytes * (uint64_t)(c->remote ? c->remote : c->size);
    bool root = rank == op->root;
    sig->flags |= TRC_SIG_COLL;
    sig->peer = op->root >= 0 ? op->root : TRC_PEER_NONE;
    if (op->makes || sends_nothing(op->call))
        return;
    sig->sent = sig->received = op->bytes;
    switch (op->call) {
    case CALL_BCAST:
    case CALL_IBCAST:
        *(root ? &sig->received : &sig->sent) = 0;
        break;
    case CALL_SCATTER:
    case CALL_SCATTERV:
        sig->sent = root ? all : 0;
        break;
    case CALL_GATHER:
    case CALL_IGATHER:
    case CALL_GATHERV:
        sig->received = root ? all : 0;
        break;
    case CALL_REDUCE:
        sig->received = root ? op->bytes : 0;
        break;
    case CALL_ALLGATHER:
    case CALL_ALLGATHERV:
    case CALL_NEIGHBOR_ALLGATHER:
        sig->received = all;
        break;
    case CALL_ALLTOALL:
    case CALL_ALLTOALLV:
    case CALL_ALLTOALLW:
    case CALL_IALLTOALL:
        sig->sent = sig->received = all;
        break;
    case CALL_REDUCE_SCATTER:
        sig->sent = all;
        break;
    case CALL_EXSCAN:
        sig->received = rank == c->member[0] ? 0 : op->bytes;
        break;
    case CALL_FILE_WRITE_ALL:
        sig->received = 0;
        sig->flags |= TRC_SIG_IO;
        break;
    default:
        break;
    }
}

static bool is_object(enum comm_kind kind)
{
    return kind == COMM_WINDOW || kind == COMM_FILE;
}

static void put_window(struct trc_sig *sig, const struct op *op)
{
    bool group = op->kind == OP_POST || op->kind == OP_OPEN || op->kind == OP_COMPLETE || op->kind == OP_CLOSE;
    sig->flags |= TRC_SIG_RMA;
    if (!group && op->to != NOBODY)
        sig->peer = op->to;
    if (op->kind == OP_LOCK && op->shared && op->to != NOBODY)
        sig->flags |= TRC_SIG_SHARED;
    if (op->kind == OP_MOVE)
        *(op->call == CALL_PUT ? &sig->sent : &sig->received) = op->bytes;
}

/* False: it is no message. */
static bool put_message(struct trc_sig *sig, const struct op *op, const struct done *done)
{
    switch (op->kind) {
    case OP_SEND:
        put_send(sig, op, done->to);
        return true;
    case OP_RECV:
        put_recv(sig, op, op->from == REPLY ? done->from : op->from, op->rtag == REPLY ? done->tag : op->rtag);
        return true;
    case OP_SENDRECV:
        put_send(sig, op, op->to);
        put_recv(sig, op, op->from, op->rtag);
        return true;
    case OP_ISEND:
    case OP_SEND_INIT:
        put_send(sig, op, op->to);
        return true;
    case OP_IRECV:
    case OP_RECV_INIT:
        put_recv(sig, op, op->from, op->rtag);
        return true;
    case OP_PROBE:
    case OP_MPROBE:
        sig->source = source_of(op->from);
        sig->rtag = tag_of(op->rtag);
        return true;
    case OP_MRECV:
    case OP_IMRECV:
        sig->source = done->from;
        sig->rtag = done->tag;
        sig->received = op->kind == OP_MRECV ? done->bytes : 0;
        return true;
    default:
        return false;
    }
}

static bool is_of_window(enum kind kind)
{
    return kind == OP_LOCK || kind == OP_UNLOCK || kind == OP_FLUSH || kind == OP_MOVE || kind == OP_SPIN ||
           kind == OP_POST || kind == OP_OPEN || kind == OP_COMPLETE || kind == OP_CLOSE;
}

struct trc_sig sig_of(const struct program *p, int rank, const struct op *op, const struct done *done)
{
    struct trc_sig sig = tb_sig(0);
    sig.call = op->call;
    sig.site = 0x1000u + (uint64_t)op->phase * 64 + (uint64_t)op->kind;
    sig.comm = comm_id(op->comm);
    if (is_object(p->comm[op->comm].kind))
        sig.object = comm_id(op->comm);
    if (op->kind == OP_COLL || op->kind == OP_ICOLL || op->kind == OP_COLL_INIT) {
        put_collective(&sig, p, rank, op);
        sig.flags |= op->call == CALL_WIN_FENCE ? TRC_SIG_RMA : 0;
    } else if (is_of_window(op->kind)) {
        put_window(&sig, op);
    } else if (op->kind == OP_WRITE) {
        sig.flags |= TRC_SIG_IO;
        sig.sent = op->bytes;
    } else if (!put_message(&sig, op, done)) {
        sig.comm = sig.object = 0;
    }
    if (op->kind == OP_ISEND || op->kind == OP_IRECV || op->kind == OP_ICOLL)
        sig.flags |= TRC_SIG_START;
    return sig;
}

void sig_received(struct trc_sig *sig, const struct op *op, const struct done *done)
{
    if (op->kind != OP_RECV && op->kind != OP_SENDRECV && op->kind != OP_MPROBE)
        return;
    if (op->kind != OP_MPROBE) {
        sig->flags |= sig->source == TRC_PEER_ANY ? TRC_SIG_ANY_SOURCE : 0;
        sig->flags |= sig->rtag == TRC_TAG_ANY ? TRC_SIG_ANY_TAG : 0;
    }
    sig->source = done->from;
    sig->rtag = done->tag;
    sig->received = done->bytes;
    if (op->kind == OP_MPROBE)
        sig->flags |= TRC_SIG_START | TRC_SIG_P2P_IN;
}

bool is_poll(const struct op *op)
{
    return op->polls && (op->kind == OP_WAIT || op->kind == OP_PROBE || op->kind == OP_MPROBE);
}
