/* One trace file, read.  Knows the format and one process; trusts nothing in the file.  The file is pread, never
 * mapped: somebody may truncate it under our eyes, and on a network file system a mapping would be stale. A file may be
 * finished, growing, truncated, torn or hostile: every offset and count is checked before use.  Damage is reported in
 * words; the undamaged rest is still delivered.  Not for the traced process. */
#pragma once

#include "trace/format/format.h"
#include "trace/format/opclass.h"
#include "trace/util/counts.h"
#include <stdbool.h>
#include <stddef.h>

struct trc_file; /* an open trace file; owned by the caller of trc_open, ended by trc_close */

enum trc_status { TRC_OK = 0, TRC_END = 1, TRC_BAD = -1 /* see the message */ };

/* Opens `path`.  The process's soft limit of open files is raised to the hard one when it is in the way; files beyond
 * that are opened again each time that they are read.  On TRC_BAD writes one line (what, where, what to do) to `error`.
 * *out is set only on TRC_OK. */
enum trc_status trc_open(const char *path, struct trc_file **out, char *error, size_t error_size);
/* Makes room for the descriptors of `files` files about to be opened by several threads, while the caller's thread is
 * the only one.  Later the kernel makes them wait for each other whenever the room grows. */
void trc_expect(size_t files);
/* Closes the file and frees it with all that it has handed out.  Close its cursors before. */
void trc_close(struct trc_file *file);

/* Reads again a file that may have grown: head, live pages, new chunks and definitions.  Returns true if anything
 * changed since the last call.  O(threads + new chunks). */
bool trc_refresh(struct trc_file *file);
/* The last sign of life before which everything has been read: head.latest of the last refresh; later only if a digest
 * of its node (trace/reader/digest.h) says that nothing came since. */
const struct trc_anchor *trc_complete(const struct trc_file *file);
/* Another number after each refresh: until then its cursors that had nothing more have nothing more. */
uint64_t trc_revision(const struct trc_file *file);
/* Completed calls that are progress, as a digest said since the last refresh; 0: count the rows. */
uint64_t trc_progress(const struct trc_file *file);
/* Whether, as a digest said since, messages or requests were begun or completed that only its events show. */
bool trc_behind(const struct trc_file *file);
/* Somebody looks at this rank: it is to be read at the next look, whatever digests say. */
void trc_want(struct trc_file *file);
/* Whether somebody does, since the last refresh. */
bool trc_wanted(const struct trc_file *file);

/* Marks a file as complete: nothing more will be written, whatever the head says: the process is gone, or the caller
 * will not look again.  Cursors then deliver the FOLDs that they hold back (trc_next). */
void trc_set_final(struct trc_file *file);

/* A copy of the head with all strings terminated and all numbers in range; valid until the next refresh. */
const struct trc_head *trc_head(const struct trc_file *file);
/* The path that it was opened by; lives as long as the file. */
const char *trc_path(const struct trc_file *file);
/* The bytes that the file had at the last look. */
uint64_t trc_size(const struct trc_file *file);

/* Damage found so far, one line each, NULL past the last.  Damage never ends reading of the undamaged rest. */
const char *trc_damage(const struct trc_file *file, size_t i);
/* Adds what another reader of the file has found. */
void trc_add_damage(struct trc_file *file, const char *line);
/* Whether the file is shorter than its head says. */
bool trc_truncated(const struct trc_file *file);
/* Whether somebody truncated or overwrote the file since it was opened.  Data read before stays; the rest is gone.
 */
bool trc_spoilt(const struct trc_file *file);
/* False when live pages that the file should have cannot be read: their zeros then say nothing. */
bool trc_counters_known(const struct trc_file *file);

/* Number of calls the file defines so far: a call is defined at its first use. */
size_t trc_calls(const struct trc_file *file);
/* The id of the i-th call, i < trc_calls(file). */
uint32_t trc_call_id(const struct trc_file *file, size_t i);
/* Whether a call of this id is defined. */
bool trc_call_known(const struct trc_file *file, uint32_t id);
/* The call of an id; never NULL: an id that is not defined gives {"unknown call", TRC_OP_OTHER}. */
const struct trc_call *trc_call(const struct trc_file *file, uint32_t id);

/* Number of threads.  Chunks and cursors call index i < trc_threads(file) `thread`. */
size_t trc_threads(const struct trc_file *file);
/* The live page of thread i as the last refresh saw it; all zero for a thread that has events but no live page.  Valid
 * until trc_close.  Its values may be read at slightly different times, since the writer does not stop. */
const struct trc_thread *trc_thread(const struct trc_file *file, size_t i);
/* Whether thread i is a stream of a GPU: its calls are kernels and copies, and in no total of the process. */
bool trc_is_stream(const struct trc_file *file, size_t i);
/* The device stream that thread i is; its number is 0 if it is none. */
const struct trc_device_stream *trc_device_stream(const struct trc_file *file, size_t i);
/* A row of a live page (struct trc_row); its histogram takes little room. */
struct trc_counter {
    uint16_t call_plus_1, size_class; /* call_plus_1: 0: it could not be read */
    uint64_t calls, ticks, min_ticks, max_ticks, sent, received;
    struct ana_counts histogram;
};
/* The counters of thread i by call and size: *n counters, valid until the next refresh.  Unreadable rows are all
 * zero. */
const struct trc_counter *trc_rows(const struct trc_file *file, size_t i, size_t *n);
/* The counters by partner, valid and zeroed as trc_rows. */
const struct trc_peer *trc_peers(const struct trc_file *file, size_t i, size_t *n);
/* The signature behind trc_thread.inside or .last (index + 1); NULL for 0, one that is not there, or where the file is
 * cut off before it.  Valid until the next refresh. */
const struct trc_sig *trc_live_sig(const struct trc_file *file, size_t i, uint32_t index_plus_1);
/* The call that thread i is in within the call that it is inside, in a callback of MPI; NULL: none. */
const struct trc_sig *trc_live_nested(const struct trc_file *file, size_t i);
/* Whether thread i has made control rounds of a background loop (TRC_SIG_CONTROL). */
bool trc_live_controls(const struct trc_file *file, size_t i);

/* Definitions. */
struct trc_object {
    uint32_t id;
    uint32_t comm;
    bool is_file;
    const char *name; /* files only, or NULL */
};
struct trc_comm {
    uint32_t id; /* within this file */
    struct trc_def_comm def;
    const int32_t *members;          /* def.members world ranks, or NULL (TRC_COMM_WORLD, TRC_COMM_ALL: 0..size-1) */
    const char *name;                /* name set by MPI_Comm_set_name, or NULL */
    const struct trc_object *object; /* the RMA window or file whose own this is; NULL: it is a communicator */
    uint64_t site;                   /* site of the creating call, for trc_path_of; 0: not known */
    uint64_t asked;                  /* ticks when the call that made it began; 0 unknown */
    bool in_doubt;                   /* TRC_DEF_DOUBT ... */
    uint64_t doubt_from;             /* first number in doubt */
    uint32_t sources, destinations;  /* TRC_DEF_NEIGHBORS; 0 unknown */
};
/* Whether collective `sequence` of the communicator may have another number on other ranks.  Then comparing numbers
 * proves nothing. */
static inline bool trc_order_in_doubt(const struct trc_comm *comm, uint64_t sequence)
{
    return comm && comm->in_doubt && sequence >= comm->doubt_from;
}
const struct trc_comm *trc_comm(const struct trc_file *file, uint32_t id); /* NULL if not defined */
bool trc_comm_freed(const struct trc_file *file, uint32_t id);             /* the process has given it up */
/* The i-th communicator that the file defines, and when it was defined, in ticks; NULL past the last. */
const struct trc_comm *trc_comm_at(const struct trc_file *file, size_t i, uint64_t *created);
/* World rank of rank `r` of the local group (remote group when `remote`); TRC_PEER_UNKNOWN if it is not known. */
int32_t trc_comm_world_rank(const struct trc_comm *comm, int32_t r, bool remote);
/* An RMA window or file by its id; NULL if it is not defined. */
const struct trc_object *trc_object(const struct trc_file *file, uint32_t id);
/* A list of world ranks (-1: of another world), of a group or of neighbours. */
struct trc_ranks {
    uint32_t n;
    int32_t rank[];
};
/* The list of this id; NULL: it is not defined. */
const struct trc_ranks *trc_ranks(const struct trc_file *file, uint32_t id);
/* Name of a kernel as the compiler mangled it; NULL if it is not defined. */
const char *trc_kernel(const struct trc_file *file, uint32_t id);
/* Name of a region of the program's own; NULL if it is not defined. */
const char *trc_region(const struct trc_file *file, uint32_t id);
/* Data of a message or collective (trc_sig.object): [0] sent, [1] received. */
struct trc_data {
    const char *signature[2]; /* signature of the datatype, see format.h; "" none, or not known */
    uint64_t size[2];         /* bytes of one element of it */
    enum trc_reduction operation;
};
/* The data with an id; NULL if it is not defined. */
const struct trc_data *trc_data(const struct trc_file *file, uint32_t id);
/* "MPI_SUM"; "an own operation".  Never NULL. */
const char *trc_reduction_name(enum trc_reduction operation);
/* Objects that the program had made at one place and not freed when it called MPI_Finalize. */
struct trc_left {
    const char *kind; /* "communicator"; never NULL */
    const struct trc_call *call;
    uint64_t site;
    uint32_t count;
};
/* The i-th kind of leftovers; NULL past the last. */
const struct trc_left *trc_left_at(const struct trc_file *file, size_t i);
/* An interval in which recording was switched off, in ticks. */
struct trc_off {
    uint64_t begin, end;
};
/* The i-th that is over; NULL past the last.  The head has the one under way, and how many there are. */
const struct trc_off *trc_off_at(const struct trc_file *file, size_t i);
/* Whether calls may be missing among the events that a file once had: they were lost or overwritten, made by threads
 * that were not kept, or while recording was switched off. */
static inline bool trc_misses_events(const struct trc_head *head)
{
    return head->lost_records || head->recycled_records || head->threads_not_kept || head->off_times || head->off_since;
}
/* The callers of a call, the innermost first. */
struct trc_path {
    uint32_t n;
    enum trc_path_end end; /* 0: not known */
    uint64_t site[TRC_PATH_MOST];
};
/* The path behind `site` of a signature that the reader has decoded; NULL: only the site is known.  Lives as long as
 * the file. */
const struct trc_path *trc_path_of(const struct trc_file *file, uint64_t site);
/* Index of the caller that a call is shown at: the innermost whose function does more than call MPI, outside libraries
 * of bindings (bindings.def); 0, the innermost, without such a caller or before one that has no name yet. */
uint32_t trc_path_place(const struct trc_file *file, const struct trc_path *path);
/* The return address into the code that calls MPI, or number of a line of Python. */
uint64_t trc_site_innermost(const struct trc_file *file, uint64_t site);
/* The return address, or number of a line of Python, that `site` of a decoded signature is shown at. */
uint64_t trc_site_address(const struct trc_file *file, uint64_t site);
/* Names of `site` of a decoded signature, or of one of a path; either may be NULL (not resolved).  A function without
 * a name is "near f+0x12 in libx.so", by the last exported function before it; C++ functions of several files whose
 * names are equal have arguments.  Live until the next refresh.  Any thread. */
void trc_site(const struct trc_file *file, uint64_t site, const char **function, const char **module);

/* The i-th fact about the process, in order of keys; false past the last.  Key and value live until the next refresh.
 */
bool trc_fact_at(const struct trc_file *file, size_t i, const char **key, const char **value);
/* The value of a fact by its key; NULL if there is none.  Valid until the next refresh. */
const char *trc_fact(const struct trc_file *file, const char *key);
/* Number of facts ever read, replaced ones included: rises whenever a fact changes. */
uint64_t trc_facts_seen(const struct trc_file *file);

/* The head of the process's table of device operations (format_gpu.h): a copy of the last refresh, numbers in range.
 * NULL: it has no table. */
const struct trc_gpu_head *trc_gpu(const struct trc_file *file);
/* Number of operations in the table; slots that changed hands during reading are left out. */
size_t trc_gpu_ops(const struct trc_file *file);
/* Operation i < trc_gpu_ops(file), in the order of their numbers.  Valid until the next refresh. */
const struct trc_gpu_op *trc_gpu_op(const struct trc_file *file, size_t i);
/* Whether the operation is over, or nobody will ever know when it is. */
static inline bool trc_gpu_over(const struct trc_gpu_op *op)
{
    return op->state >= TRC_GPU_COMPLETED || (op->flags & TRC_GPU_BLIND && op->state == TRC_GPU_ENQUEUED);
}
/* The name of its state: "called", "enqueued" ...  Never NULL. */
const char *trc_gpu_state_name(const struct trc_gpu_op *op);
/* The name of its data type: "float32"; "another type" where this version knows none.  NULL: it has no type. */
const char *trc_gpu_type_name(const struct trc_gpu_op *op);
/* The name of its reduction: "sum"; "an own reduction" where this version knows no name.  NULL: it has no reduction. */
const char *trc_gpu_op_name(const struct trc_gpu_op *op);
const char *trc_gpu_result_name(int result); /* "ncclSystemError"; "an unknown error" */

/* A stack that was taken.  Stacks come in order of snapshots, then as they were written; trace/stacks/stacks.h parses
 * them. */
struct trc_stack {
    uint32_t snapshot, tid; /* tid 0: the closing record */
    uint64_t ticks, request_ns;
    struct trc_def_stack def;
    const char *text; /* text, see format.h; control characters other than tab and newline replaced */
};
/* Number of stacks. */
size_t trc_stacks(const struct trc_file *file);
/* Stack i; NULL past the last.  Valid until the next refresh. */
const struct trc_stack *trc_stack(const struct trc_file *file, size_t i);

/* Ticks to nanoseconds of this host's CLOCK_MONOTONIC, by the two anchors.  Where only one is there yet (a TSC, before
 * the first heartbeat) a tick is taken for a nanosecond. */
int64_t trc_ticks_to_ns(const struct trc_file *file, uint64_t ticks);
/* The length of a tick in ns, as far as it is known now. */
double trc_ns_per_tick(const struct trc_file *file);

/* Chunks of events in writing order of each thread, for callers that start in the middle. */
struct trc_chunk_info {
    uint16_t thread;
    uint64_t sequence;
    uint64_t first_ticks, last_ticks;
    uint32_t committed, records;
    uint64_t lost;
};
/* Number of chunks of events now. */
size_t trc_event_chunks(const struct trc_file *file);
/* Chunk i < trc_event_chunks(file) as the last refresh saw it. */
struct trc_chunk_info trc_event_chunk(const struct trc_file *file, size_t i);

/* Items of one thread in order.  The last three are of regions: one begins, ends, is open where a chunk begins. */
enum trc_record_kind {
    TRC_RECORD_EVENT,
    TRC_RECORD_FOLD,
    TRC_RECORD_LOST,
    TRC_RECORD_ROUND,
    TRC_RECORD_BEGIN,
    TRC_RECORD_END,
    TRC_RECORD_OPEN
};
/* Whether it is of a region (format_items.h). */
static inline bool trc_is_region(enum trc_record_kind kind)
{
    return kind >= TRC_RECORD_BEGIN;
}
/* Contents of a control round (format.h, ROUND). */
struct trc_words {
    uint32_t kind; /* enum trc_round_kind, or one of a later version */
    uint32_t comm; /* trc_comm id */
    uint64_t round;
    uint64_t size; /* bytes that were said */
    size_t kept;   /* bytes kept at `bytes`; until the next trc_next on this cursor */
    const uint8_t *bytes;
};
/* Room for what a cursor's user looks up once for a signature and needs with each of its events.  Zero when the
 * signature is met first, and again in each chunk. */
struct trc_note {
    _Alignas(uint64_t) unsigned char room[112];
};
/* A signature of the chunk that a cursor is in. */
struct trc_signature {
    struct trc_sig sig;
    struct trc_note note;
    uint64_t sequence; /* the cursor's: of its last event */
    uint8_t way;       /* cursor's: the decoding way */
    bool wanted;       /* the user may unset it: from then on trc_next_brief leaves its usual events out */
};
struct trc_record {
    enum trc_record_kind kind;
    uint32_t request_thread;   /* START, COMPLETE: thread whose start number follows */
    const struct trc_sig *sig; /* valid until the next trc_next on this cursor; NULL but for EVENT and FOLD */
    uint64_t count;            /* FOLD: polls; LOST: records; OPEN: regions open, itself included; else 1 */
    uint64_t sequence;         /* COLL, ROUND; of a region: its id */
    uint64_t request;          /* START, COMPLETE: start number; UINT64_MAX unknown */
    struct trc_signature *of;  /* fields of sig, as long as sig; EVENT and FOLD only */
    uint64_t begin, end;       /* ticks; a SUB item has its event's ticks */
    uint64_t busy;             /* FOLD: ticks inside the polls; else end - begin */
    struct trc_words said;     /* ROUND */
};
struct trc_cursor; /* belongs to the file: close before trc_close */

/* A cursor over thread `thread` (its index), at its oldest kept item; NULL only when out of memory. */
struct trc_cursor *trc_cursor_open(struct trc_file *file, size_t thread);
/* Frees a cursor; NULL is none. */
void trc_cursor_close(struct trc_cursor *cursor);
/* Makes the cursor deliver ROUND items, which it steps over otherwise.  They come before the FOLD of their round. */
void trc_cursor_want_rounds(struct trc_cursor *cursor);
/* Makes the cursor deliver regions, which it steps over otherwise. */
void trc_cursor_want_regions(struct trc_cursor *cursor);
/* Makes all signatures that the cursor has met in its chunk wanted (trc_signature). */
void trc_cursor_want_all(struct trc_cursor *cursor);
/* Moves to the first chunk that holds anything at or after `ticks`. */
void trc_cursor_seek(struct trc_cursor *cursor, uint64_t ticks);
/* Reads the next item.  Items come as they were written: ends rise, but for the FOLDs of one row, which overlap; a
 * NESTED event comes before the event that it lies in; SUB items follow theirs.
 * TRC_OK: *out is the next item.  TRC_END: nothing more now; after trc_refresh there may be, and the cursor goes on
 * where it is.  Nothing is delivered twice: FOLDs that stand last in an open chunk of a running process still grow, so
 * they are held back until something follows them, the process's state changes, or trc_set_final.  A chunk that does
 * not decode is reported as damage and left at its last good item; a chunk recycled under the reader's feet yields a
 * RECORD_LOST with the number of items missed if it is known (else count 0). */
enum trc_status trc_next(struct trc_cursor *cursor, struct trc_record *out);
/* A record in brief: without what most have not, or all of a signature share. */
struct trc_brief {
    uint8_t kind; /* enum trc_record_kind */
    bool joined;  /* it is a SUB item, and the item before it is its event, or another SUB item of that */
    uint16_t request_thread;
    struct trc_signature *of;
    uint64_t sequence, request;
    uint64_t begin, end;
    uint64_t room[2]; /* for what its user makes of it: anything */
};
_Static_assert(TRC_MAX_THREADS <= UINT16_MAX, "a thread's number has room");
/* Reads the next items, at least one and at most `max` > 0, and returns their number; 0 for TRC_END.  An item of
 * another kind than EVENT comes alone: *other is the whole of it. *left_out grows by the number left out
 * (trc_signature).  Pointers in them are valid until the next call on this cursor. */
size_t trc_next_brief(struct trc_cursor *cursor, struct trc_brief *out, size_t max, struct trc_record *other,
                      uint64_t *left_out);
