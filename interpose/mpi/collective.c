/* Collectives: who sends and receives how much.  A rank's own contribution and its own result count once (DESIGN 5);
 * MPI_IN_PLACE changes where data lies, not how much of it there is. */
#include "interpose/mpi/describe.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/negotiation.h"

#include <string.h>

/* Sums an array of counts, with one datatype for all or an array of datatypes. */
static uint64_t sum_array(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role counts,
                          enum ipo_role type, enum ipo_role types, uint32_t n, const uint8_t *real)
{
    const struct ipo_call *call = frame->call;
    bool each = ipo_has(call, types);
    uint64_t total = 0;
    if (!each) {
        for (uint32_t i = 0; i < n; i++)
            total += !real || real[i] ? ipo_count_at(call, args, counts, i) : 0;
        return total ? total * ipo_moves(frame, type, ipo_arg(call, args, type)) : 0;
    }
    uintptr_t array = ipo_arg(call, args, types);
    for (uint32_t i = 0; array && i < n; i++) {
        uint64_t count = !real || real[i] ? ipo_count_at(call, args, counts, i) : 0;
        uint64_t size = count ? ipo_type_size(frame->thread, ipo_type_at(frame->thread, array, i)) : 0;
        total += size == TRC_BYTES_UNKNOWN ? 0 : count * size;
    }
    return total;
}

/* Bytes of one block of a v variant. */
static uint64_t count_block(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role counts,
                            enum ipo_role type, uint32_t i)
{
    uint64_t count = ipo_count_at(frame->call, args, counts, i);
    return count ? count * ipo_moves(frame, type, ipo_arg(frame->call, args, type)) : 0;
}

/* The two directions of a call in their general form: scalar count x factor, or the sum of an array. */
static uint64_t count_sent(const struct ipo_frame *frame, const uintptr_t *args, uint32_t n, const uint8_t *real,
                           uint32_t factor)
{
    if (ipo_has(frame->call, ROLE_SEND_COUNTS))
        return sum_array(frame, args, ROLE_SEND_COUNTS, ROLE_SEND_TYPE, ROLE_SEND_TYPES, n, real);
    return ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE) * factor;
}

static uint64_t count_received(const struct ipo_frame *frame, const uintptr_t *args, uint32_t n, const uint8_t *real,
                               uint32_t factor)
{
    if (ipo_has(frame->call, ROLE_RECEIVE_COUNTS))
        return sum_array(frame, args, ROLE_RECEIVE_COUNTS, ROLE_RECEIVE_TYPE, ROLE_RECEIVE_TYPES, n, real);
    return ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE) * factor;
}

/* The rank's own block on the receiving (sending) side of a rooted call: of an array of counts, or the scalar. */
static uint64_t count_own_received(const struct ipo_frame *frame, const uintptr_t *args, uint32_t rank)
{
    return ipo_has(frame->call, ROLE_RECEIVE_COUNTS)
               ? count_block(frame, args, ROLE_RECEIVE_COUNTS, ROLE_RECEIVE_TYPE, rank)
               : ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE);
}
static uint64_t count_own_sent(const struct ipo_frame *frame, const uintptr_t *args, uint32_t rank)
{
    return ipo_has(frame->call, ROLE_SEND_COUNTS) ? count_block(frame, args, ROLE_SEND_COUNTS, ROLE_SEND_TYPE, rank)
                                                  : ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
}

struct part {
    bool in_place_send, in_place_receive;
    bool root;     /* the rank is the root */
    bool outsider; /* the rank is in the root's group of an intercommunicator, but not the root: takes no part */
    bool inter;
    uint32_t n; /* ranks that it exchanges with: the remote group of an intercommunicator */
    uint32_t rank;
};

static void count_bytes(struct ipo_frame *frame, const uintptr_t *args, const struct part *r)
{
    struct trc_sig *sig = &frame->sig;
    uint64_t one;
    switch (frame->call->opclass) {
    case TRC_OP_BCAST:
        one = r->outsider ? 0 : ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        *(r->root ? &sig->sent : &sig->received) = one;
        break;
    case TRC_OP_SCATTER:
        if (r->root) {
            sig->sent = count_sent(frame, args, r->n, NULL, r->n);
            if (!r->inter)
                sig->received = r->in_place_receive ? count_own_sent(frame, args, r->rank)
                                                    : ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE);
        } else if (!r->outsider) {
            sig->received = ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE);
        }
        break;
    case TRC_OP_GATHER:
        if (r->root) {
            sig->received = count_received(frame, args, r->n, NULL, r->n);
            if (!r->inter)
                sig->sent = r->in_place_send ? count_own_received(frame, args, r->rank)
                                             : ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        } else if (!r->outsider) {
            sig->sent = ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        }
        break;
    case TRC_OP_REDUCE:
        one = r->outsider ? 0 : ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        sig->sent = r->inter && r->root ? 0 : one;
        sig->received = r->root ? one : 0;
        break;
    case TRC_OP_ALLGATHER:
        sig->sent = r->in_place_send ? count_own_received(frame, args, r->rank)
                                     : ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        sig->received = count_received(frame, args, r->n, NULL, r->n);
        break;
    case TRC_OP_ALLREDUCE:
    case TRC_OP_SCAN:
        sig->sent = sig->received = ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        break;
    case TRC_OP_EXSCAN: /* the result of rank 0 is undefined */
        sig->sent = ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
        sig->received = r->rank > 0 ? sig->sent : 0;
        break;
    case TRC_OP_ALLTOALL:
        sig->received = count_received(frame, args, r->n, NULL, r->n);
        sig->sent = r->in_place_send ? sig->received : count_sent(frame, args, r->n, NULL, r->n);
        break;
    case TRC_OP_REDUCE_SCATTER:
        sig->received = count_own_received(frame, args, r->rank);
        sig->sent = count_received(frame, args, frame->comm ? (uint32_t)frame->comm->size : 0, NULL,
                                   frame->comm ? (uint32_t)frame->comm->size : 0);
        break;
    default:
        break; /* a barrier moves nothing */
    }
}

static void count_neighbours(struct ipo_frame *frame, const uintptr_t *args)
{
    struct ipo_comm *comm = frame->comm;
    if (!comm)
        return;
    ipo_comm_topology(comm, ipo_handle(ipo_arg(frame->call, args, ROLE_COMM)));
    /* Neighbor_allgather sends one contribution to all, Neighbor_alltoall one to each. */
    bool to_each = strstr(frame->call->name, "alltoall") != NULL;
    frame->sig.sent =
        count_sent(frame, args, comm->out_n, comm->out_real, to_each ? comm->out_degree : comm->out_degree > 0);
    frame->sig.received = count_received(frame, args, comm->in_n, comm->in_real, comm->in_degree);
}

void ipo_describe_collective(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct ipo_comm *comm = ipo_comm(ipo_arg(call, args, ROLE_COMM));
    struct trc_sig *sig = &frame->sig;
    frame->comm = comm;
    sig->comm = comm ? ipo_comm_id(comm) : 0;
    if (ipo_has(call, ROLE_REQUEST_OUT))
        sig->flags |= TRC_SIG_START;
    if (!comm)
        return;
    if (call->opclass == TRC_OP_NEIGHBOR) {
        count_neighbours(frame, args);
    } else {
        int root = (int)ipo_arg(call, args, ROLE_ROOT);
        struct part part = {
            .in_place_send =
                ipo_has(call, ROLE_SEND_BUFFER) && ipo_arg(call, args, ROLE_SEND_BUFFER) == ipo_abi.in_place,
            .in_place_receive =
                ipo_has(call, ROLE_RECEIVE_BUFFER) && ipo_arg(call, args, ROLE_RECEIVE_BUFFER) == ipo_abi.in_place,
            .inter = comm->remote_size > 0,
            .n = (uint32_t)(comm->remote_size > 0 ? comm->remote_size : comm->size),
            .rank = (uint32_t)comm->rank,
        };
        if (ipo_has(call, ROLE_ROOT)) {
            part.root = part.inter ? root == ipo_abi.root : root == comm->rank;
            part.outsider = part.inter && root == ipo_abi.proc_null;
            sig->peer = ipo_world_rank(comm, root);
        }
        count_bytes(frame, args, &part);
    }
    if (call->persistent)
        return;
    if (__builtin_expect(ipo_negotiation_suspected(frame) && !frame->numbered, 0))
        ipo_negotiation_describe(frame, args);
    ipo_assign_number(frame);
}

void ipo_finish_collective(struct ipo_frame *frame, const uintptr_t *args)
{
    if (__builtin_expect(frame->comm && frame->comm->negotiation, 0) && ipo_negotiation_finish(frame, args))
        return;
    struct trc_sig moves = frame->sig;
    if (frame->call->persistent || frame->failed) {
        frame->sig.flags &= ~(uint32_t)TRC_SIG_START;
        frame->sig.sent = frame->sig.received = 0;
        frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
    }
    ipo_emit(frame);
    if (frame->failed || !ipo_has(frame->call, ROLE_REQUEST_OUT))
        return;
    frame->sig = moves;
    if (frame->call->persistent)
        frame->sig.flags = TRC_SIG_COLL;
    ipo_started(frame, args);
}
