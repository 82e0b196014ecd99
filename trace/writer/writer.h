/* Writes one trace file.  Runs inside the traced process, so:
 *   trc_stream_* and the inline functions   record path: no lock, no allocation, no stdio, no system call
 *   trc_writer_*                            set-up, heartbeat and slow path: system calls, never malloc or stdio
 * Errors never reach the program: they stand in the file's head, and what could not be kept is counted there. */
#pragma once

#include "trace/format/encode.h"
#include "trace/format/format.h"
#include "trace/format/histogram.h"
#include "trace/format/opclass.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TRC_WRITER_CALLS 1024u /* ids of calls that can be defined are below */

/* Threads that may allocate blocks: any; our own alone; our own alone, on a file system that may stall, so that a
 * chunk is handed out only when its pages are there. */
enum trc_apart { TRC_SHARED, TRC_APART, TRC_APART_PAGES };

/* The process's file.  Zero-initialised static storage; one for each process. */
struct trc_writer {
    int fd;
    uint64_t device, inode; /* file's identity: the program may close `fd` and have its number for a file of its own */
    char *base;             /* begin of the mapping: the head, then blocks_most blocks of address space */
    size_t size;            /* of it */
    struct trc_head *head;
    char *chunks;
    /* The head has these numbers, too, but others may overwrite it: it is never read back. */
    atomic_uint allocated, limit;  /* blocks */
    atomic_uint next_block;        /* the first one never handed out */
    _Atomic uint8_t *chunk_blocks; /* for each block: how many the chunk has that begins there; 0: none does */
    atomic_uint recycle;           /* position from which the search for the oldest full chunk goes on */
    _Atomic uint64_t sequence;
    atomic_uint threads; /* live pages handed out */
    atomic_uint growing; /* threads that are allocating; room.c */
    _Atomic uint64_t
        defs; /* current DEFS chunk's first block + 1 in the high half, bytes handed out of it in the low */
    atomic_uint defs_blocks;      /* taken for definitions so far */
    const struct trc_call *calls; /* calls, each defined at its first use; NULL: none */
    size_t call_count;
    _Atomic uint32_t named[TRC_WRITER_CALLS / 32];      /* a bit for each that is defined, */
    _Atomic uint32_t unnamed[TRC_WRITER_CALLS / 32];    /* a bit for each that once had no room */
    struct trc_stream *_Atomic stream[TRC_MAX_THREADS]; /* streams of threads; NULL: none, or one of a GPU */
    uint64_t (*ticks)(void);
    unsigned blocks_most;  /* most blocks that the limit allows; `limit` goes down when space does */
    atomic_uint populated; /* blocks up to here have their pages */
    bool no_populate;      /* kernel cannot populate pages */
    bool guarded;          /* trc_writer_fault is called for faults of this process */
    atomic_int apart;      /* enum trc_apart */
    atomic_bool writes;    /* it allocates by writing */
    atomic_uint asked;     /* rises when our own thread is to wake: the word of its futex */
    atomic_uint low;       /* it is woken when fewer blocks are ready; 0: it was */
    uint64_t second_began; /* for the rate at which blocks are handed out: our own thread's */
    unsigned second_from, second_took;
    _Atomic uint64_t off_since; /* ticks since when recording is off; 0: it is on */
    atomic_bool trimmed;
    atomic_int stopped;      /* nothing is recorded any more: an errno */
    _Atomic(uintptr_t) gone; /* address from which there is no file behind the mapping; 0: there is all of it */
    struct trc_head kept;    /* the head as it was: where the file was cut before it, it is written anew */
    bool had_name;
};

/* The stream's data about a signature beyond the file: the place of its counters and its number in the current
 * chunk. */
struct trc_sig_state {
    uint32_t epoch;   /* stream.epoch when it was defined in the chunk; other: not defined in this one */
    uint32_t local;   /* number in the chunk */
    uint32_t item;    /* trc_item_word of that */
    uint32_t version; /* rises when the index comes to mean another signature */
    uint32_t completed_as, completed_version; /* index of the signature under which its requests complete; 0: unknown */
    uint32_t done_item;  /* trc_item_word of the signature under which its requests complete as they were posted */
    uint32_t out, in;    /* indices into trc_stream.peer, + 1; 0: none */
    struct trc_row *row; /* never NULL for a signature that is there */
    uint64_t last_sequence;
    struct trc_use *use; /* place in the live page; NULL: this index was never used */
};
_Static_assert(sizeof(struct trc_sig_state) == 64, "an index is a shift away");

#define TRC_OPEN_FOLDS 8u
struct trc_fold {
    uint32_t index;    /* signature */
    unsigned char *at; /* the three u64 in the chunk */
    uint64_t count, busy, begin;
};

#define TRC_ROW_PLACES  256u
#define TRC_PEER_PLACES 1024u

/* One thread's stream.  Written by that thread only. */
struct trc_stream {
    struct trc_writer *writer;
    struct trc_page *page;
    struct trc_chunk *chunk;  /* EVENTS; NULL: none could be had */
    unsigned char *at, *stop; /* the next item; where none may begin any more: both NULL without a chunk */
    unsigned char *kept_stop; /* `stop` as it was before the stream was switched off */
    uint64_t base;            /* time base, see format.h */
    uint32_t *late;           /* bucket of the last call, not counted yet: trc_thread.late_row, or overflow_row's */
    uint64_t fold_base;       /* time base of the open folds */
    uint64_t lost;
    uint64_t earlier; /* records in chunks that are full */
    uint64_t aged;    /* calls that were counted when histograms were looked through last */
    uint32_t epoch;
    uint32_t local_sigs;
    uint32_t folds;
    uint32_t in_row; /* the last item is a FOLD: the next one shares its time base, fold_base, even if none is open */
    bool off;        /* switched off (switch.h): it has no room, and nothing is counted */
    struct trc_fold fold[TRC_OPEN_FOLDS];
    const struct trc_regions *regions; /* regions that the thread is in; NULL: not known */
    uint32_t chunk_blocks;             /* size of the next EVENTS chunk */
    /* The live page: where its next entry goes, and where those are that it has. */
    struct trc_chunk *piece;
    unsigned char *entry_at, *entry_stop;
    uint32_t rows_used, peers_used;
    uint32_t variants;                      /* number of variants that got an index */
    struct trc_row *row[TRC_ROW_PLACES];    /* indexed by a hash of call and size class */
    struct trc_peer *peer[TRC_PEER_PLACES]; /* by rank */
    struct trc_row overflow_row;            /* private: counts that no row could take */
    struct trc_sig_state state[TRC_SIGS];
    struct trc_use spare[TRC_SIGS]; /* private: used where the page has no room for more */
};

/* Makes the file at `path` and maps it.  `limit` is in bytes; less is mapped where the process may not have that much
 * address space.  `head` gives the identity fields; layout, clock anchors and counters are filled in here.  Returns 0
 * or an errno; nothing is left open on error, and no file but an empty one where there was no space for it. */
int trc_writer_open(struct trc_writer *writer, const char *path, size_t limit, const struct trc_head *head,
                    uint64_t (*ticks)(void));

/* Makes room for `ready` blocks if fewer are there.  May wait for the file system: our own thread.  False: nothing
 * could be added (limit reached, or disk full). */
bool trc_writer_grow(struct trc_writer *writer, unsigned ready);

/* Makes all blocks that the limit allows, with their pages.  May wait for the file system. */
void trc_writer_alloc_all(struct trc_writer *writer);

/* Prepares as many blocks, with their pages, as a second uses at the present rate.  May wait for the file system:
 * our own thread, each time that it wakes. */
void trc_writer_prepare_room(struct trc_writer *writer);

/* Returns how many blocks are allocated and not handed out. */
unsigned trc_writer_ready(const struct trc_writer *writer);

/* Wakes our own thread, which waits for `asked` to rise.  A system call; any thread, also in a signal handler. */
void trc_writer_wake(struct trc_writer *writer);

/* ---- changes to the file while we write (space.c) */

/* Handles a SIGBUS at `address`: if that is in the file's mapping, memory is mapped from that page on, recording is to
 * end, and it returns true.  In a signal handler. */
bool trc_writer_fault(struct trc_writer *writer, uintptr_t address);

/* Checks that the file is still there and whole.  NULL, or why not: then `stopped` is set.  Our own thread, now and
 * then. */
const char *trc_writer_check(struct trc_writer *writer);

/* Writes into the file that recording has ended, and why.  A file whose head is lost gets a new one.  Our own thread.
 */
void trc_writer_stop(struct trc_writer *writer, const char *why);

/* Writes back the chunks in use, to a network file system or a disk that may be full.  NULL, or why not, as
 * trc_writer_check.  Our own thread. */
const char *trc_writer_sync(struct trc_writer *writer);

/* After MPI_Finalize: gives back the space that was allocated and never used.  Recording may go on in open chunks.
 * Gives nothing back while a thread is allocating.  A second call does nothing.  May wait for the file system. */
void trc_writer_trim(struct trc_writer *writer);

/* Undoes trc_writer_trim, for stacks of a process that does not end.  False: nothing was trimmed.  Our own thread. */
bool trc_writer_untrim(struct trc_writer *writer);

/* Reads the clocks into an anchor. */
void trc_writer_anchor(struct trc_writer *writer, struct trc_anchor *anchor);

/* Appends a definition (payload and text may be NULL).  Any thread; lock-free.  False if there was no room. */
bool trc_writer_define(struct trc_writer *writer, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b,
                       const void *payload, size_t payload_size, const char *text, size_t text_size);

/* The chunks for the stacks of one reason: at most two; the older one is begun anew when both are full.  Zeroed at
 * first; one thread at a time. */
struct trc_stack_place {
    struct trc_chunk *chunk[2];
    unsigned current;
};
/* Appends the stack of thread `tid` (or the closing record: 0).  False if there was no room. */
bool trc_writer_stack(struct trc_writer *writer, struct trc_stack_place *place, uint32_t snapshot, uint32_t tid,
                      uint64_t b, const struct trc_def_stack *stack, const char *text, size_t text_size);

/* The table of device operations (format_gpu.h), as it lies in its chunk. */
struct trc_gpu_table {
    struct trc_gpu_head head;
    struct trc_gpu_op op[TRC_GPU_OPS];
};
/* Allocates the chunk of device operations; its table is zeroed but for its sizes.  NULL: no room. */
struct trc_gpu_table *trc_writer_gpu(struct trc_writer *writer);

/* Opens a stream with a live page of its own in `stream` (zeroed memory).  False: no page could be had. */
bool trc_stream_open(struct trc_stream *stream, struct trc_writer *writer, uint32_t tid, const char *name);

/* Opens a stream, as trc_stream_open, for a stream of a GPU.  One thread at a time writes it, and none of the
 * program's. */
bool trc_stream_open_device(struct trc_stream *stream, struct trc_writer *writer, const struct trc_device_stream *of,
                            const char *name);
/* Continues in a new chunk that begins at `ticks`, because the next items begin earlier than the items of the stream.
 */
void trc_stream_step_back(struct trc_stream *stream, uint64_t ticks);

/* Defines a call, unless that was done before.  Any thread; lock-free. */
void trc_writer_call(struct trc_writer *writer, uint32_t id);

/* The signature that the thread of live page `i` is inside; NULL: none.  Any thread: it may be over already. */
const struct trc_sig *trc_writer_inside(const struct trc_writer *writer, unsigned i);

/* Returns the row that counts calls of the signature's call and size class.  When few rows are left, a new size of a
 * known call shares the row of another size, so that no call is missing. */
struct trc_row *trc_stream_row(struct trc_stream *stream, const struct trc_sig *sig);
#define TRC_VARIANTS 4u /* indices that a variant may get, by turns */
/* Assigns to a signature that differs from signature `like` in TRC_VARIED_FIELDS alone an index of its own, near
 * TRC_VARIANTS * `near`.  The chunk defines it now if that has `like`. */
uint32_t trc_stream_variant(struct trc_stream *stream, uint32_t like, uint32_t near, const struct trc_sig *sig);
/* The slow path of trc_stream_intern: the signature is in neither place of its set. */
uint32_t trc_stream_intern_slow(struct trc_stream *stream, const struct trc_sig *sig, uint32_t set);
/* The slow path of trc_stream_room: takes another chunk.  False: there is none, and a record was counted as lost. */
bool trc_stream_room_slow(struct trc_stream *stream);
/* Makes sure of room for `bytes` bytes of items in one chunk.  False: as trc_stream_room_slow. */
bool trc_stream_room_for(struct trc_stream *stream, uint32_t bytes);
/* Defines signature `index` in the current chunk, which must have room for it. */
void trc_stream_define(struct trc_stream *stream, uint32_t index);
/* The slow path of trc_stream_fold: begins a FOLD. */
void trc_stream_fold_slow(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end);

/* ---- record path ------------------------------------------------------------------------------------------------ */

/* The hash of a signature, 9 bits.  It reads each field by its own width, as the comparison does: the fields have just
 * been stored one by one, and a wider load would wait for these stores to leave the store buffer. */
static inline uint32_t trc_sig_hash(const struct trc_sig *sig)
{
    uint64_t a = (uint64_t)sig->call << 48 ^ (uint64_t)sig->flags << 37 ^ (uint64_t)sig->comm << 21 ^ sig->site;
    uint64_t b =
        (uint64_t)(uint32_t)sig->peer << 32 ^ (uint32_t)sig->tag ^ (uint64_t)sig->object << 50 ^ sig->sent << 13;
    uint64_t c = (uint64_t)(uint32_t)sig->source << 29 ^ (uint64_t)(uint32_t)sig->rtag << 5 ^ sig->received << 17;
    return (uint32_t)((a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u) >> 55);
}
_Static_assert(TRC_SIGS / 2 == 512, "trc_sig_hash gives 9 bits");

/* Copies a signature, by the width of each field, as trc_sig_hash reads it. */
static inline void trc_sig_copy(struct trc_sig *to, const struct trc_sig *from)
{
#define FIELD(type, name, kind) to->name = from->name;
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
}

/* Whether two signatures are equal in all fields; what mostly differs is compared first. */
static inline bool trc_sig_equal(const struct trc_sig *a, const struct trc_sig *b)
{
#define FIELD(type, name, kind) &&a->name == b->name
    return a->tag == b->tag && a->sent == b->sent && a->received == b->received TRC_SIG_FIELDS(FIELD);
#undef FIELD
}

/* The partner's counters at a state's place `out` or `in`; NULL for 0. */
static inline struct trc_peer *trc_peer_at(const struct trc_stream *stream, uint32_t place)
{
    return place ? stream->peer[place - 1] : NULL;
}

/* Returns the index of an entry of the stream's table of signatures. */
static inline uint32_t trc_state_index(const struct trc_stream *stream, const struct trc_sig_state *state)
{
    return (uint32_t)(state - stream->state);
}

/* The signature that an index means; it was used at least once. */
static inline const struct trc_sig *trc_stream_sig(const struct trc_stream *stream, uint32_t index)
{
    return &stream->state[index].use->sig;
}

/* Whether the index means this signature. */
static inline bool trc_stream_means(const struct trc_stream *stream, uint32_t index, const struct trc_sig *sig)
{
    const struct trc_use *use = stream->state[index].use;
    return use && trc_sig_equal(&use->sig, sig);
}

/* The index of a signature in the live page.  Two-way associative: an index may mean another signature later. */
static inline uint32_t trc_stream_intern(struct trc_stream *stream, const struct trc_sig *sig)
{
    uint32_t set = trc_sig_hash(sig) * 2;
    if (__builtin_expect(trc_stream_means(stream, set, sig), 1))
        return set;
    if (trc_stream_means(stream, set + 1, sig))
        return set + 1;
    return trc_stream_intern_slow(stream, sig, set);
}

#define TRC_STREAM_ROOM (2 * TRC_ITEM_MAX)

/* Whether the signature under which its requests complete is still where it was. */
static inline bool trc_completion_known(const struct trc_stream *stream, const struct trc_sig_state *state)
{
    return state->completed_version && stream->state[state->completed_as].version == state->completed_version;
}

/* Makes sure of room for one item and a definition.  False: the item must be dropped, and was counted as lost. */
static inline bool trc_stream_room(struct trc_stream *stream)
{
    if (__builtin_expect(stream->at < stream->stop, 1))
        return true;
    return trc_stream_room_slow(stream);
}

/* Makes the items up to `at` visible to readers as one more record; `last` is the end of the last event, in ticks. */
static inline void trc_stream_commit(struct trc_stream *stream, unsigned char *at, uint64_t last)
{
    struct trc_chunk *chunk = stream->chunk;
    stream->at = at;
    chunk->last_ticks = last;
    chunk->records++;
    atomic_store_explicit((_Atomic uint32_t *)&chunk->committed, (uint32_t)(at - (unsigned char *)(chunk + 1)),
                          memory_order_release);
}

/* Whether an event of this signature can be put without a check: there is room, and the chunk defines the signature. */
static inline bool trc_stream_ready(const struct trc_stream *stream, const struct trc_sig_state *state)
{
    return __builtin_expect(stream->at < stream->stop && state->epoch == stream->epoch, 1);
}

/* Puts an event of a signature that is ready and not TRC_SIG_NESTED.  `collective` says whether it is TRC_SIG_COLL;
 * only then does `sequence` count.  Times are ticks. */
TRC_INLINE void trc_stream_put(struct trc_stream *stream, struct trc_sig_state *state, bool collective, uint64_t begin,
                               uint64_t end, uint64_t sequence)
{
    stream->folds = stream->in_row = 0;
    if (__builtin_expect(begin < stream->base, 0))
        begin = stream->base; /* a clock that steps back must not move later items */
    if (__builtin_expect(end < begin, 0))
        end = begin;
    unsigned char *at = trc_put_item_word(stream->at, state->item);
    at = trc_put_times(at, begin - stream->base, end - begin);
    if (collective) {
        at = trc_put_varint(at, sequence - state->last_sequence);
        state->last_sequence = sequence;
    }
    stream->base = end;
    trc_stream_commit(stream, at, end);
}

/* Appends an event of signature `index`, or counts it as lost.  Times are ticks. */
static inline void trc_stream_event(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end,
                                    uint64_t sequence)
{
    if (!trc_stream_room(stream))
        return;
    if (__builtin_expect(stream->state[index].epoch != stream->epoch, 0))
        trc_stream_define(stream, index);
    uint32_t flags = trc_stream_sig(stream, index)->flags;
    uint64_t base = stream->base;
    trc_stream_put(stream, &stream->state[index], flags & TRC_SIG_COLL, begin, end, sequence);
    if (flags & TRC_SIG_NESTED)
        stream->base = base;
}

/* Appends a SUB item behind the last event.  COMPLETE: `back` starts ago on this thread (0 = the last one), or, with
 * `foreign` set, start number `back` of thread `thread`; START: the rest is ignored. */
static inline void trc_stream_sub(struct trc_stream *stream, uint32_t index, bool foreign, uint32_t thread,
                                  uint64_t back, uint64_t sequence)
{
    if (!trc_stream_room(stream))
        return;
    struct trc_sig_state *state = &stream->state[index];
    uint32_t flags = trc_stream_sig(stream, index)->flags;
    if (__builtin_expect(state->epoch != stream->epoch, 0))
        trc_stream_define(stream, index);
    unsigned char *at = trc_put_item_word(stream->at, state->item);
    if (flags & TRC_SIG_COLL) {
        at = trc_put_varint(at, sequence - state->last_sequence);
        state->last_sequence = sequence;
    }
    if (flags & TRC_SIG_COMPLETE) {
        at = trc_put_varint(at, foreign ? (uint64_t)thread * 2 + 1 : back * 2);
        if (foreign)
            at = trc_put_varint(at, back);
    }
    trc_stream_commit(stream, at, stream->chunk->last_ticks);
}

/* Commits `n` SUB items of signatures that are ready, neither collective nor of another thread's requests, which the
 * caller has put from stream->at to `at`, where stop allows each. */
static inline void trc_stream_put_subs(struct trc_stream *stream, unsigned char *at, uint32_t n)
{
    if (!n)
        return;
    struct trc_chunk *chunk = stream->chunk;
    stream->at = at;
    chunk->records += n;
    atomic_store_explicit((_Atomic uint32_t *)&chunk->committed, (uint32_t)(at - (unsigned char *)(chunk + 1)),
                          memory_order_release);
}

#define TRC_FOLD_MOST (1u << 26) /* polls of a FOLD, so that histograms are looked through now and then */

/* Counts an unsuccessful poll into the FOLD of the same signature.  False: there is none, or something else came
 * between, and nothing was done. */
static inline bool trc_stream_fold_on(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < stream->folds; i++) {
        struct trc_fold *fold = &stream->fold[i];
        if (fold->index != index)
            continue;
        if (__builtin_expect(fold->count >= TRC_FOLD_MOST, 0))
            break;
        fold->count++;
        fold->busy += end - begin;
        trc_set_fold(fold->at, fold->count, fold->busy, end - fold->begin);
        stream->chunk->last_ticks = end;
        stream->base = end;
        return true;
    }
    return false;
}

/* Counts an unsuccessful poll: into the FOLD of the same signature if nothing else came between, else a new one. */
static inline void trc_stream_fold(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end)
{
    if (!trc_stream_fold_on(stream, index, begin, end))
        trc_stream_fold_slow(stream, index, begin, end);
}

/* Halves histograms with a bucket of 2^31 or more, so that they keep their shape and never overflow, and adds such
 * numbers of uses to the counters.  Does so once 2^29 calls were counted; called at each chunk and each FOLD, between
 * which fewer than 2^30 calls fit. */
void trc_stream_age(struct trc_stream *stream);

/* Counts a completed call: its row, the thread's totals, and the bytes it moved.  Its bucket is only named, and
 * counted with the next call: the bucket's address depends on the clock that was just read, and until the address of
 * a store is known, later loads wait.  A kill at any instruction leaves at most one bucket wrong, by one. */
TRC_INLINE void trc_count(struct trc_stream *stream, struct trc_thread *thread, struct trc_row *row,
                          struct trc_use *use, uint64_t ticks)
{
    use->uses++; /* first: its register is free for the rest */
    const uint32_t bucket = trc_bucket(ticks);
    ++*stream->late;
    thread->late_row = (uint8_t)row->number;
    thread->late_bucket = (uint8_t)bucket;
    stream->late = &row->histogram[bucket];
    row->calls++;
    row->ticks += ticks;
    if (__builtin_expect(ticks < row->min_ticks, 0))
        row->min_ticks = ticks;
    if (__builtin_expect(ticks > row->max_ticks, 0))
        row->max_ticks = ticks;
    thread->calls++;
    thread->mpi_ticks += ticks;
}
/* Counts a completed call of signature `index` that took `ticks`. */
static inline void trc_stream_count(struct trc_stream *stream, uint32_t index, uint64_t ticks)
{
    trc_count(stream, &stream->page->thread, stream->state[index].row, stream->state[index].use, ticks);
}

/* Appends and counts an event of a signature that is ready and not TRC_SIG_NESTED.  False: gap or duration is not
 * short, or the clock has stepped back, and nothing was done.  `live`: the stream's live page.  Counts first: after a
 * store of bytes, which may lie anywhere for all that the compiler knows, it loads everything again. */
TRC_INLINE bool trc_stream_record(struct trc_stream *stream, struct trc_thread *live, struct trc_sig_state *state,
                                  bool collective, uint64_t begin, uint64_t end, uint64_t sequence)
{
    const uint64_t gap = begin - stream->base, ticks = end - begin; /* very long if the clock stepped back */
    if (__builtin_expect((gap | ticks) >= TRC_SHORT_TIMES, 0))
        return false;
    if (ticks >= TRC_SHORT_TIMES)
        __builtin_unreachable(); /* the compiler does not see it by itself: the bucket of a short time is simpler */
    trc_count(stream, live, state->row, state->use, ticks);
    stream->folds = stream->in_row = 0;
    stream->base = end;
    unsigned char *at = trc_put_short_times(trc_put_item_word(stream->at, state->item), gap, ticks);
    if (collective) {
        at = trc_put_varint(at, sequence - state->last_sequence);
        state->last_sequence = sequence;
    }
    trc_stream_commit(stream, at, end);
    return true;
}
