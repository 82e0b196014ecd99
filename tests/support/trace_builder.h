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
#include "trace/format/opclass.h"
#include <stdbool.h>
#include <stddef.h>

/* The calls of a built file: TB_CALL(id, name, class). */
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
    TB_CALL(NCCL_REDUCESCATTER, "ncclReduceScatter", NCCL_COLL)                                                        \
    TB_CALL(OP_CREATE, "MPI_Op_create", OTHER)                                                                         \
    TB_CALL(CANCEL, "MPI_Cancel", REQUEST)                                                                             \
    TB_CALL(FILE_WRITE_AT, "MPI_File_write_at", IO)                                                                    \
    TB_CALL(FILE_READ_AT, "MPI_File_read_at", IO)                                                                      \
    TB_CALL(BSEND, "MPI_Bsend", SEND)                                                                                  \
    TB_CALL(IMRECV, "MPI_Imrecv", IMRECV)                                                                              \
    TB_CALL(ABORT, "MPI_Abort", ABORT)                                                                                 \
    TB_CALL(REQUEST_FREE, "MPI_Request_free", REQUEST)

enum tb_call {
#define TB_CALL(id, name, class) TB_##id,
    TB_CALLS(TB_CALL)
#undef TB_CALL
        TB_CALL_COUNT
};

/* Communicators that every built file defines; their identities are equal in all files. */
#define TB_WORLD          1u
#define TB_SELF           2u
#define TB_WORLD_IDENTITY 0x1001u

struct tb;

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* A builder of the file of one rank; free with tb_free. */
struct tb *tb_new(int32_t rank, int32_t world_size);

/* Gives builders made from now on these calls in place of TB_CALLS; NULL: TB_CALLS again.  Makes no copy. */
void tb_use_calls(const struct trc_call *calls, size_t n);

/* As tb_new, with chunks of another size (a power of two; if it is less than 64 KiB, there are no live pages).  After
 * `limit` chunks full EVENTS chunks are recycled. */
struct tb *tb_new_small(int32_t rank, int32_t world_size, uint32_t chunk_size, uint32_t limit);

/* As tb_new, but the file is made in this memory, which is all zero and belongs to the caller: a mapped file, so that
 * nothing has to be written.  Ends the program when it needs more than `room` bytes. */
struct tb *tb_new_in(int32_t rank, int32_t world_size, void *image, size_t room);

/* Frees a builder. */
void tb_free(struct tb *tb);

/* The head, which a test may change at any time before tb_write; it belongs to the builder. */
struct trc_head *tb_head(struct tb *tb);

/* Sets the clock of the file, before its first call: it was made at these ns of the host's CLOCK_MONOTONIC and
 * CLOCK_REALTIME; `ticks_per_ns` other than 1 makes it a TSC.  At first these are 1e9, 1.7e18 and 1. */
void tb_clock(struct tb *tb, uint64_t monotonic_ns, uint64_t realtime_ns, double ticks_per_ns);

/* The ticks of the file's clock at a time. */
uint64_t tb_ticks(const struct tb *tb, int64_t ns);

/* Makes the file one of a process that runs and was alive at `ns`. */
void tb_running(struct tb *tb, int64_t ns);

/* The bytes of the file as it is now; they belong to the builder and live until the next call. */
const uint8_t *tb_image(struct tb *tb, size_t *size);

/* Writes the file as it is now. */
void tb_write(struct tb *tb, const char *path);

/* ---- definitions ------------------------------------------------------------------------------------------------- */

/* Defines communicator `id`: `size` members with these world ranks; this process is member `rank`. */
void tb_comm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size);

/* Defines an intercommunicator: `members` has the local group, then the remote one. */
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

/* Defines a communicator between two worlds. */
void tb_between(struct tb *tb, uint32_t id, const struct tb_between *comm);

/* Names a communicator. */
void tb_comm_name(struct tb *tb, uint32_t id, const char *name);

/* Ends a communicator. */
void tb_comm_free(struct tb *tb, uint32_t id);

/* Puts the order of a communicator in doubt from collective `from` on. */
void tb_comm_doubt(struct tb *tb, uint32_t id, uint64_t from);

/* Defines a window on a communicator. */
void tb_win(struct tb *tb, uint32_t id, uint32_t comm);

/* Returns the id of a list of world ranks; the first request defines it. */
uint32_t tb_ranks(struct tb *tb, const int32_t *ranks, uint32_t n);

/* Defines the neighbours of a communicator, by lists of tb_ranks. */
void tb_neighbors(struct tb *tb, uint32_t comm, uint32_t sources, uint32_t destinations);

/* Defines a file opened on a communicator. */
void tb_file(struct tb *tb, uint32_t id, uint32_t comm, const char *name);

/* Defines a call site. */
void tb_site(struct tb *tb, uint64_t address, const char *function, const char *module);

/* Defines a call site in an unknown function behind the exported function of `near`, "f+0x12". */
void tb_site_near(struct tb *tb, uint64_t address, const char *module, const char *near);

/* Defines a call path of `n` sites, the innermost first. */
void tb_path(struct tb *tb, uint32_t id, const uint64_t *site, uint32_t n, enum trc_path_end end);

/* Adds a fact. */
void tb_fact(struct tb *tb, const char *key, const char *value);

/* Adds the stack of a thread, with text as in format.h ("python\tstep\ttrain.py\t63\n").  The last one of a snapshot
 * has TRC_STACK_CLOSING. */
void tb_stack(struct tb *tb, uint32_t snapshot, uint32_t tid, struct trc_def_stack stack, const char *text);
/* Adds the snapshot of a process whose main thread was ended by a signal. */
void tb_crash(struct tb *tb, int signal);

/* Adds any definition, also a damaged one. */
void tb_define(struct tb *tb, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b, const void *payload,
               size_t payload_size, size_t text_size);

/* Adds an operation to the table of device operations, with times in ns.  Its number is set here. */
void tb_gpu_op(struct tb *tb, struct trc_gpu_op op);

/* Adds what the kernel counted for these `n` owners from `begin` to `end`. */
void tb_usage(struct tb *tb, int64_t begin, int64_t end, const struct trc_usage *usage, size_t n);

/* ---- items, one by one ------------------------------------------------------------------------------------------ */

/* A signature of a call with no other field. */
struct trc_sig tb_sig(enum tb_call call);

/* More of an event: the place of a collective (COLL); the start number of the request that it completes (COMPLETE), as
 * a START of that thread returned it. */
struct tb_more {
    uint64_t sequence;
    uint32_t request_thread;
    uint64_t request; /* UINT64_MAX: unknown */
};

/* Adds an event; returns the start number of a START, else UINT64_MAX. */
uint64_t tb_event(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t begin, int64_t end,
                  struct tb_more more);

/* Adds a SUB item of the last event; the flag is added, and it returns as tb_event. */
uint64_t tb_sub(struct tb *tb, uint32_t thread, const struct trc_sig *sig, struct tb_more more);

/* Adds a FOLD of `count` polls. */
void tb_fold(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t begin, int64_t end, uint64_t count,
             int64_t busy);

/* Counts more polls into the last FOLD of the thread, in place. */
void tb_fold_more(struct tb *tb, uint32_t thread, int64_t end, uint64_t count, int64_t busy);

/* Adds a LOST record of `count` records. */
void tb_lost(struct tb *tb, uint32_t thread, uint64_t count);

/* Adds raw bytes as the next item. */
void tb_raw(struct tb *tb, uint32_t thread, const void *bytes, size_t size, uint32_t records);
/* Words of control round `round`, number `sequence` on the communicator; the FOLD follows. */
void tb_round(struct tb *tb, uint32_t thread, enum trc_round_kind kind, uint32_t comm, uint64_t sequence,
              uint64_t round, int64_t begin, int64_t end, const void *bytes, size_t size);

/* Lets the thread's next item begin a new chunk. */
void tb_next_chunk(struct tb *tb, uint32_t thread);

/* Recycles all events; counters and definitions stay. */
void tb_forget(struct tb *tb);

/* Makes the thread a stream of a GPU. */
void tb_device_stream(struct tb *tb, uint32_t thread, struct trc_device_stream of);

/* Puts the thread inside a call, since then. */
void tb_inside(struct tb *tb, uint32_t thread, const struct trc_sig *sig, int64_t since, uint64_t sequence);

/* Adds uses of a signature whose bytes and messages are not in the counters yet (trc_use.uses).  A call with
 * it has to have been made. */
void tb_uses(struct tb *tb, uint32_t thread, const struct trc_sig *sig, uint64_t uses);

/* Half of tb_uses: the process was killed meanwhile, and trc_undo has the values before. */
void tb_uses_torn(struct tb *tb, uint32_t thread, const struct trc_sig *sig, uint64_t uses);

/* An item of a region (of a definition TRC_DEF_REGION), `gap_ns` after the end of the thread's last call. */
void tb_region(struct tb *tb, uint32_t thread, enum trc_region_what what, uint32_t id, int64_t gap_ns);

/* ---- calls (trace_calls.c) -------------------------------------------------------------------------------------- */

/* Messages on MPI_COMM_WORLD. */

/* MPI_Send. */
void tb_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes);

/* MPI_Ssend. */
void tb_ssend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag, uint64_t bytes);

/* MPI_Recv. */
void tb_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag, uint64_t bytes);

/* MPI_Isend; returns the request. */
uint64_t tb_isend(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t peer, int32_t tag,
                  uint64_t bytes);

/* MPI_Irecv into `room` bytes; returns the request.  `source` and `tag` may be TRC_PEER_ANY and TRC_TAG_ANY. */
uint64_t tb_irecv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, int32_t source, int32_t tag,
                  uint64_t room);

/* MPI_Wait for a send. */
void tb_wait_send(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request);

/* MPI_Wait for a receive, which got this message. */
void tb_wait_recv(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint64_t request, int32_t source,
                  int32_t tag, uint64_t bytes);

/* A SUB item of the last event (MPI_Waitall ...): a send completed. */
void tb_completed_send(struct tb *tb, uint32_t thread, uint64_t request);

/* A SUB item of the last event: a receive completed, which got this message. */
void tb_completed_recv(struct tb *tb, uint32_t thread, uint64_t request, int32_t source, int32_t tag, uint64_t bytes);

/* Any collective.  `root` is a rank of the world, TRC_PEER_NONE: there is none. */
void tb_collective(struct tb *tb, uint32_t thread, enum tb_call call, int64_t begin, int64_t end, uint32_t comm,
                   uint64_t sequence, int32_t root, uint64_t sent, uint64_t received);

/* MPI_Barrier. */
void tb_barrier(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence);

/* Inside MPI_Recv from any rank with tag 9, as a thread that serves requests. */
void tb_listens(struct tb *tb, uint32_t thread, int64_t since);

/* MPI_Allreduce of `bytes` bytes. */
void tb_allreduce(struct tb *tb, uint32_t thread, int64_t begin, int64_t end, uint32_t comm, uint64_t sequence,
                  uint64_t bytes);

#endif
