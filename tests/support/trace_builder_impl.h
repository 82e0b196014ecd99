/* Shared parts of the trace builder; nobody else includes this. */
#ifndef TRACE_BUILDER_IMPL_H
#define TRACE_BUILDER_IMPL_H

#include "tests/support/trace_builder.h"

#define PAGE 4096u
#define NONE UINT32_MAX

struct sig_state {
    struct trc_sig sig;
    uint64_t sequence;
};

struct thread {
    uint32_t page, chunk; /* numbers, or NONE */
    uint32_t at;          /* bytes of items in the chunk */
    uint64_t base, row_base, starts, lost, earlier;
    bool in_row;
    uint32_t fold_at; /* place of the last FOLD's counters, in the chunk's items; 0: none */
    uint64_t fold_begin, fold_base, fold_count, fold_busy;
    struct trc_sig fold_sig;
    struct sig_state *sigs; /* signatures of the chunk */
    uint32_t sig_count, sig_room;
    uint32_t rows, peers, uses; /* entries of the live page */
    struct trc_row overflow;
};

/* A chunk of definitions and the bytes in it. */
struct defs_place {
    uint32_t chunk, at;
};

enum { TB_LISTS = 128, TB_LIST_RANKS = 64 };
struct rank_list {
    uint32_t n;
    int32_t rank[TB_LIST_RANKS];
};

struct tb {
    uint8_t *image;
    size_t size, room;
    struct trc_head head;
    uint32_t chunk_size, chunks, limit; /* bytes of a chunk; how many there are, and may be */
    uint32_t *named;                    /* a word for each call: whether it is defined */
    double ticks_per_ns;
    uint64_t last_ticks, sequence;
    struct defs_place defs, stacks[TRC_STACK_REASONS];
    uint32_t recycle;
    uint32_t gpu, usage; /* chunk + 1 */
    uint64_t usage_base; /* ticks of the last item there */
    bool open;           /* tb_running */
    bool mapped;         /* the image belongs to the caller */
    uint32_t lists;
    struct rank_list list[TB_LISTS]; /* tb_ranks: list i has id i + 1 */
    struct thread threads[TRC_MAX_THREADS];
};

/* ---- trace_builder.c: the file and its chunks ---- */

/* Ends the program with a message. */
void tb_die(const char *what);

/* The bytes of a chunk. */
void *tb_chunk_at(struct tb *tb, uint32_t chunk);

/* Takes a new chunk for a thread, or recycles one; returns its number. */
uint32_t tb_take_chunk(struct tb *tb, enum trc_chunk_kind kind, uint32_t thread, uint64_t ticks);

/* The thread with that index, made if it is new. */
struct thread *tb_thread_of(struct tb *tb, uint32_t index);

/* The live page of a thread; NULL where chunks are too small for one. */
struct trc_page *tb_page_of(struct tb *tb, const struct thread *thread);

/* The calls that builders have. */
const struct trc_call *tb_calls(size_t *count);

/* Defines a call, unless that was done before. */
void tb_name_call(struct tb *tb, uint32_t call);

/* The entry of the page that has this signature's index; made if there is none.  NULL: no page. */
struct trc_use *tb_use_at(struct tb *tb, struct thread *thread, uint32_t index, const struct trc_sig *sig);

/* The counters of a call in a size class, and of a partner; made if there are none. */
struct trc_row *tb_row_of(struct tb *tb, struct thread *thread, uint32_t call, uint16_t size_class);
struct trc_peer *tb_peer_of(struct tb *tb, struct thread *thread, int32_t rank);

/* Returns the place of the thread's next item, if it has a chunk with room. */
uint8_t *tb_here(struct tb *tb, const struct thread *thread);

/* Returns the place of the thread's next item, after room for a signature and an item was made. */
uint8_t *tb_room(struct tb *tb, struct thread *thread);

/* Takes the bytes up to `end` into the chunk. */
void tb_commit(struct tb *tb, struct thread *thread, const uint8_t *end, uint32_t records, uint64_t ticks);

/* The number of a signature in the thread's chunk, defined there if it is new. */
uint32_t tb_define_sig(struct tb *tb, struct thread *thread, const struct trc_sig *sig);

/* The ticks of a call's end, which the file has then seen. */
uint64_t tb_ticks_at(struct tb *tb, int64_t ns);

#endif
