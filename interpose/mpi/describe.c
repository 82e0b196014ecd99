/* Helpers that all classes of calls share: sizes of datatypes, statuses, starts of requests. */
#include "interpose/mpi/describe.h"
#include "interpose/mpi/starts.h"
#include "interpose/mpi/abi.h"
#include "interpose/core/state.h"

typedef uintptr_t w;

/* ---- sizes */

/* Whether counts have 64 bits.  Partitioned calls have an MPI_Count, though their names do not end in _c. */
static bool has_wide_counts(const struct ipo_call *call)
{
    return call->large || ipo_has(call, ROLE_PARTITIONS);
}

uint64_t ipo_count(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role)
{
    uintptr_t word = ipo_arg(call, args, role);
    int64_t n = has_wide_counts(call) ? (int64_t)word : (int64_t)(int32_t)word;
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t ipo_count_at(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role, uint32_t i)
{
    uintptr_t array = ipo_arg(call, args, role);
    if (!array)
        return 0;
    int64_t n = has_wide_counts(call) ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t ipo_bytes(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role count, enum ipo_role type)
{
    uint64_t n = ipo_count(frame->call, args, count);
    if (ipo_has(frame->call, ROLE_PARTITIONS))
        n *= (uint64_t)(int32_t)ipo_arg(frame->call, args, ROLE_PARTITIONS);
    if (n == 0)
        return 0;
    return n * ipo_moves(frame, type, ipo_arg(frame->call, args, type));
}

uint64_t ipo_moves(const struct ipo_frame *frame, enum ipo_role role, uintptr_t datatype)
{
    const struct ipo_type *type = ipo_type_of(frame->thread, datatype);
    frame->thread->moves[role == ROLE_RECEIVE_TYPE] = type ? type->signature : 0;
    return type ? type->size : 0;
}

/* ---- statuses */

bool ipo_status_known = true;

void ipo_want_status(struct ipo_frame *frame, uintptr_t *args)
{
    unsigned at = ipo_position(frame->call, ROLE_STATUS_OUT);
    if (at == IPO_ABSENT || !ipo_status_known)
        return;
    if (args[at] == ipo_abi.status_ignore) {
        if (!ipo_thread_scratch(frame->thread, 1))
            return;
        args[at] = (uintptr_t)frame->thread->statuses;
    }
    frame->status = args[at];
}

struct ipo_arrived ipo_arrived(const struct ipo_comm *comm, uintptr_t status, bool may_be_cancelled)
{
    struct ipo_arrived arrived = {.source = TRC_PEER_UNKNOWN, .tag = TRC_TAG_NONE, .bytes = 0};
    if (!status)
        return arrived;
    if (may_be_cancelled) {
        int flag = 0;
        ((int (*)(w, int *))ipo_own[IPO_Test_cancelled])(status, &flag);
        arrived.cancelled = flag != 0;
        if (flag)
            return arrived;
    }
    arrived.source = ipo_world_rank(comm, ipo_status_source((const char *)status));
    arrived.tag = ipo_status_tag((const char *)status);
    int count = 0;
    ((int (*)(w, w, int *))ipo_own[IPO_Get_count])(status, ipo_abi.byte_type, &count);
    int64_t elements = count;
    if (__builtin_expect(count < 0, 0) && ipo_own[IPO_Get_elements_x]) /* past 2^31 */
        ((int (*)(w, w, int64_t *))ipo_own[IPO_Get_elements_x])(status, ipo_abi.byte_type, &elements);
    arrived.bytes = elements > 0 ? (uint64_t)elements : 0;
    return arrived;
}

/* ---- errors */

int ipo_error_class(int error)
{
    int error_class = 0;
    int (*ask)(int, int *) = (int (*)(int, int *))ipo_own[IPO_Error_class];
    return ask && !ask(error, &error_class) ? error_class : 0;
}

void ipo_collective_failed(struct ipo_frame *frame)
{
    struct ipo_comm *comm = frame->comm;
    const enum trc_opclass opclass = frame->call->opclass;
    const unsigned class = (unsigned)ipo_error_class(frame->result);
    const bool newest = comm->sequence == frame->sequence + 1;
    if (class < 32 && ipo_abi.refused_classes >> class & 1 && newest) {
        comm->sequence = frame->sequence;
        frame->sig.flags &= ~(uint32_t)TRC_SIG_COLL;
    } else if ((int)class != ipo_abi.truncate_class && opclass != TRC_OP_FILE_OPEN && opclass != TRC_OP_IO_COLL) {
        ipo_comm_doubt(comm, frame->sequence); /* a file call that fails fails on all ranks, after the communication */
    }
}

/* ---- completions */

uint32_t ipo_count_completed(const struct ipo_frame *frame, const uintptr_t *args, const int **indices)
{
    const struct ipo_call *call = frame->call;
    *indices = NULL;
    uintptr_t flag = ipo_arg(call, args, ROLE_FLAG_OUT);
    if (flag && !frame->failed && !*(const int *)flag)
        return 0;
    if (ipo_has(call, ROLE_COMPLETED_OUT)) {
        const int *count = (const int *)ipo_arg(call, args, ROLE_COMPLETED_OUT);
        *indices = (const int *)ipo_arg(call, args, ROLE_INDICES_OUT);
        int n = count && *indices ? *count : 0;
        return n > 0 && n != ipo_abi.undefined ? (uint32_t)n : 0;
    }
    if (ipo_has(call, ROLE_INDEX_OUT)) {
        const int *index = (const int *)ipo_arg(call, args, ROLE_INDEX_OUT);
        *indices = index;
        return index && *index >= 0 && *index != ipo_abi.undefined ? 1 : 0;
    }
    return ipo_count_of_requests(call, args);
}

bool ipo_found_nothing(const struct ipo_call *call, const uintptr_t *args)
{
    if (call->opclass != TRC_OP_TEST)
        return false;
    uintptr_t flag = ipo_arg(call, args, ROLE_FLAG_OUT);
    if (flag)
        return !*(const int *)flag;
    return ipo_has(call, ROLE_COMPLETED_OUT) && *(const int *)ipo_arg(call, args, ROLE_COMPLETED_OUT) == 0;
}

/* ---- starts */

void ipo_started(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t variable = ipo_arg(frame->call, args, ROLE_REQUEST_OUT);
    if (!variable)
        return;
    const bool starts = frame->sig.flags & TRC_SIG_START;
    const uintptr_t envelope[2] = {ipo_arg(frame->call, args, ROLE_SOURCE),
                                   ipo_arg(frame->call, args, ROLE_RECEIVE_TAG)};
    struct ipo_request *request = ipo_note_start(frame->thread, variable, &frame->sig, starts,
                                                 &frame->thread->stream.state[frame->index], frame->comm, envelope);
    if (!request)
        return;
    const bool plain = frame->call->opclass == TRC_OP_IRECV || frame->call->opclass == TRC_OP_RECV_INIT;
    if (request->flags && (!plain || ipo_has(frame->call, ROLE_PARTITIONS)))
        request->flags = IPO_REQUEST_BY_STATUS;
    if (frame->call->persistent) {
        request->flags |= IPO_REQUEST_PERSISTENT;
        request->version = 0; /* no start has a signature yet */
        atomic_store_explicit(&ipo_requests.persistent, true, memory_order_relaxed);
    }
    if (frame->call->opclass == TRC_OP_IO || frame->call->opclass == TRC_OP_IO_COLL)
        request->flags |= ipo_has(frame->call, ROLE_RECEIVE_BUFFER) ? IPO_REQUEST_READ : 0;
}

void ipo_mark_poll(struct ipo_frame *frame)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_sig_state *state = &stream->state[frame->index];
    const uint32_t plain = frame->index, version = state->version;
    frame->poll = true;
    frame->sig.flags |= TRC_SIG_POLL;
    /* A call that can poll starts no request, so its signature's place for completions is used for the poll. */
    if (trc_completion_known(stream, state)) {
        frame->index = state->completed_as;
        return;
    }
    frame->index = trc_stream_intern(stream, &frame->sig);
    if (stream->state[plain].version != version)
        return; /* the table has dropped the entry */
    state->completed_as = frame->index;
    state->completed_version = stream->state[frame->index].version;
}

void ipo_assign_number(struct ipo_frame *frame)
{
    frame->sig.flags |= TRC_SIG_COLL;
    if (!frame->numbered)
        frame->sequence = frame->comm->sequence++;
    frame->numbered = true;
}
