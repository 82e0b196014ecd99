/* The trace file: one for each process of the job, mapped by the recorder, readable at any moment.
 *
 *   0            head.chunks_offset
 *   +------------+-------+---------------+-----------+--
 *   | head       | chunk | chunk         | chunk     | ...
 *   +------------+-------+---------------+-----------+--
 *
 * Everything is little-endian, fixed width, naturally aligned.  Times are ticks of head.clock_source; two anchors in
 * the head turn them into nanoseconds of CLOCK_MONOTONIC and CLOCK_REALTIME.
 *
 * chunk    A run of blocks of head.block_size bytes each, one chunk behind the other.  It begins with a trc_chunk that
 *          tells its kind, its own health, and which blocks it has; the blocks of a chunk never change.  The first
 *          chunks of each kind are small, later ones larger, so that a process that does little has a small file.
 *          Space is allocated before head.blocks_allocated counts it, so nobody who touches a counted block can meet
 *          SIGBUS. A block that begins no chunk belongs to one that was just handed out, or whose writer was killed
 *          then: readers step over it.
 *
 *   THREAD chunk    the live page of one thread: a trc_page (what it is inside, since when), and entries: counters
 *                   that never stop (trc_row by call and size class, trc_peer by partner) and the signatures that the
 *                   thread uses (trc_use).  An entry is added when it is needed, and never moves.
 *                   A stream of a GPU is a thread, too (trc_device_stream): its calls are the kernels and copies that
 *                   ran on it, on the GPU's time.  They are in no total of the process.
 *
 *   PAGE chunk      more entries of a live page; trc_chunk.committed bytes, as in the THREAD chunk.
 *
 *   DEFS chunk      definitions that outlive recycling: slots of 64 bytes, each trc_def spanning one or more.  A slot
 *                   whose type is 0 is not (yet) written: step over it.
 *
 *   EVENTS chunk    items of one thread, decodable alone: signatures are defined anew in each chunk.
 *
 *   GPU chunk       where each NCCL operation is: the table of trace/format/format_gpu.h.  One at most.
 *
 *   USAGE chunk     what the kernel counts for threads, process and node: items of trace/format/format_usage.h,
 *                   trc_chunk.committed bytes in all.  Old chunks are overwritten like EVENTS chunks.
 *
 *   STACKS chunk    stacks taken for one reason (trc_chunk.thread = enum trc_stack_reason): slots as in a DEFS chunk,
 *                   TRC_DEF_STACK only.  There are at most two for each reason: when both are full the older is begun
 *                   anew, or gives way to a larger one, so the newest stacks of each reason stay and their space is
 *                   bounded.
 *
 * An item begins with a varint (LEB128):
 *
 *   0               nothing here yet (the rest of the chunk is zero or was never committed)
 *   1  SIG          varint n, then n bytes: varints in the order of TRC_SIG_FIELDS (s = zigzag).
 *                   It becomes signature 0, 1, 2 ... of this chunk.
 *   2  FOLD         varint signature, varint gap, u64 count, u64 busy, u64 span: `count` unsuccessful polls, or
 *                   CONTROL rounds (see 4), that began `gap` after the time base, took `busy` ticks together, and
 *                   ended `span` after the first began.
 *                   The three u64 are rewritten in place while the polling goes on.  Several FOLDs in a row share one
 *                   time base; after them it is the latest end among them (those with NESTED signatures left out).
 *                   SIG, LIKE and DONE items do not end the row, every other item does; from then on its FOLDs stay
 *                   as they are.
 *   3  LOST         varint count: records that could not be kept at this place
 *   4  ROUND        varint n, then n bytes: varints kind (enum trc_round_kind), communicator, sequence number on it,
 *                   round, gap (begin - time base), duration, size; then what was said, as many of the `size`
 *                   bytes as are kept.  It stands before the FOLD of a control round (Horovod's negotiation) and
 *                   holds for every later FOLD of the same kind of call on the same communicator, until the next
 *                   ROUND of these.  Not counted in trc_chunk.records
 *   5  REGION       varint n, then n bytes: a region of the program's own begins or ends (format_items.h).  It does not
 *                   move the time base.  Not counted in trc_chunk.records
 *   6  LIKE         varint n, then n bytes: varint i, varint mask, then varints as in SIG, one for each bit of the
 *                   mask: the signature i before this one in the chunk, with other values in these fields, lowest bit
 *                   first.  A `received` without a bit that was equal to `sent` is equal to it again.  It becomes the
 *                   chunk's next signature, like a SIG
 *   7  DONE         varint 0: the chunk's next signature is the one under which requests of the signature before it
 *                   complete as they were posted (trc_done_flags)
 *   8+i             event of signature i; what follows depends on that signature's flags, in this order:
 *                     unless SUB:  varint gap (begin - time base), varint duration.  Then the time base becomes the
 *                                  end of this event, unless the signature is NESTED.
 *                     if COLL:     varint: sequence number on its communicator less the one of the previous event of
 *                                  the same signature in this chunk (the first is absolute)
 *                     if COMPLETE: varint v.  v even: the request is v/2 starts back on this thread (0 = the last one).
 *                                  v odd: it belongs to thread (v-1)/2 of this process, and a varint with its absolute
 *                                  start number follows; if that thread is this one (v = 2 * own + 1), the start is
 *                                  unknown and no number follows.
 *
 * No gap, duration or span is negative: a clock that steps back is clamped by the writer; times past 2^64 are damage.
 * The time base at the start of a chunk is trc_chunk.first_ticks.  SUB items (a completed or a started request) belong
 * to the last event before them that was not SUB, and happen at its end (START: at its begin).  Those at the start of a
 * chunk continue the thread's previous chunk; where that is gone they happen at first_ticks.
 * Each START item takes the thread's next start number; the first in a chunk has trc_chunk.first_start.  A signature
 * has at most one of START and COMPLETE. */
#pragma once

#include "trace/format/format_data.h"
#include "trace/format/format_gpu.h"
#include "trace/format/format_items.h"
#include "trace/format/format_sig.h"
#include "trace/format/format_usage.h"
#include <stdint.h>

#define TRC_MAGIC       "hpctop\r\n" /* 8 bytes; \r\n shows a transfer in text mode */
#define TRC_VERSION     9u           /* rises with each change of the format; readers refuse all others */
#define TRC_BYTE_ORDER  0x01020304u
#define TRC_HEAD_SIZE   4096u
#define TRC_BLOCK       4096u
#define TRC_CHUNK_MOST  64u         /* blocks of a chunk, at most */
#define TRC_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
#define TRC_MAX_THREADS 256u        /* THREAD chunks in one file; further threads are counted, not recorded */

enum trc_clock_source { TRC_CLOCK_TSC = 1, TRC_CLOCK_MONOTONIC = 2 };

/* Last known state of the process.  A reader decides by pid and heartbeat whether RUNNING is still true. */
enum trc_state {
    TRC_STATE_STARTING = 1, /* file made, MPI_Init not returned yet */
    TRC_STATE_RUNNING = 2,
    TRC_STATE_FINALIZED = 3, /* MPI_Finalize returned */
    TRC_STATE_ABORTED = 4,   /* MPI_Abort was called: head.abort_code */
    TRC_STATE_STOPPED = 5    /* nothing more comes: what a reader takes a state for that it does not know */
};

enum trc_abi { TRC_ABI_UNKNOWN = 0, TRC_ABI_OPENMPI = 1, TRC_ABI_MPICH = 2, TRC_ABI_STANDARD = 3 };

enum trc_head_flag {
    TRC_HEAD_SPAWNED = 1u << 0,        /* started by MPI_Comm_spawn: its world is not the first one */
    TRC_HEAD_WRITE_BACK = 1u << 1,     /* not a local file system: readers must pread, not map */
    TRC_HEAD_STATUS_UNKNOWN = 1u << 2, /* the status layout did not check out: no sources, no received bytes */
    TRC_HEAD_EXITED = 1u << 3,    /* exit() ran before MPI_Finalize had returned; says nothing where it is not set */
    TRC_HEAD_NO_SESSION = 1u << 4 /* RUNNING, but all sessions of MPI have ended; the process may begin another */
};

/* Linux namespaces, by the names they have in /proc/PID/ns (namespaces(7)). */
#define TRC_NAMESPACE_LIST(NAMESPACE)                                                                                  \
    NAMESPACE(mnt)                                                                                                     \
    NAMESPACE(uts) NAMESPACE(ipc) NAMESPACE(net) NAMESPACE(pid) NAMESPACE(user) NAMESPACE(cgroup) NAMESPACE(time)
enum trc_namespace {
#define NAMESPACE(name) TRC_NAMESPACE_##name,
    TRC_NAMESPACE_LIST(NAMESPACE)
#undef NAMESPACE
        TRC_NAMESPACES
};
/* The number that the namespace of the first process has since Linux 3.8 (PROC_PID_INIT_INO). */
#define TRC_FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* One instant on three clocks; error = ticks between the reads around it. */
struct trc_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t error_ticks;
};

/* Ways in which the process noted its own end; all zero if it could not, as when it was killed. */
enum trc_end_by {
    TRC_END_UNSEEN,
    TRC_END_SIGNAL,   /* a signal whose action is to end it */
    TRC_END_EXIT,     /* exit() */
    TRC_END_RETURN,   /* exit() by an unseen caller: as a rule main returned */
    TRC_END_EXIT_NOW, /* _exit() or _Exit() */
    TRC_END_QUICK     /* quick_exit() */
};
#define TRC_END_WAYS 6u
struct trc_end {
    uint64_t ticks;         /* time of the end; `by` 0: as hpctop record saw it */
    uint32_t by;            /* enum trc_end_by; written last */
    int32_t signal;         /* number of the signal; of an exit: in the program's handler of this signal */
    int32_t code;           /* given to exit and the like; after MPI_Finalize stored only if it is not 0 */
    uint32_t sender;        /* pid of the process that sent the signal, as this one sees pids; 0: the kernel did */
    uint64_t watched;       /* signals whose coming it would have noted: a bit each, SIGHUP the lowest */
    uint64_t memory_before; /* processes of this host that the kernel had killed for memory: when recording began, */
    uint64_t memory_kills;  /* ... and the count when a signal ended this one */
    char sender_name[16];   /* name of the sender; empty: unknown */
    char message[128];      /* libc's with SIGABRT, as of a failed assert; or the MPI library's, whose error ends it */
};

struct trc_head {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t block_size;
    uint32_t block_limit; /* blocks allowed by HPCTOP_LIMIT */
    uint64_t chunks_offset;
    uint32_t blocks_allocated; /* grows; space exists for each counted block */
    uint32_t blocks_used;      /* handed out at least once (may run ahead of blocks_allocated: clamp) */

    uint32_t clock_source; /* enum trc_clock_source */
    uint32_t state;        /* enum trc_state */
    int32_t rank;          /* rank in MPI_COMM_WORLD; -1 while unknown */
    int32_t world_size;    /* -1 while unknown */
    uint32_t pid;
    uint32_t flags;       /* enum trc_head_flag */
    uint32_t abi;         /* enum trc_abi */
    int32_t thread_level; /* 0..3 for SINGLE..MULTIPLE, -1 unknown */
    int32_t abort_code;
    int32_t error_errno;
    uint64_t pid_start; /* field 22 of /proc/PID/stat: tells a process from a later one with its pid */

    struct trc_anchor start;  /* taken when the file was made */
    struct trc_anchor latest; /* the heartbeat's last; valid when latest_version is even and equal before and after */
    uint64_t latest_version;
    uint64_t init_ticks; /* MPI_Init returned */
    uint64_t end_ticks;  /* MPI_Finalize, MPI_Abort or the last MPI_Session_finalize entered; 0 while running */
    uint64_t heartbeats;

    uint64_t lost_records;     /* could not be kept: no space, no thread slot */
    uint64_t recycled_chunks;  /* EVENTS chunks overwritten because of the limit */
    uint64_t recycled_records; /* records in them */
    uint64_t unknown_requests; /* completed, but their start was not seen or not kept */
    uint64_t inline_growths;   /* times that a recording thread allocated blocks because none were ready */
    uint64_t call_cost_q10;    /* cost of recording one call, ticks x 1024, measured in this process at start */
    uint64_t slow_ticks;       /* spent outside the usual path: growth, communicator definitions */
    uint64_t patched_slots;    /* GOT slots that lead to wrappers of calls that are not exported */
    uint64_t threads;          /* THREAD chunks that were begun */
    uint64_t threads_not_kept; /* threads beyond TRC_MAX_THREADS */
    uint64_t world_identity;   /* identity of this MPI_COMM_WORLD: equal on its ranks, differs between spawned worlds */

    char host[64];
    char boot_id[40]; /* id of the boot; with host: tells which ranks share a clock */
    char job[64]; /* id of this run, equal on its ranks: the launcher's, or the batch system's if that starts them */
    char exe[256];
    char command[512];
    char mpi[256];       /* library version text, first line */
    char container[128]; /* image of the container, as its runtime names it; may be empty in one */
    char error[128];     /* reason why tracing stopped, in words; empty if it did not */
    char batch[48];      /* id in the batch system; empty where it has not reached this rank, or there is none */
    char runtime[16];    /* runtime of the container, "apptainer" for one; empty: in none that shows */
    uint64_t namespaces[TRC_NAMESPACES]; /* inode numbers below /proc/PID/ns, by enum trc_namespace; 0 unknown */
    struct trc_end end;
    /* MPI_Pcontrol switches recording off and on (HPCTOP_PCONTROL).  Calls made meanwhile are in no event and no
     * counter; a LOST item stands where a thread's events have the gap. */
    uint64_t off_since; /* ticks; 0: recording is on */
    uint64_t off_ticks; /* length of all intervals that are over, */
    uint64_t off_times; /* ... and their number */
};

enum trc_chunk_kind {
    TRC_CHUNK_FREE = 0,
    TRC_CHUNK_THREAD = 1,
    TRC_CHUNK_DEFS = 2,
    TRC_CHUNK_EVENTS = 3,
    TRC_CHUNK_STACKS = 4,
    TRC_CHUNK_GPU = 5,
    TRC_CHUNK_USAGE = 6,
    TRC_CHUNK_PAGE = 7
};
enum trc_chunk_state { TRC_CHUNK_UNUSED = 0, TRC_CHUNK_OPEN = 1, TRC_CHUNK_FULL = 2 };

struct trc_chunk {
    uint32_t magic; /* written last when a chunk is (re)opened; 0 while it is being reset */
    uint8_t kind;   /* enum trc_chunk_kind */
    uint8_t state;  /* enum trc_chunk_state */
    uint16_t thread;
    uint64_t sequence; /* rises over the file: order of chunks of one thread */
    uint64_t first_ticks;
    uint64_t last_ticks;
    uint32_t committed; /* bytes of items behind this head; stored with release after each item */
    uint32_t records;   /* items other than SIG, LIKE and DONE */
    uint64_t lost;      /* records of this thread lost before this chunk */
    uint64_t first_start;
    uint64_t earlier; /* records of this thread in its chunks before this one: shows a reader what it missed */
    uint32_t block;   /* first block, counted from chunks_offset; this and the next are stored once */
    uint32_t blocks;  /* number of blocks; 0: not handed out yet */
};

/* Entries of each kind that a live page has at most. */
#define TRC_ROWS    156u
#define TRC_PEERS   512u
#define TRC_SIGS    1024u
#define TRC_BUCKETS 256u /* trc_bucket() of trace/format/histogram.h, of ticks */

/* Kind of an entry of a live page; its first word.  0: nothing yet.  Stored last. */
enum trc_entry { TRC_ENTRY_USE = 1, TRC_ENTRY_ROW = 2, TRC_ENTRY_PEER = 3 };

/* Counters of one call in one size class (0: no bytes, k: 2^(k-1) .. 2^k - 1 of max(sent, received)). */
struct trc_row {
    uint16_t entry;
    uint16_t number;      /* 1, 2, 3 .. within the page */
    uint16_t call_plus_1; /* never 0 */
    uint16_t size_class;
    uint64_t calls;
    uint64_t ticks;
    uint64_t min_ticks;
    uint64_t max_ticks;
    uint64_t sent;
    uint64_t received;
    uint32_t
        histogram[TRC_BUCKETS]; /* all are halved when one is full: `calls` over their sum is what each stands for */
};

/* Point-to-point messages with one partner, a rank of MPI_COMM_WORLD. */
struct trc_peer {
    uint16_t entry;
    uint16_t number;      /* 1, 2, 3 .. within the page */
    uint32_t rank_plus_1; /* never 0 */
    uint64_t sent_messages;
    uint64_t sent_bytes;
    uint64_t received_messages;
    uint64_t received_bytes;
};

/* A signature that the thread uses, and how often it was used.  Bytes and messages are not counted one by one:
 * bytes(signature) x uses belong to its row, its peers and the thread's totals (trace/format/uses.h).  Readers add
 * them; the writer adds them before a number is full.  Another signature may take the place of one that was not used
 * for long. */
struct trc_use {
    uint16_t entry;
    uint16_t index;        /* number less 1 by which `inside` and `last` name it */
    uint16_t row, out, in; /* numbers of its counters; 0: none */
    uint16_t reserved[3];
    uint32_t uses;
    uint32_t arrivals; /* messages that came as posted, of a signature that starts a receive */
    struct trc_sig sig;
};

/* Stream that owns the page, if one does: tid, inside and last are 0 then. */
struct trc_device_stream {
    uint32_t number;                  /* number in this file, from 1 on; 0: a thread of the host */
    uint32_t device, context, stream; /* CUPTI's numbers of them */
};

/* The live page of a thread.  One writer, no lock: a reader may see a value from just before or just after. */
struct trc_thread {
    uint32_t tid; /* Linux thread id; 0: its thread has ended and nobody reuses the page yet */
    uint16_t index;
    uint8_t late_row;         /* number of a row that has one call more in its bucket `late_bucket` than it says; */
    uint8_t late_bucket;      /* ... 0: none has */
    uint32_t inside;          /* signature index + 1; 0: not in a call */
    uint32_t last;            /* signature index + 1 of the last completed call */
    uint64_t inside_since;    /* ticks */
    uint64_t inside_sequence; /* number of a collective on its communicator */
    uint64_t last_end;
    uint64_t calls; /* completed, polls included */
    uint64_t mpi_ticks;
    uint64_t sent; /* bytes; this and the next three: without the amounts that trc_use.uses still holds */
    uint64_t received;
    uint64_t sent_messages; /* point to point */
    uint64_t received_messages;
    uint64_t starts;            /* requests started */
    uint64_t completes;         /* requests completed */
    uint64_t row_overflow : 48; /* calls counted in the thread's totals only: no row was free; readers work it out */
    uint64_t nested : 16;       /* signature index + 1 of a call that a callback makes inside `inside`; 0: none */
    uint64_t peer_overflow;     /* messages whose partner had no trc_peer */
    char name[16];
};

/* An exchange: a signature gives its place in the page to another one. Its bytes and messages are added to the
 * counters, then its entry is overwritten. `settled` says how far the writer is: it rises by one with each step, and
 * by two if there is nothing to add. A copy of the page is consistent if `settled` was the same before and after it. If
 * `settled` is in the step TRC_SETTLE_ADD, the words below, which have the values from before, replace the counters;
 * also for a process that was killed there. */
enum trc_settle { TRC_SETTLE_NONE, TRC_SETTLE_ADD, TRC_SETTLE_REPLACE, TRC_SETTLE_STEPS };
struct trc_undo {
    uint32_t index_plus_1; /* the signature */
    uint16_t row, out, in; /* numbers of its counters; 0: none */
    uint16_t reserved[3];
    uint32_t uses, arrivals;          /* of it */
    uint64_t row_sent, row_received;  /* counters of the row */
    uint64_t out_messages, out_bytes; /* counters of peer `out`, sent */
    uint64_t in_messages, in_bytes;   /* counters of peer `in`, received */
    uint64_t sent, received;          /* thread */
    uint64_t sent_messages, received_messages;
    uint64_t peer_overflow;
    uint64_t settled; /* steps so far; modulo TRC_SETTLE_STEPS: enum trc_settle */
};

/* The begin of a THREAD chunk; entries follow. */
struct trc_page {
    struct trc_chunk chunk;
    struct trc_thread thread;
    struct trc_undo undo;
    struct trc_device_stream of;
    uint32_t pieces;        /* PAGE chunks that belong to it */
    uint32_t short_of_rows; /* 1: a call had no row left, so it is in the thread's totals only */
};

/* Definitions.  `slots` is stored first and `type` last, both with release: a reader steps over a slot without a type
 * by its `slots`, or by one where that is 0 too, and looks at it again later. */
enum trc_def_type {
    TRC_DEF_COMM = 1, /* communicator `id`: trc_def_comm, then `members` x int32 world ranks (local group, then remote);
                         a, b: path of the call that made it, and ticks when that began; 0 unknown */
    TRC_DEF_WIN = 2,  /* window `id` on communicator a */
    TRC_DEF_FILE = 3, /* file `id` on communicator a; text = its name */
    TRC_DEF_SITE = 4, /* call site b: text = "function+0xoffset" or empty, NUL, "module+0xoffset"; where the function is
                         unknown: NUL, "function+0xoffset" of the last exported function that begins before it */
                      /* a: TRC_SITE_FORWARDS */
    TRC_DEF_NAME = 5, /* communicator `id` was named: text */
    TRC_DEF_FREE = 6, /* communicator `id` was freed */
    TRC_DEF_FACT = 7, /* text = key, NUL, value: a fact about the process; a later one of the same key replaces it */
    TRC_DEF_STACK = 8,  /* thread a in snapshot `id`: trc_def_stack, then text; b: see there */
    TRC_DEF_KERNEL = 9, /* kernel `id`: text = its name, as the compiler mangled it */
    TRC_DEF_DOUBT = 10, /* communicator `id`: collectives from number b on may be numbered otherwise than on other
                           ranks; b = 0: its identity may be another there, too.  The lowest b holds */
    TRC_DEF_DATA = 11,  /* format_data.h: what messages and collectives move, `id` */
    TRC_DEF_LEFT = 12,  /* `id` objects, made by call a at site b, were not freed by MPI_Finalize; text = their kind */
    TRC_DEF_RANKS = 13, /* list of ranks `id`: a x int32 world ranks (-1 = not in this world) */
    TRC_DEF_NEIGHBORS = 14, /* communicator `id`, a topology: TRC_DEF_RANKS that this rank gets from (a) and
                              sends to (b) in neighbourhood collectives, without MPI_PROC_NULL */
    TRC_DEF_REGION = 15,    /* region `id`: text = the name that the program gives it */
    TRC_DEF_CALL = 16,  /* call `id`: a = enum trc_opclass; text = its name.  It stands before whatever refers to it */
    TRC_DEF_PATH = 17,  /* call path `id`: a x uint64_t sites, the innermost first, each named by a TRC_DEF_SITE;
                          b: enum trc_path_end */
    TRC_DEF_OFF = 18,   /* recording was off from ticks b to the definition's own; `id`: 1, 2 .. TRC_OFF_MOST: later
                          intervals are in the head only */
    TRC_DEF_MODULE = 19 /* `id` (1, 2 .. TRC_MODULES_MOST): a file mapped from address b to before a uint64_t; text: its
                           path, empty for the program.  The last at an address holds, for sites without a name */
};
#define TRC_OFF_MOST      1024u
#define TRC_MODULES_MOST  256u
#define TRC_SITE_SHIFT    56u /* bits of a site's number from here on: libraries before that had its address */
#define TRC_SITE_FORWARDS 1u  /* the site lies in a function that does nothing but call MPI */

/* Ends of a call path.  A path of HPCTOP_DEPTH sites that could go on is LIMITED. */
enum trc_path_end {
    TRC_PATH_WHOLE = 1,   /* last site lies in the first function of the thread */
    TRC_PATH_LIMITED = 2, /* more callers exist: the depth is reached */
    TRC_PATH_LOST = 3     /* more callers exist, and could not be found */
};
#define TRC_PATH_MOST 8u /* sites of a path, at most */

struct trc_def {
    uint32_t type;  /* enum trc_def_type; 0: not written */
    uint16_t slots; /* number of 64-byte slots, this one included */
    uint16_t text_bytes;
    uint32_t id;
    uint32_t a;
    uint64_t b;
    uint64_t ticks;
    /* 32 bytes; the payload follows */
};

enum trc_comm_flag {
    TRC_COMM_INTER = 1u,
    TRC_COMM_WORLD = 2u, /* MPI_COMM_WORLD itself: its members are 0 .. size-1 and are not listed */
    TRC_COMM_SELF = 4u,
    TRC_COMM_FOREIGN = 8u, /* has members of another world */
    TRC_COMM_ALL = 16u     /* not MPI_COMM_WORLD, but the same members in the same order; they are not listed */
};

struct trc_def_comm {
    uint64_t identity; /* equal on all its ranks, differs between communicators */
    uint64_t parent;   /* identity of the one it came from; 0 = none */
    int32_t rank;      /* rank of this process in it */
    int32_t size;      /* local group */
    int32_t remote_size;
    uint32_t flags;   /* enum trc_comm_flag */
    uint32_t members; /* world ranks that follow (-1 = not in this world); none with TRC_COMM_WORLD or TRC_COMM_ALL */
    uint32_t created_by; /* call */
};

/* Stacks.  A snapshot is taken of all threads of the process at nearly the same time; it is a TRC_DEF_STACK for each
 * thread, then one with TRC_STACK_CLOSING (thread 0), without which it is not complete.  The text is lines, fields
 * separated by tabs, innermost frame first:
 *
 *   name    name of the thread
 *   on      its wait or activity, by procfs: "read() on /data/shard-17", "futex", "running"
 *   python  function, file, line       frames of its Python stack
 *   native  function+0xoffset or ?, module+0xoffset or an address
 *   why     (of the closing one) why the snapshot was taken, in words */
enum trc_stack_reason { TRC_STACK_HANG = 1, TRC_STACK_DEMAND = 2, TRC_STACK_FATAL = 3, TRC_STACK_EXIT = 4 };
#define TRC_STACK_REASONS 5u
enum trc_stack_flag {
    TRC_STACK_MAIN = 1u << 0,      /* the process's first thread */
    TRC_STACK_CLOSING = 1u << 1,   /* no thread: the snapshot is complete */
    TRC_STACK_CRASHED = 1u << 2,   /* the thread that got the fatal signal, or called exit (EXIT: only this one) */
    TRC_STACK_RUNNING = 1u << 3,   /* it ran: native frames are known inside and above a recorded call only */
    TRC_STACK_SHORT = 1u << 4,     /* the walk ended before the thread's first frame */
    TRC_STACK_IN_CALL = 1u << 5,   /* frames inside the MPI library are left out: they begin at the recorded call */
    TRC_STACK_GIL = 1u << 6,       /* it held Python's GIL */
    TRC_STACK_GUESSED = 1u << 7,   /* a frame was found by looking for return addresses: others may be missing */
    TRC_STACK_OVERFLOW = 1u << 8,  /* the signal came because the stack was full */
    TRC_STACK_IN_HANDLER = 1u << 9 /* the thread was in a handler for another signal */
};

struct trc_def_stack {
    uint8_t reason; /* enum trc_stack_reason */
    char state;     /* letter of /proc/PID/stat: R running, S sleeping, D in the kernel, T stopped, Z; '?' unknown */
    uint16_t flags; /* enum trc_stack_flag */
    int32_t signal; /* FATAL: its number; others: number of the handled signal, if the process caused it */
    int32_t call;   /* number of the system call it is in; -1 none or unknown */
    uint32_t count; /* closing: threads of the process; there may be fewer stacks */
    /* trc_def.b of the closing one: modification time of the request in ns of CLOCK_REALTIME (DEMAND), else 0 */
};
#define TRC_STACK_TEXT 16384u /* bytes of text of one thread, at most */

#define TRC_DEF_SLOT 64u

_Static_assert(sizeof(struct trc_anchor) == 32, "anchor");
_Static_assert(sizeof(struct trc_head) <= TRC_HEAD_SIZE, "the head is one page");
_Static_assert(sizeof(struct trc_chunk) == 72, "chunk head");
_Static_assert(sizeof(struct trc_row) == 56 + 4 * TRC_BUCKETS, "row");
_Static_assert(sizeof(struct trc_peer) == 40, "peer");
_Static_assert(sizeof(struct trc_use) == 88, "use");
_Static_assert(TRC_ROWS < 1u << 8 && TRC_BUCKETS == 1u << 8 && TRC_MAX_THREADS <= 1u << 16,
               "trc_thread.late_row, late_bucket, index");
_Static_assert(sizeof(struct trc_page) % 8 == 0 && sizeof(struct trc_row) % 8 == 0, "entries are aligned");
_Static_assert(sizeof(struct trc_chunk) + sizeof(struct trc_gpu_head) + TRC_GPU_OPS * sizeof(struct trc_gpu_op) <=
                   TRC_CHUNK_MOST * TRC_BLOCK,
               "the operations are one chunk");
_Static_assert(sizeof(struct trc_def) == 32 && sizeof(struct trc_def_comm) == 40 && sizeof(struct trc_def_stack) == 16,
               "definitions");
