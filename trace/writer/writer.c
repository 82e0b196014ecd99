/* The trace file: layout, allocation, definitions. */
#include "trace/writer/writer.h"
#include "trace/writer/stream.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIRST_BLOCKS 8u  /* a live page, definitions, events, some ready */
#define LEAST_BLOCKS 64u /* size of a file that is full */
#define PAGE         4096u
#define MAX_GROWTHS  16   /* growths for one chunk, while other threads take the new blocks */
#define DEFS_SHARE   4u   /* definitions take at most a quarter of the file */
#define DEFS_FIRST   2u   /* blocks of their first chunk */
#define STACKS_LEAST 8u   /* blocks of a chunk of stacks: one of the longest has room */
#define INLINE_MOST  256u /* blocks that a recording thread makes at a time */

static struct trc_chunk *chunk_at(const struct trc_writer *writer, unsigned block)
{
    return (struct trc_chunk *)(void *)(writer->chunks + (size_t)block * TRC_BLOCK);
}

static unsigned block_of(const struct trc_writer *writer, const struct trc_chunk *chunk)
{
    return (unsigned)((size_t)((const char *)chunk - writer->chunks) / TRC_BLOCK);
}

uint32_t trc_writer_room(const struct trc_writer *writer, const struct trc_chunk *chunk)
{
    uint32_t blocks = atomic_load_explicit(&writer->chunk_blocks[block_of(writer, chunk)], memory_order_relaxed);
    return blocks * TRC_BLOCK - (uint32_t)sizeof *chunk;
}

void trc_writer_anchor(struct trc_writer *writer, struct trc_anchor *anchor)
{
    /* Uses the narrowest of a few tries: a preemption between the reads would make the anchor wrong by milliseconds.
     */
    anchor->error_ticks = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = writer->ticks();
        uint64_t monotonic = trc_now_ns();
        uint64_t realtime = trc_wall_ns();
        uint64_t after = writer->ticks();
        if (after - before >= anchor->error_ticks)
            continue;
        anchor->ticks = before + (after - before) / 2;
        anchor->monotonic_ns = monotonic;
        anchor->realtime_ns = realtime;
        anchor->error_ticks = after - before;
    }
}

static bool is_no_space(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

int trc_writer_open(struct trc_writer *writer, const char *path, size_t limit, const struct trc_head *head,
                    uint64_t (*ticks)(void))
{
    const size_t chunks_offset = TRC_HEAD_SIZE;
    size_t blocks = limit > chunks_offset ? (limit - chunks_offset) / TRC_BLOCK : 0;
    if (blocks < LEAST_BLOCKS)
        blocks = LEAST_BLOCKS;
    if (blocks > UINT32_MAX / 4)
        blocks = UINT32_MAX / 4;

    /* Mode 0600: the file holds command lines.  O_EXCL follows no link that somebody planted. */
    int fd = trc_sys_open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = trc_writer_adopt(writer, fd);
    if (!error)
        error = trc_writer_extend(writer, 0, chunks_offset);
    if (error)
        goto undo_open;
    if (!trc_writer_map(writer, chunks_offset, (unsigned)blocks, LEAST_BLOCKS)) {
        error = ENOMEM;
        goto undo_open;
    }
    writer->ticks = ticks;
    atomic_store(&writer->limit, writer->blocks_most);
    *writer->head = *head;
    struct trc_head *mine = writer->head;
    mine->version = TRC_VERSION;
    mine->byte_order = TRC_BYTE_ORDER;
    mine->block_size = TRC_BLOCK;
    mine->block_limit = writer->blocks_most;
    mine->chunks_offset = chunks_offset;
    error = trc_writer_allocate(writer, FIRST_BLOCKS);
    if (!error && atomic_load(&writer->apart)) /* nobody but our own thread will make more */
        error = trc_writer_allocate(writer, writer->blocks_most < INLINE_MOST ? writer->blocks_most : INLINE_MOST);
    if (error)
        goto undo_map;
    trc_writer_populate(writer, INLINE_MOST);
    trc_writer_anchor(writer, &mine->start);
    mine->latest = mine->start;
    memcpy(mine->magic, TRC_MAGIC, sizeof mine->magic); /* last: now it is a trace */
    writer->kept = *mine;
    return 0;

undo_map:
    trc_writer_unmap(writer);
undo_open:
    /* An empty file says that there was no room for one. */
    if (!is_no_space(error) || ftruncate(writer->fd, 0))
        unlink(path);
    trc_sys_close(writer->fd);
    return error;
}

/* The oldest EVENTS chunk that is full, of at least `least` blocks, for reuse. */
static struct trc_chunk *recycle_chunk(struct trc_writer *writer, unsigned least)
{
    unsigned used = atomic_load(&writer->allocated);
    for (unsigned seen = 0, blocks; seen < used; seen += blocks) {
        unsigned at = atomic_load(&writer->recycle), here = at < used ? at : 0;
        unsigned has = atomic_load_explicit(&writer->chunk_blocks[here], memory_order_acquire);
        blocks = has ? has : 1;
        if (!atomic_compare_exchange_strong(&writer->recycle, &at, here + blocks) || has < least)
            continue;
        struct trc_chunk *chunk = chunk_at(writer, here);
        uint8_t full = TRC_CHUNK_FULL;
        if (chunk->kind != TRC_CHUNK_EVENTS || !__atomic_compare_exchange_n(&chunk->state, &full, TRC_CHUNK_OPEN, false,
                                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_add(&writer->head->recycled_chunks, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&writer->head->recycled_records, chunk->records, __ATOMIC_RELAXED);
        return chunk;
    }
    return NULL;
}

/* Hands out `blocks` blocks from `next` on.  NULL: another thread was faster. */
static struct trc_chunk *hand_out(struct trc_writer *writer, unsigned next, unsigned blocks)
{
    if (!atomic_compare_exchange_strong(&writer->next_block, &next, next + blocks))
        return NULL;
    struct trc_chunk *chunk = chunk_at(writer, next);
    chunk->block = next;
    __atomic_store_n(&chunk->blocks, blocks, __ATOMIC_RELEASE);
    atomic_store_explicit(&writer->chunk_blocks[next], (uint8_t)blocks, memory_order_release);
    return chunk;
}

/* A chunk that was never handed out, of `blocks` blocks, or with the last ones of the file, `least` or more. */
static struct trc_chunk *fresh_chunk(struct trc_writer *writer, unsigned blocks, unsigned least)
{
    struct trc_chunk *chunk = NULL;
    for (unsigned growths = 0; !chunk && !atomic_load(&writer->stopped);) {
        bool pages = atomic_load(&writer->apart) == TRC_APART_PAGES;
        unsigned next = atomic_load(&writer->next_block),
                 end = atomic_load(pages ? &writer->populated : &writer->allocated), have = next < end ? end - next : 0,
                 ready = end < INLINE_MOST ? end : INLINE_MOST;
        if (have < blocks && growths++ < MAX_GROWTHS && trc_writer_grow_here(writer, ready > blocks ? ready : blocks))
            continue;
        if (have < least)
            break;
        if (!atomic_load(&writer->apart) && atomic_load(&writer->populated) < next + blocks)
            trc_writer_populate(writer, blocks); /* one system call in place of a page fault for each block */
        chunk = hand_out(writer, next, have < blocks ? have : blocks);
    }
    trc_writer_runs_low(writer);
    return chunk;
}

struct trc_chunk *trc_writer_alloc(struct trc_writer *writer, enum trc_chunk_kind kind, uint16_t thread,
                                   unsigned blocks, unsigned least)
{
    int kept = errno;
    struct trc_chunk *chunk = fresh_chunk(writer, blocks, least);
    if (!chunk)
        chunk = recycle_chunk(writer, least);
    errno = kept;
    if (!chunk)
        return NULL;
    __atomic_store_n(&chunk->magic, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release); /* a reader that sees later stores sees that the magic is gone */
    chunk->kind = (uint8_t)kind;
    chunk->thread = thread;
    chunk->sequence = atomic_fetch_add(&writer->sequence, 1) + 1;
    chunk->first_ticks = chunk->last_ticks = writer->ticks();
    chunk->committed = 0;
    chunk->records = 0;
    chunk->lost = 0;
    chunk->first_start = 0;
    chunk->earlier = 0;
    __atomic_store_n(&chunk->state, TRC_CHUNK_OPEN, __ATOMIC_RELEASE);
    unsigned used = atomic_load(&writer->next_block);
    if (used < UINT32_MAX / 2)
        __atomic_store_n(&writer->head->blocks_used, used, __ATOMIC_RELAXED);
    return chunk; /* the caller fills the rest and stores the magic */
}

/* Begins a chunk for definitions that has room for `need` bytes.  False: there is none. */
static bool begin_definitions(struct trc_writer *writer, uint32_t need)
{
    /* Definitions outlive recycling, so they may take only a part of the file.  Each chunk is as large as all
     * before. */
    unsigned had = atomic_load(&writer->defs_blocks), least = trc_blocks_for(need);
    unsigned limit = atomic_load(&writer->limit); /* a disk that was full early has let it sink below the least */
    if (had > (limit > LEAST_BLOCKS ? limit : LEAST_BLOCKS) / DEFS_SHARE || least > TRC_CHUNK_MOST)
        return false;
    unsigned blocks = had < DEFS_FIRST ? DEFS_FIRST : had < TRC_CHUNK_MOST ? had : TRC_CHUNK_MOST;
    struct trc_chunk *fresh = trc_writer_alloc(writer, TRC_CHUNK_DEFS, 0, blocks > least ? blocks : least, least);
    if (!fresh)
        return false;
    uint32_t room = trc_writer_room(writer, fresh);
    atomic_fetch_add(&writer->defs_blocks, trc_blocks_for(room));
    memset(fresh + 1, 0, room);
    __atomic_store_n(&fresh->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    atomic_store(&writer->defs, (uint64_t)(block_of(writer, fresh) + 1) << 32);
    return true;
}

/* Makes room for `slots` in the current DEFS chunk, or in a new one if it is full. */
static struct trc_def *definition_room(struct trc_writer *writer, unsigned slots, struct trc_chunk **owner,
                                       uint32_t *end)
{
    const uint32_t need = slots * TRC_DEF_SLOT;
    for (int tries = 0; tries < 100; tries++) {
        uint64_t place = atomic_load(&writer->defs);
        while (place) {
            struct trc_chunk *chunk = chunk_at(writer, (unsigned)(place >> 32) - 1);
            if ((uint32_t)place + need > trc_writer_room(writer, chunk))
                break;
            if (!atomic_compare_exchange_weak(&writer->defs, &place, place + need))
                continue;
            *owner = chunk;
            *end = (uint32_t)place + need;
            return (struct trc_def *)(void *)((char *)(chunk + 1) + (uint32_t)place);
        }
        /* Full.  Two threads may both bring a new chunk: the second's replaces the first's, which stays half empty. */
        if (!begin_definitions(writer, need))
            return NULL;
    }
    return NULL;
}

/* Fills a definition whose slots are zero; its type comes last. */
static void fill_definition(const struct trc_writer *writer, struct trc_def *def, unsigned slots, struct trc_def as,
                            const void *payload, size_t payload_size, const char *text)
{
    def->slots = (uint16_t)slots;
    def->text_bytes = as.text_bytes;
    def->id = as.id;
    def->a = as.a;
    def->b = as.b;
    def->ticks = writer->ticks();
    char *out = (char *)(def + 1);
    if (payload_size)
        memcpy(out, payload, payload_size);
    if (as.text_bytes)
        memcpy(out + payload_size, text, as.text_bytes);
    __atomic_store_n(&def->type, as.type, __ATOMIC_RELEASE);
}

/* Appends a definition.  False: there was no room for it. */
static bool add_definition(struct trc_writer *writer, struct trc_def as, const void *payload, size_t payload_size,
                           const char *text)
{
    size_t bytes = sizeof as + payload_size + as.text_bytes;
    if (bytes > UINT16_MAX * (size_t)TRC_DEF_SLOT)
        return false;
    unsigned slots = (unsigned)((bytes + TRC_DEF_SLOT - 1) / TRC_DEF_SLOT);
    struct trc_chunk *owner;
    uint32_t end;
    struct trc_def *def = definition_room(writer, slots, &owner, &end);
    if (!def)
        return false;
    fill_definition(writer, def, slots, as, payload, payload_size, text);
    uint32_t committed = __atomic_load_n(&owner->committed, __ATOMIC_RELAXED);
    while (committed < end &&
           !__atomic_compare_exchange_n(&owner->committed, &committed, end, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&owner->last_ticks, def->ticks, __ATOMIC_RELAXED);
    return true;
}

bool trc_writer_define(struct trc_writer *writer, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b,
                       const void *payload, size_t payload_size, const char *text, size_t text_size)
{
    if (text_size > UINT16_MAX)
        return false;
    if (type == TRC_DEF_COMM && payload)
        trc_writer_call(writer, ((const struct trc_def_comm *)payload)->created_by);
    if (type == TRC_DEF_LEFT)
        trc_writer_call(writer, a);
    struct trc_def as = {.type = type, .text_bytes = (uint16_t)text_size, .id = id, .a = a, .b = b};
    if (add_definition(writer, as, payload, payload_size, text))
        return true;
    __atomic_fetch_add(&writer->head->lost_records, 1, __ATOMIC_RELAXED);
    return false;
}

void trc_writer_call(struct trc_writer *writer, uint32_t id)
{
    if (id >= writer->call_count || id >= TRC_WRITER_CALLS || !writer->calls[id].name)
        return;
    uint32_t bit = 1u << id % 32;
    if (atomic_load_explicit(&writer->named[id / 32], memory_order_acquire) & bit)
        return;
    /* Two threads may both write it, which readers take; whoever finds the bit finds the definition. */
    const struct trc_call *call = &writer->calls[id];
    const struct trc_def as = {
        .type = TRC_DEF_CALL, .id = id, .a = call->opclass, .text_bytes = (uint16_t)strlen(call->name)};
    if (add_definition(writer, as, NULL, 0, call->name))
        atomic_fetch_or(&writer->named[id / 32], bit);
    else if (!(atomic_fetch_or(&writer->unnamed[id / 32], bit) & bit)) /* lost once, tried again */
        __atomic_fetch_add(&writer->head->lost_records, 1, __ATOMIC_RELAXED);
}

/* Begins a chunk of stacks anew. */
static void clear_stacks(struct trc_writer *writer, struct trc_chunk *chunk)
{
    __atomic_store_n(&chunk->magic, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release); /* see trc_writer_alloc */
    chunk->sequence = atomic_fetch_add(&writer->sequence, 1) + 1;
    chunk->first_ticks = chunk->last_ticks = writer->ticks();
    chunk->committed = 0;
}

/* A chunk of the place with `need` bytes free.  If there is none the older one is begun anew, or gives way to one that
 * is twice as large as the newer, until they are as large as can be. */
static struct trc_chunk *stack_room(struct trc_writer *writer, struct trc_stack_place *place, uint8_t reason,
                                    uint32_t need)
{
    struct trc_chunk *chunk = place->chunk[place->current];
    uint32_t room = chunk ? trc_writer_room(writer, chunk) : 0;
    if (chunk && room >= need && chunk->committed <= room - need) /* somebody may have overwritten it */
        return chunk;
    unsigned next = chunk ? 1 - place->current : place->current,
             blocks = chunk ? 2 * trc_blocks_for(room) : STACKS_LEAST;
    struct trc_chunk *older = place->chunk[next], *fresh = NULL;
    blocks = blocks < TRC_CHUNK_MOST ? blocks : TRC_CHUNK_MOST;
    if (!older || trc_blocks_for(trc_writer_room(writer, older)) < TRC_CHUNK_MOST)
        fresh = trc_writer_alloc(writer, TRC_CHUNK_STACKS, reason, blocks, STACKS_LEAST);
    if (!fresh && !older && trc_blocks_for(need) < STACKS_LEAST) /* a disk that was full early: some may fit */
        fresh = trc_writer_alloc(writer, TRC_CHUNK_STACKS, reason, trc_blocks_for(need), trc_blocks_for(need));
    if (older)
        clear_stacks(writer, older);
    if (older && fresh) { /* events may have it */
        older->records = 0;
        older->kind = TRC_CHUNK_EVENTS;
        __atomic_store_n(&older->state, TRC_CHUNK_FULL, __ATOMIC_RELEASE);
    }
    fresh = fresh ? fresh : older;
    if (!fresh)
        return NULL;
    memset(fresh + 1, 0, trc_writer_room(writer, fresh));
    __atomic_store_n(&fresh->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    place->chunk[next] = fresh;
    place->current = next;
    return fresh;
}

bool trc_writer_stack(struct trc_writer *writer, struct trc_stack_place *place, uint32_t snapshot, uint32_t tid,
                      uint64_t b, const struct trc_def_stack *stack, const char *text, size_t text_size)
{
    if (text_size > TRC_STACK_TEXT)
        text_size = TRC_STACK_TEXT;
    size_t bytes = sizeof(struct trc_def) + sizeof *stack + text_size;
    unsigned slots = (unsigned)((bytes + TRC_DEF_SLOT - 1) / TRC_DEF_SLOT);
    struct trc_chunk *chunk = stack_room(writer, place, stack->reason, slots * TRC_DEF_SLOT);
    if (!chunk)
        return false;
    struct trc_def *def = (struct trc_def *)(void *)((char *)(chunk + 1) + chunk->committed);
    struct trc_def as = {.type = TRC_DEF_STACK, .text_bytes = (uint16_t)text_size, .id = snapshot, .a = tid, .b = b};
    fill_definition(writer, def, slots, as, stack, sizeof *stack, text);
    chunk->records++;
    chunk->last_ticks = def->ticks;
    __atomic_store_n(&chunk->committed, chunk->committed + slots * TRC_DEF_SLOT, __ATOMIC_RELEASE);
    return true;
}

struct trc_gpu_table *trc_writer_gpu(struct trc_writer *writer)
{
    struct trc_chunk *chunk = trc_writer_alloc(writer, TRC_CHUNK_GPU, 0, trc_blocks_for(sizeof(struct trc_gpu_table)),
                                               trc_blocks_for(sizeof(struct trc_gpu_table)));
    if (!chunk)
        return NULL;
    struct trc_gpu_table *table = (struct trc_gpu_table *)(void *)(chunk + 1);
    memset(table, 0, sizeof *table);
    table->head.slot_size = sizeof table->op[0];
    table->head.slots = TRC_GPU_OPS;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return table;
}
