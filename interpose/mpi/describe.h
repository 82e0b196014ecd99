/* From arguments to signatures: what describe*.c and completion.c share. */
#ifndef IPO_DESCRIBE_H
#define IPO_DESCRIBE_H

#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/handles.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/requests.h"

/* Bytes of one element of a datatype; TRC_BYTES_UNKNOWN if MPI does not tell. */
uint64_t ipo_type_size(struct ipo_thread *thread, uintptr_t datatype);

/* count x size of the first count and type argument with these roles. */
uint64_t ipo_bytes(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role count, enum ipo_role type);

/* Scalar count argument at a role, 32 or 64 bits wide as the call has it. */
uint64_t ipo_count(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role);
/* Element i of a count array. */
uint64_t ipo_count_at(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role, uint32_t i);

/* Source, tag and bytes of a message out of its status, in job terms. */
struct ipo_arrived {
    int32_t source, tag;
    uint64_t bytes;
    bool cancelled;
};
struct ipo_arrived ipo_arrived(const struct ipo_comm *comm, uintptr_t status, bool may_be_cancelled);

/* What arrived is just this; source and tag as MPI has them.  Where ipo_abi.count_at is known. */
static inline bool ipo_arrived_as(uintptr_t status, int source, int tag, uint64_t bytes)
{
    uint32_t words[2]; /* read one by one, as some MPIs store them */
    memcpy(&words[0], (const char *)status + ipo_abi.count_at, sizeof words[0]);
    memcpy(&words[1], (const char *)status + ipo_abi.count_at + sizeof words[0], sizeof words[1]);
    return ipo_status_source((const char *)status) == source && ipo_status_tag((const char *)status) == tag &&
           words[0] == bytes && !words[1];
}

/* The call was an unsuccessful poll: its signature says so, and it goes to a fold. */
void ipo_mark_poll(struct ipo_frame *frame);

/* What a request was started on; NULL: not known, or it was freed so long ago that its place is another's. */
static inline struct ipo_comm *ipo_request_comm(const struct ipo_request *request)
{
    return request->comm && request->comm->id == request->sig.comm ? request->comm : NULL;
}

/* A collective has failed: one that was refused at once gives its number back; where that is not known, the order on
 * its communicator is in doubt. */
void ipo_collective_failed(struct ipo_frame *frame);

/* Gives it its number among the collectives of frame->comm, once. */
void ipo_take_number(struct ipo_frame *frame);

/* The class of an error code; 0 unknown. */
int ipo_error_class(int error);

/* Makes sure the call gets a status we may read: the caller's, or one of ours in its place (single status, role S). */
void ipo_want_status(struct ipo_frame *frame, uintptr_t *args);

/* Address of the program's request variable: what it is in Fortran, where args point to a C copy. */
static inline uintptr_t ipo_request_variable(const struct ipo_thread *thread, uintptr_t array, uint32_t at)
{
    return thread->fortran ? thread->variable + at * sizeof(int) : array + at * ipo_abi.handle_bytes;
}

/* Element of an array of datatypes. */
static inline uintptr_t ipo_type_at(const struct ipo_thread *thread, uintptr_t array, uint32_t i)
{
    return thread->fortran ? ipo_handle_of(IPO_KIND_TYPE, ((const int *)array)[i]) : ipo_handle_load(array, i);
}

/* PMPI_Type_free, for whoever calls it: its handle may come back as that of another datatype.  (objects.c) */
int ipo_type_free_unseen(uintptr_t *datatype);

/* Remembers the request that a call with role q has started (after ipo_emit) and takes its start number. */
void ipo_started(struct ipo_frame *frame, const uintptr_t *args);

/* Statuses can be read: their layout is what the family's should be. */
extern IPO_OURS bool ipo_status_known;

/* Handles that a call makes or takes away, nested calls included: kept before, followed after it succeeded. */
void ipo_keep_handle(struct ipo_frame *frame, const uintptr_t *args);
void ipo_follow_handles(struct ipo_frame *frame, const uintptr_t *args);

/* What classes.c puts together: before and after the real call; p2p.c, collective.c, completion.c, objects.c. */
void ipo_describe_send(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_recv(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_sendrecv(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_probe(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_send(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_recv(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_isend(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_init(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_probe(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_collective(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_collective(struct ipo_frame *frame, const uintptr_t *args);
/* The thread's last call was left by a longjmp: what it had taken out of sight is there again. */
void ipo_completion_left(struct ipo_thread *thread);
void ipo_prepare_completion(struct ipo_frame *frame, uintptr_t *args);
void ipo_prepare_request(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_completion(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_completion(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_start(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_request(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_request(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_mprobe(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_mrecv(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_mrecv(struct ipo_frame *frame, const uintptr_t *args);
void ipo_finish_imrecv(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_create(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_create(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_comm(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_comm(struct ipo_frame *frame, const uintptr_t *args);
void ipo_describe_rma(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_rma_sync(struct ipo_frame *frame, uintptr_t *args);
void ipo_describe_io(struct ipo_frame *frame, uintptr_t *args);
void ipo_finish_io(struct ipo_frame *frame, const uintptr_t *args);

#endif
