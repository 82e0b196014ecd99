/* Which functions know which class of calls; and the few calls that begin and end the recording. */
#include "interpose/describe.h"
#include "interpose/process.h"

#include <errno.h>

static void describe_level(struct ipo_frame *frame, uintptr_t *args)
{
    frame->sig.tag = (int)ipo_arg(frame->call, args, 'L');
    if (frame->call->opclass == TRC_OP_ABORT)
        ipo_process_aborting(frame->sig.tag);
}

static void describe_finalize(struct ipo_frame *frame, uintptr_t *args)
{
    (void)frame, (void)args;
    ipo_process_ending();
}

static void finish_finalize(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    int kept = errno;
    ipo_emit(frame);
    if (!frame->failed)
        ipo_process_finalized();
    errno = kept;
}

static void finish_init_call(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    int kept = errno;
    if (!frame->failed)
        ipo_process_ready();
    ipo_emit(frame);
    errno = kept;
}

const struct ipo_class ipo_classes[] = {
    [TRC_OP_OTHER] = {ipo_describe_request, ipo_finish_request},
    [TRC_OP_INIT] = {NULL, finish_init_call},
    [TRC_OP_FINALIZE] = {describe_finalize, finish_finalize},
    [TRC_OP_ABORT] = {describe_level, NULL},
    [TRC_OP_PCONTROL] = {describe_level, NULL},
    [TRC_OP_SEND] = {ipo_describe_send, ipo_finish_send},
    [TRC_OP_SSEND] = {ipo_describe_send, ipo_finish_send},
    [TRC_OP_RECV] = {ipo_describe_recv, ipo_finish_recv},
    [TRC_OP_SENDRECV] = {ipo_describe_sendrecv, ipo_finish_recv},
    [TRC_OP_ISEND] = {ipo_describe_send, ipo_finish_isend},
    [TRC_OP_ISSEND] = {ipo_describe_send, ipo_finish_isend},
    [TRC_OP_IRECV] = {ipo_describe_recv, ipo_finish_isend},
    [TRC_OP_ISENDRECV] = {ipo_describe_sendrecv, ipo_finish_isend},
    [TRC_OP_SEND_INIT] = {ipo_describe_send, ipo_finish_init},
    [TRC_OP_SSEND_INIT] = {ipo_describe_send, ipo_finish_init},
    [TRC_OP_RECV_INIT] = {ipo_describe_recv, ipo_finish_init},
    [TRC_OP_START] = {NULL, ipo_finish_start},
    [TRC_OP_WAIT] = {ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_TEST] = {ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_PARTITION] = {NULL, ipo_finish_probe},
    [TRC_OP_PROBE] = {ipo_describe_probe, ipo_finish_probe},
    [TRC_OP_MPROBE] = {ipo_describe_probe, ipo_finish_mprobe},
    [TRC_OP_MRECV] = {ipo_describe_mrecv, ipo_finish_mrecv},
    [TRC_OP_IMRECV] = {ipo_describe_mrecv, ipo_finish_imrecv},
    [TRC_OP_REQUEST] = {ipo_describe_request, ipo_finish_request},
    [TRC_OP_BARRIER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_BCAST] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCATTER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_GATHER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLGATHER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLREDUCE] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLTOALL] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE_SCATTER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCAN] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_EXSCAN] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_NEIGHBOR] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_COMM] = {ipo_describe_comm, ipo_finish_comm},
    [TRC_OP_COMM_CREATE] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_SPAWN] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_RMA] = {ipo_describe_rma, ipo_finish_isend},
    [TRC_OP_RMA_SYNC] = {ipo_describe_rma_sync, NULL},
    [TRC_OP_RMA_FENCE] = {ipo_describe_rma_sync, NULL},
    [TRC_OP_WIN_CREATE] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_IO] = {ipo_describe_io, ipo_finish_io},
    [TRC_OP_IO_COLL] = {ipo_describe_io, ipo_finish_io},
    [TRC_OP_FILE_OPEN] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_PASS] = {NULL, NULL},
};
