/* Signatures made from arguments: the helpers that the files of the classes of calls share.  All functions run on the
 * record path of the thread that makes the call. */
#pragma once

#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/datatypes.h"
#include "interpose/mpi/handles.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/requests.h"

/* Bytes of one element of a datatype, 0 if it is not known; notes that the call moves it (`role`: the argument's). */
uint64_t ipo_moves(const struct ipo_frame *frame, enum ipo_role role, uintptr_t datatype);

/* Bytes of the data that a count and a datatype argument describe; 0 where the size is not known. */
uint64_t ipo_bytes(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role count, enum ipo_role type);

/* A count argument, 32 or 64 bits wide as the call has it; 0 if it is negative or absent. */
uint64_t ipo_count(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role);
/* Element `i` of an array of counts; 0 if it is negative or absent. */
uint64_t ipo_count_at(const struct ipo_call *call, const uintptr_t *args, enum ipo_role role, uint32_t i);

/* Message as a status tells it: world rank or enum trc_peer_value, tag, bytes. */
struct ipo_arrived {
    int32_t source, tag;
    uint64_t bytes;
    bool cancelled;
};
/* Reads a status.  `may_be_cancelled`: asks MPI whether the request was cancelled. */
struct ipo_arrived ipo_arrived(const struct ipo_comm *comm, uintptr_t status, bool may_be_cancelled);

/* Whether a status has exactly this source, tag and byte count; source and tag as MPI has them.  Only where
 * ipo_abi.count_at is known. */
static inline bool ipo_arrived_as(uintptr_t status, int source, int tag, uint64_t bytes)
{
    uint32_t words[2]; /* read one by one, as some MPIs store them */
    memcpy(&words[0], (const char *)status + ipo_abi.count_at, sizeof words[0]);
    memcpy(&words[1], (const char *)status + ipo_abi.count_at + sizeof words[0], sizeof words[1]);
    return ipo_status_source((const char *)status) == source && ipo_status_tag((const char *)status) == tag &&
           words[0] == bytes && !words[1];
}

/* Marks the call as a poll that found nothing: it is counted into a fold in place of an event. */
void ipo_mark_poll(struct ipo_frame *frame);

/* The communicator that a request was started on; NULL: not known, or freed so long ago that its memory was used
 * again. */
static inline struct ipo_comm *ipo_request_comm(const struct ipo_request *request)
{
    return request->comm && request->comm->id == request->sig.comm ? request->comm : NULL;
}

/* Handles a collective that failed.  If MPI refused its arguments, it gives its number back; else the order of
 * collectives on its communicator is in doubt from here on. */
void ipo_collective_failed(struct ipo_frame *frame);

/* Assigns the call its number among the collectives of frame->comm; once a call. */
void ipo_assign_number(struct ipo_frame *frame);

/* The class of an MPI error code; 0: not known. */
int ipo_error_class(int error);

/* Sees to it that the call fills a status that can be read: where the caller ignores it, one of the thread's own
 * replaces the argument (ROLE_STATUS_OUT). */
void ipo_want_status(struct ipo_frame *frame, uintptr_t *args);

/* Returns the number of requests that a call of the Wait, Test or Start family is given. */
static inline uint32_t ipo_count_of_requests(const struct ipo_call *call, const uintptr_t *args)
{
    if (ipo_has(call, ROLE_REQUEST_INOUT))
        return 1;
    int n = ipo_has(call, ROLE_REQUESTS_INOUT) ? (int)ipo_arg(call, args, ROLE_LENGTH) : 0;
    return n > 0 ? (uint32_t)n : 0;
}

/* Returns the address of its request, or of its array of requests. */
static inline uintptr_t ipo_requests_of(const struct ipo_call *call, const uintptr_t *args)
{
    return ipo_arg(call, args, ipo_has(call, ROLE_REQUEST_INOUT) ? ROLE_REQUEST_INOUT : ROLE_REQUESTS_INOUT);
}

/* Address of the program's request variable number `at`; in a call from Fortran, where args point to C copies, the
 * program's own. */
static inline uintptr_t ipo_request_variable(const struct ipo_thread *thread, uintptr_t array, uint32_t at)
{
    return thread->fortran ? thread->variable + at * sizeof(int) : array + at * ipo_abi.handle_bytes;
}

/* Element `i` of an array of datatypes, as a C handle. */
static inline uintptr_t ipo_type_at(const struct ipo_thread *thread, uintptr_t array, uint32_t i)
{
    return thread->fortran ? ipo_handle_of(IPO_KIND_TYPE, ((const int *)array)[i]) : ipo_handle_load(array, i);
}

/* Calls PMPI_Type_free and makes cached signatures stale: MPI may give the handle to another datatype.  Returns MPI's
 * result. */
int ipo_type_free_unseen(uintptr_t *datatype);

/* Notes the request that a call with ROLE_REQUEST_OUT has started, with the next start number of the thread.  After
 * ipo_emit. */
void ipo_started(struct ipo_frame *frame, const uintptr_t *args);

/* Whether statuses can be read: their layout was checked (mpi/start.c). */
extern IPO_OURS bool ipo_status_known;

/* Before a call that frees an object: keeps its handle, which the call overwrites.  Nested calls, too. */
void ipo_save_handle(struct ipo_frame *frame, const uintptr_t *args);
/* Learns the objects that a successful call made, and forgets the objects that it freed.  Nested calls, too. */
void ipo_follow_handles(struct ipo_frame *frame, const uintptr_t *args);

/* ---- Entries of the table in classes.c, by call ----------------------------------------------------------------- */

/* Work before the call: ipo_prepare_x stores the values that it overwrites; ipo_describe_x fills frame->sig from the
 * arguments. */
typedef void ipo_before_call(struct ipo_frame *frame, uintptr_t *args);
/* After it: ipo_finish_x completes the record from the results. */
typedef void ipo_after_call(struct ipo_frame *frame, const uintptr_t *args);

/* Point to point: source, tag and bytes are the message's; what does not block notes its request, what makes a
 * persistent one also what each start will move; probes that claim a message note it as a posted receive, and receives
 * of a claimed message find the claim. */
ipo_before_call ipo_describe_send, ipo_describe_recv, ipo_describe_sendrecv, ipo_describe_probe, ipo_describe_mrecv;
ipo_after_call ipo_finish_send, ipo_finish_recv, ipo_finish_isend, ipo_finish_init, ipo_finish_start, ipo_finish_probe,
    ipo_finish_mprobe, ipo_finish_mrecv, ipo_finish_imrecv;
/* Wait and Test: keeps the handles, sees to statuses, takes partner and tag of a single request from its start, and
 * counts the completed ones. */
ipo_before_call ipo_prepare_completion, ipo_describe_completion;
ipo_after_call ipo_finish_completion;
/* Cancel, Request_free and generalized requests: keeps the handle, and writes what the request comes to. */
ipo_before_call ipo_prepare_request, ipo_describe_request;
ipo_after_call ipo_finish_request;
/* Collectives: communicator, root, bytes, number; the request of one that does not block. */
ipo_before_call ipo_describe_collective;
ipo_after_call ipo_finish_collective;
/* Calls that make and free objects, and local calls on a communicator: learns and forgets objects and names. */
ipo_before_call ipo_describe_create, ipo_describe_comm;
ipo_after_call ipo_finish_create, ipo_finish_comm;
/* One-sided operations and synchronization; files, whose status says how many bytes were moved. */
ipo_before_call ipo_describe_rma, ipo_describe_rma_sync, ipo_describe_io;
ipo_after_call ipo_finish_io;

/* Puts requests back into the table that a Wait or Test had claimed when a longjmp left it. */
void ipo_completion_left(struct ipo_thread *thread);
/* Writes and counts the completions of a Wait or Test that found something, after its event. */
void ipo_complete_requests(struct ipo_frame *frame, const uintptr_t *args);
/* Returns how many requests of a Wait or Test have completed; *indices: their indices, NULL: every request has. */
uint32_t ipo_count_completed(const struct ipo_frame *frame, const uintptr_t *args, const int **indices);
/* Whether a Test that succeeded found nothing. */
bool ipo_found_nothing(const struct ipo_call *call, const uintptr_t *args);
