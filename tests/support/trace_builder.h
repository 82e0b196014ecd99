/* Makes trace files by C calls, for the tests of the reader and of the analysis: one builder is one rank's file.
 *
 *     struct tb *tb = tb_new(0, 2);                         rank 0 of 2
 *     tb_send(tb, 0, 1000, 2000, 1, 7, 4096);               thread 0, from 1000 to 2000 ns: 4096 bytes to rank 1, tag 7
 *     uint64_t r = tb_irecv(tb, 0, 2500, 2600, 1, 8, 100);
 *     tb_wait_recv(tb, 0, 2700, 9000, r, 1, 8, 100);
 *     tb_allreduce(tb, 0, 9500, 9900, TB_WORLD, 1, 8);      first collective on MPI_COMM_WORLD
 *     tb_write(tb, "dir/0.hpctop");
 *     tb_free(tb);
 *
 * Times are nanoseconds since the file was made; give them in the order in which the calls of a thread end.  Live
 * pages, counters and definitions are kept as the recorder keeps them.  The file is finished (MPI_Finalize returned)
 * unless tb_head says otherwise; tb_write again after more calls, and the file has grown as a live one does. Errors (no
 * memory, no file) end the program: these are tests.  Uses nothing of the reader. */
#ifndef TRACE_BUILDER_H
#define TRACE_BUILDER_H

#include "trace/format/format.h"
#include "trace/format/schema.h"
#include <stdbool.h>
#include <stddef.h>

/* The calls that a built file's schema has: TB_CALL(id, name, class). */
#define TB_CALLS(TB_CALL)                                                                                              \
    TB_CALL(INIT, "MPI_Init", INIT)                                                                                    \
    TB_CALL(FINALIZE, "MPI_Finalize", FINALIZE)                                                                        \
    TB_CALL(COMM_RANK, "MPI_Comm_rank", COMM)                                                                          \
    TB_CALL(SEND, "MPI_Send", SEND)                                                                                    \
    TB_CALL(SSEND, "MPI_Ssend", SSEND)                                                                                 \
    TB_CALL(RECV, "MPI_Recv", RECV)                                                                                    \
    TB_CALL(SENDRECV, "MPI_Sendrecv", SENDRECV)                                                                        \
    TB_CALL(ISEND, "MPI_Isend", ISEND)                                                                                 \
    TB_CALL(ISSEND, "MPI_Issend", ISSEND)                                                                              \
    TB_CALL(IRECV, "MPI_Irecv", IRECV)                                                                                 \
    TB_CALL(SEND_INIT, "MPI_Send_init", SEND_INIT)                                                                     \
    TB_CALL(RECV_INIT, "MPI_Recv_init", RECV_INIT)                                                                     \
    TB_CALL(START, "MPI_Start", START)                                                                                 \
    TB_CALL(STARTALL, "MPI_Startall", START)                                                                           \
    TB_CALL(WAIT, "MPI_Wait", WAIT)                                                                                    \
    TB_CALL(WAITALL, "MPI_Waitall", WAIT)                                                                              \
    TB_CALL(TEST, "MPI_Test", TEST)                                                                                    \
    TB_CALL(PROBE, "MPI_Probe", PROBE)                                                                                 \
    TB_CALL(IPROBE, "MPI_Iprobe", PROBE)                                                                               \
    TB_CALL(MPROBE, "MPI_Mprobe", MPROBE)                                                                              \
    TB_CALL(MRECV, "MPI_Mrecv", MRECV)                                                                                 \
    TB_CALL(BARRIER, "MPI_Barrier", BARRIER)                                                                           \
    TB_CALL(BCAST, "MPI_Bcast", BCAST)                                                                                 \
    TB_CALL(SCATTER, "MPI_Scatter", SCATTER)                                                                           \
    TB_CALL(GATHER, "MPI_Gather", GATHER)                                                                              \
    TB_CALL(REDUCE, "MPI_Reduce", REDUCE)                                                                              \
    TB_CALL(ALLREDUCE, "MPI_Allreduce", ALLREDUCE)                                                                     \
    TB_CALL(IALLREDUCE, "MPI_Iallreduce", ALLREDUCE)                                                                   \
    TB_CALL(ALLTOALL, "MPI_Alltoall", ALLTOALL)                                                                        \
    TB_CALL(SCAN, "MPI_Scan", SCAN)                                                                                    \
    TB_CALL(COMM_DUP, "MPI_Comm_dup", COMM_CREATE)                                                                     \
    TB_CALL(COMM_SPAWN, "MPI_Comm_spawn", SPAWN)                                                                       \
    TB_CALL(COMM_ACCEPT, "MPI_Comm_accept", SPAWN)                                                                     \
    TB_CALL(COMM_CONNECT, "MPI_Comm_connect", SPAWN)                                                                   \
    TB_CALL(INTERCOMM_MERGE, "MPI_Intercomm_merge", COMM_CREATE)                                                       \
    TB_CALL(PUT, "MPI_Put", RMA)                                                                                       \
    TB_CALL(WIN_FENCE, "MPI_Win_fence", RMA_FENCE)                                                                     \
    TB_CALL(FILE_WRITE, "MPI_File_write", IO)                                                                          \
    TB_CALL(NCCL_INIT, "ncclCommInitRank", NCCL_INIT)                                                                  \
    TB_CALL(NCCL_ALLREDUCE, "ncclAllReduce", NCCL_COLL)                                                                \
    TB_CALL(NCCL_BROADCAST, "ncclBroadcast", NCCL_COLL)                                                                \
    TB_CALL(NCCL_SEND, "ncclSend", NCCL_P2P)                                                                           \
    TB_CALL(NCCL_RECV, "ncclRecv", NCCL_P2P)                                                                           \
    TB_CALL(NCCL_ASYNC, "ncclCommGetAsyncError", NCCL_COMM)                                                            \
    TB_CALL(KERNEL, "kernel", KERNEL)                                                                                  \
    TB_CALL(COPY, "memcpy_HtoD", COPY)                                                                                 \
    TB_CALL(COPY_BACK, "memcpy_DtoH", COPY)                                                                            \
    TB_CALL(NCCL_ALLGATHER, "ncclAllGather", NCCL_COLL)                                                                \
    TB_CALL(NCCL_REDUCESCATTER, "ncclReduceScatter", NCCL_COLL)

enum tb_call {
#define TB_CALL(id, name, class) TB_##id,
    TB_CALLS(TB_CALL)
#undef TB_CALL
        TB_CALL_COUNT
};

/* Communicators that every built file defines; their identities are equal in all of them. */
#define TB_WORLD          1u
#define TB_SELF           2u
#define TB_WORLD_IDENTITY 0x1001u

struct tb;

/* ---- the file ---------------------------------------------------------------------------------------------------- */

struct tb *tb_new(int32_t rank, int32_t world_size);
/* Files made from now on have these calls instead of TB_CALLS; NULL: TB_CALLS again.  Not copied. */
void tb_use_calls(const struct trc_schema_call *calls, size_t n);

/* With chunks of another size (power of two; too small for a live page: there is none) and at most `limit` of them,
 * after which full EVENTS chunks are recycled. */
struct tb *tb_new_small(int32_t rank, int32_t world_size, uint32_t chunk_size, uint32_t limit);
void tb_free(struct tb *tb);

/* The head, to be changed as the test likes, any time before tb_write. */
struct trc_head *tb_head(struct tb *tb);

/* The file's clock; before the first call.  It was made at these nanoseconds of the host's CLOCK_MONOTONIC and
 * CLOCK_REALTIME; `ticks_per_ns` other than 1 makes it a TSC.  As made: 1e9, 1.7e18 and 1. */
void tb_clock(struct tb *tb, uint64_t monotonic_ns, uint64_t realtime_ns, double ticks_per_ns);
uint64_t tb_ticks(const struct tb *tb, int64_t ns);

/* Not finished, and alive at `ns`: state RUNNING, no end. */
void tb_running(struct tb *tb, int64_t ns);

/* The bytes of the file as they would be written now; owned by the builder, until the next call. */
const uint8_t *tb_image(struct tb *tb, size_t *size);
void tb_write(struct tb *tb, const char *path);

/* ---- definitions ------------------------------------------------------------------------------------------------- */

/* Communicator `id` of `size` members with these world ranks. */
void tb_comm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size);
/* An intercommunicator: members of the local group, then of the remote one. */
void tb_intercomm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size,
                  int32_t remote_size);
/* A communicator between two worlds, made by `call` (TB_CALL_COUNT: met, not made) out of `parent` at `ns`: this
 * world's members are its ranks 0 .. here - 1.  Of an intercommunicator they are the local group, and the remote one
 * has `beyond`; of an intracommunicator they come first or, `last`, last.  The call began at `asked`, 0: unknown. */
struct tb_between {
    uint64_t identity, parent;
    enum tb_call call;
    int64_t ns;
    int32_t rank, here, beyond;
    bool inter, last;
    int64_t asked;
};
void tb_between(struct tb *tb, uint32_t id, const struct tb_between *comm);
void tb_comm_name(struct tb *tb, uint32_t id, const char *name);
void tb_comm_free(struct tb *tb, uint32_t id);
void tb_comm_doubt(struct tb *tb, uint32_t id, uint64_t from);
void tb_win(struct tb *tb, uint32_t id, uint32_t comm);
void tb_file(struct tb *tb, uint32_t id, uint32_t comm, const char *name);
void tb_site(struct tb *tb, uint64_t address, const char *function, const char *module);
void tb_fact(struct tb *tb, const char *key, const char *value);
/* One thread's stack, text as format.h says ("python\tstep\ttrain.py\t63\n"); a snapshot ends with one that has
 * TRC_STACK_CLOSING. */
void tb_stack(struct tb *tb, uint32_t snapshot, uint32_t tid, struct trc_def_stack stack, const char *text);
/* Any definition; for damaged ones. */
void tb_define(struct tb *tb, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b, const void *payload,
               size_t payload_size, size_t text_size);

/* An operation in the table of device operations; its times in ns like all others here.  Its number is set. */
void tb_gpu_op(struct tb *tb, struct trc_gpu_op op);

/* ---- items, one by one ---------------------------------------------------------------------------------------------
 */

/* A signature of a call with nothing else in it. */
struct trc_sig tb_sig(enum tb_call call);

/* An event.  `sequence` counts with COLL; `request` with COMPLETE: the start number as returned by a START event of
 * this thread or, `request_thread` being another one, of that.  Returns the start number of a START, else UINT64_MAX.
 */
struct tb_more {
    uint64_t sequence;
    uint32_t request_thread;
    uint64_t request; /* UINT64_MAX: unknown */
};
uint64_t tb_event(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t begin, int64_t end,
                  struct tb_more more);
/* A SUB item (the flag is added) of the event before. */
uint64_t tb_sub(struct tb *tb, uint32_t thread, const struct trc_sig *sig, struct tb_more more);
/* A FOLD of `count` polls; tb_fold_more counts more into the last one of the thread, in place. */
void tb_fold(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t begin, int64_t end, uint64_t count,
             int64_t busy);
void tb_fold_more(struct tb *tb, uint32_t thread, int64_t end, uint64_t count, int64_t busy);
void tb_lost(struct tb *tb, uint32_t thread, uint64_t count);
/* Raw bytes as the next item. */
void tb_raw(struct tb *tb, uint32_t thread, const void *bytes, size_t size, uint32_t records);
/* What was said in control round `round`, which was number `sequence` on the communicator; the FOLD follows. */
void tb_said(struct tb *tb, uint32_t thread, enum trc_said_kind kind, uint32_t comm, uint64_t sequence, uint64_t round,
             int64_t begin, int64_t end, const void *bytes, size_t size);
/* The thread's next item begins a new chunk; the present one is full. */
void tb_next_chunk(struct tb *tb, uint32_t thread);
/* All events that are there are recycled; counters and definitions stay. */
void tb_forget(struct tb *tb);
/* The thread is a stream of a GPU. */
void tb_device_stream(struct tb *tb, uint32_t thread, struct trc_device_stream of);
/* The thread is inside this call now. */
void tb_inside(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t since, uint64_t sequence);

/* `uses` more uses of a signature whose bytes and messages are still to be added to the counters
 * (trc_thread_chunk.uses); a call of it was made before, so that it has its row and its partners. */
void tb_uses(struct tb *tb, uint32_t thread, const struct trc_sig *sig, uint64_t uses);
/* The same, and the process was killed while it added them: half of it is done, and trc_undo says what was before. */
void tb_uses_torn(struct tb *tb, uint32_t thread, const struct trc_sig *sig, uint64_t uses);

/* ---- calls (trace_calls.c) -----------------------------------------------------------------------------------------
 */

/* Point to point on MPI_COMM_WORLD. */
void tb_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes);
void tb_ssend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes);
void tb_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag, uint64_t bytes);
/* They return the request, for the tb_wait functions. */
uint64_t tb_isend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag,
                  uint64_t bytes);
/* `source` and `tag` may be TRC_PEER_ANY and TRC_TAG_ANY; `room` bytes. */
uint64_t tb_irecv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag,
                  uint64_t room);
/* MPI_Wait for one request; what came is given outright. */
void tb_wait_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request);
void tb_wait_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request, int32_t source,
                  int32_t tag, uint64_t bytes);
/* SUB items for an event made with tb_event (MPI_Waitall ...): a send, a receive that completed. */
void tb_completed_send(struct tb *tb, uint32_t thread, uint64_t request);
void tb_completed_recv(struct tb *tb, uint32_t thread, uint64_t request, int32_t source, int32_t tag, uint64_t bytes);

/* Any collective; root in world ranks, TRC_PEER_NONE for none. */
void tb_collective(struct tb *tb, uint32_t thread, enum tb_call call, int64_t begin, int64_t end, uint32_t comm,
                   uint64_t sequence, int32_t root, uint64_t sent, uint64_t received);
void tb_barrier(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence);
void tb_allreduce(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence,
                  uint64_t bytes);

#endif
