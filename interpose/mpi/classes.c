/* The functions for each class of calls; and the few calls that begin and end the recording. */
#include "interpose/mpi/describe.h"
#include "interpose/core/process.h"
#include "interpose/core/source.h"
#include "interpose/mpi/living.h"
#include "interpose/mpi/pcontrol.h"
#include "interpose/mpi/start.h"

#include <errno.h>

static void describe_level(struct ipo_frame *frame, uintptr_t *args)
{
    frame->sig.tag = (int)ipo_arg(frame->call, args, ROLE_LEVEL);
    if (frame->call->opclass == TRC_OP_ABORT)
        ipo_mpi_aborting(frame->sig.tag);
}

static void finish_level(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    int kept = errno;
    const int level = frame->sig.tag;
    if (level != 0)
        ipo_pcontrol(level);
    ipo_emit(frame);
    IPO_ASK_SOURCES(level, level);
    if (level == 0)
        ipo_pcontrol(level);
    errno = kept;
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
    if (!frame->failed && frame->sig.call == IPO_Finalize)
        ipo_living_write();
    if (!frame->failed)
        ipo_mpi_finalized(frame->sig.call != IPO_Finalize);
    errno = kept;
}

static void finish_init_call(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    int kept = errno;
    if (!frame->failed)
        ipo_mpi_ready();
    ipo_emit(frame);
    errno = kept;
}

const struct ipo_class ipo_classes[] = {
    [TRC_OP_OTHER] = {ipo_prepare_request, ipo_describe_request, ipo_finish_request},
    [TRC_OP_INIT] = {NULL, NULL, finish_init_call},
    [TRC_OP_FINALIZE] = {NULL, describe_finalize, finish_finalize},
    [TRC_OP_ABORT] = {NULL, describe_level, NULL},
    [TRC_OP_PCONTROL] = {NULL, describe_level, finish_level},
    [TRC_OP_SEND] = {NULL, ipo_describe_send, ipo_finish_send},
    [TRC_OP_SSEND] = {NULL, ipo_describe_send, ipo_finish_send},
    [TRC_OP_RECV] = {ipo_want_status, ipo_describe_recv, ipo_finish_recv},
    [TRC_OP_SENDRECV] = {ipo_want_status, ipo_describe_sendrecv, ipo_finish_recv},
    [TRC_OP_ISEND] = {NULL, ipo_describe_send, ipo_finish_isend},
    [TRC_OP_ISSEND] = {NULL, ipo_describe_send, ipo_finish_isend},
    [TRC_OP_IRECV] = {NULL, ipo_describe_recv, ipo_finish_isend},
    [TRC_OP_ISENDRECV] = {NULL, ipo_describe_sendrecv, ipo_finish_isend},
    [TRC_OP_SEND_INIT] = {NULL, ipo_describe_send, ipo_finish_init},
    [TRC_OP_SSEND_INIT] = {NULL, ipo_describe_send, ipo_finish_init},
    [TRC_OP_RECV_INIT] = {NULL, ipo_describe_recv, ipo_finish_init},
    [TRC_OP_START] = {NULL, NULL, ipo_finish_start},
    [TRC_OP_WAIT] = {ipo_prepare_completion, ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_TEST] = {ipo_prepare_completion, ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_PARTITION] = {NULL, NULL, ipo_finish_probe},
    [TRC_OP_PROBE] = {NULL, ipo_describe_probe, ipo_finish_probe},
    [TRC_OP_MPROBE] = {ipo_want_status, ipo_describe_probe, ipo_finish_mprobe},
    [TRC_OP_MRECV] = {NULL, ipo_describe_mrecv, ipo_finish_mrecv},
    [TRC_OP_IMRECV] = {NULL, ipo_describe_mrecv, ipo_finish_imrecv},
    [TRC_OP_REQUEST] = {ipo_prepare_request, ipo_describe_request, ipo_finish_request},
    [TRC_OP_BARRIER] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_BCAST] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCATTER] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_GATHER] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLGATHER] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLREDUCE] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLTOALL] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE_SCATTER] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCAN] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_EXSCAN] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_NEIGHBOR] = {NULL, ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_COMM] = {NULL, ipo_describe_comm, ipo_finish_comm},
    [TRC_OP_COMM_CREATE] = {NULL, ipo_describe_create, ipo_finish_create},
    [TRC_OP_SPAWN] = {NULL, ipo_describe_create, ipo_finish_create},
    [TRC_OP_RMA] = {NULL, ipo_describe_rma, ipo_finish_isend},
    [TRC_OP_RMA_SYNC] = {NULL, ipo_describe_rma_sync, NULL},
    [TRC_OP_RMA_TEST] = {NULL, ipo_describe_rma_sync, ipo_finish_probe},
    [TRC_OP_RMA_FENCE] = {NULL, ipo_describe_rma_sync, NULL},
    [TRC_OP_WIN_CREATE] = {NULL, ipo_describe_create, ipo_finish_create},
    [TRC_OP_IO] = {NULL, ipo_describe_io, ipo_finish_io},
    [TRC_OP_IO_COLL] = {NULL, ipo_describe_io, ipo_finish_io},
    [TRC_OP_FILE_OPEN] = {NULL, ipo_describe_create, ipo_finish_create},
    [TRC_OP_PASS] = {NULL, NULL, NULL},
};
_Static_assert(sizeof ipo_classes / sizeof *ipo_classes == TRC_OP_PASS + 1, "a row each");
