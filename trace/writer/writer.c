/* The trace file: layout, allocation, definitions. */
#include "trace/writer/writer.h"
#include "trace/writer/stream.h"
#include "trace/writer/now.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FIRST_CHUNKS 4u /* a live page, definitions, events, one ready */
#define PAGE         4096u
#define MAX_TRIES    10000 /* to have one chunk while other threads take those that were made */
#define TRIM_TRIES   1000  /* a millisecond each */
#define DEFS_SHARE   4u    /* definitions take at most a quarter of the file */

static struct trc_chunk *chunk_at(const struct trc_writer *writer, unsigned number)
{
    return (struct trc_chunk *)(void *)(writer->chunks + (size_t)number * TRC_CHUNK_SIZE);
}

void trc_writer_anchor(struct trc_writer *writer, struct trc_anchor *anchor)
{
    /* Takes the narrowest of a few tries: a preemption between the reads would make the anchor wrong by milliseconds.
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

int trc_writer_open(struct trc_writer *writer, const char *path, size_t limit, const struct trc_head *head,
                    const char *schema, size_t schema_size, uint64_t (*ticks)(void))
{
    size_t chunks_offset = (TRC_HEAD_SIZE + schema_size + PAGE - 1) / PAGE * PAGE;
    size_t chunks = limit > chunks_offset ? (limit - chunks_offset) / TRC_CHUNK_SIZE : 0;
    if (chunks < FIRST_CHUNKS)
        chunks = FIRST_CHUNKS;
    if (chunks > UINT32_MAX / 2)
        chunks = UINT32_MAX / 2;

    /* Mode 0600: the file holds command lines.  O_EXCL follows no link that somebody planted. */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = trc_writer_adopt(writer, fd);
    if (!error)
        error = trc_writer_extend(writer, 0, chunks_offset);
    if (error)
        goto undo_open;
    writer->chunks_most = trc_writer_map(writer, chunks_offset, (unsigned)chunks, FIRST_CHUNKS);
    if (!writer->chunks_most) {
        error = ENOMEM;
        goto undo_open;
    }
    writer->ticks = ticks;
    writer->schema = schema;
    atomic_store(&writer->limit, writer->chunks_most);
    *writer->head = *head;
    struct trc_head *mine = writer->head;
    mine->version = TRC_VERSION;
    mine->byte_order = TRC_BYTE_ORDER;
    mine->schema_offset = TRC_HEAD_SIZE;
    mine->schema_size = (uint32_t)schema_size;
    mine->chunk_size = TRC_CHUNK_SIZE;
    mine->chunk_limit = writer->chunks_most;
    mine->chunks_offset = chunks_offset;
    memcpy(writer->base + TRC_HEAD_SIZE, schema, schema_size);
    error = trc_writer_allocate(writer, FIRST_CHUNKS);
    if (error)
        goto undo_map;
    trc_writer_anchor(writer, &mine->start);
    mine->latest = mine->start;
    memcpy(mine->magic, TRC_MAGIC, sizeof mine->magic); /* last: now it is a trace */
    writer->kept = *mine;
    return 0;

undo_map:
    munmap(writer->base, writer->size);
    writer->head = NULL;
    writer->base = NULL;
undo_open:
    unlink(path);
    close(writer->fd);
    return error;
}

unsigned trc_writer_ready(const struct trc_writer *writer)
{
    unsigned allocated = atomic_load(&writer->allocated), next = atomic_load(&writer->next_chunk);
    return next < allocated ? allocated - next : 0;
}

bool trc_writer_grow(struct trc_writer *writer, unsigned ready)
{
    int idle = 0;
    if (atomic_load(&writer->stopped) || !atomic_compare_exchange_strong(&writer->growing, &idle, 1))
        return false;
    unsigned allocated = atomic_load(&writer->allocated), limit = atomic_load(&writer->limit);
    unsigned have = trc_writer_ready(writer);
    unsigned wanted = have < ready ? allocated + ready - have : allocated;
    if (wanted > limit)
        wanted = limit;
    bool grown = false;
    if (wanted > allocated) {
        int error = trc_writer_allocate(writer, wanted);
        grown = error == 0;
        if (error) {
            /* The chunks that there are stay in use: old ones are recycled from now on. */
            atomic_store(&writer->limit, allocated);
            __atomic_store_n(&writer->head->chunk_limit, allocated, __ATOMIC_RELEASE);
            trc_writer_say(writer, error, error == EBADF ? TRC_SAY_TAKEN : TRC_SAY_FULL);
        }
    }
    atomic_store(&writer->growing, 0);
    return grown;
}

void trc_writer_trim(struct trc_writer *writer)
{
    if (atomic_load(&writer->trimmed) || atomic_load(&writer->stopped))
        return; /* a second end, of sessions that were begun after the first */
    /* Keeps `growing` taken: nothing may be allocated any more.  Its owner may hang in a file system for ever: then the
     * file stays longer than needed, and the program ends. */
    int idle = 0;
    for (int tries = 0; !atomic_compare_exchange_strong(&writer->growing, &idle, 1); tries++, idle = 0) {
        if (tries == TRIM_TRIES)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct trc_head *head = writer->head;
    /* All chunks count as handed out from now on, so that nobody is given one that is cut off. */
    unsigned used = atomic_exchange(&writer->next_chunk, UINT32_MAX / 2), allocated = atomic_load(&writer->allocated);
    if (used > allocated)
        used = allocated;
    atomic_store(&writer->limit, used);
    atomic_store(&writer->allocated, used);
    head->chunk_limit = used;
    __atomic_store_n(&head->chunks_allocated, used, __ATOMIC_RELEASE);
    head->chunks_used = used;
    int error = trc_writer_cut(writer, used);
    if (error)
        head->error_errno = error; /* the file stays longer than needed: no loss */
    atomic_store(&writer->trimmed, true);
}

bool trc_writer_untrim(struct trc_writer *writer)
{
    if (!atomic_exchange(&writer->trimmed, false))
        return false;
    atomic_store(&writer->limit, writer->chunks_most);
    writer->head->chunk_limit = writer->chunks_most;
    atomic_store(&writer->next_chunk, atomic_load(&writer->allocated));
    writer->populated = 0;
    atomic_store(&writer->growing, 0);
    return true;
}

/* The oldest EVENTS chunk that is full, for reuse. */
static struct trc_chunk *recycle_chunk(struct trc_writer *writer)
{
    unsigned used = atomic_load(&writer->allocated);
    for (unsigned tries = 0; tries < used; tries++) {
        struct trc_chunk *chunk = chunk_at(writer, atomic_fetch_add(&writer->recycle, 1) % used);
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

struct trc_chunk *trc_writer_take(struct trc_writer *writer, enum trc_chunk_kind kind, uint16_t thread)
{
    struct trc_chunk *chunk = NULL;
    int kept = errno;
    for (int tries = 0; !chunk && tries < MAX_TRIES && !atomic_load(&writer->stopped); tries++) {
        unsigned next = atomic_load(&writer->next_chunk);
        while (next < atomic_load(&writer->allocated) && !chunk)
            if (atomic_compare_exchange_weak(&writer->next_chunk, &next, next + 1))
                chunk = chunk_at(writer, next);
        if (chunk)
            break;
        if (next >= atomic_load(&writer->limit) || atomic_load(&writer->emulates))
            break; /* what is allocated by writing is left to our own thread */
        if (trc_writer_grow(writer, 4))
            __atomic_fetch_add(&writer->head->inline_growths, 1, __ATOMIC_RELAXED);
        else
            sched_yield(); /* another thread is at it */
    }
    if (!chunk)
        chunk = recycle_chunk(writer);
    errno = kept;
    if (!chunk)
        return NULL;
    __atomic_store_n(&chunk->magic, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release); /* a reader that sees what follows sees that the magic is gone */
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
    unsigned used = atomic_load(&writer->next_chunk);
    if (used < UINT32_MAX / 2)
        __atomic_store_n(&writer->head->chunks_used, used, __ATOMIC_RELAXED);
    return chunk; /* the caller fills the rest and stores the magic */
}

/* Makes room for `slots` in the current DEFS chunk, or in a new one if it is full. */
static struct trc_def *definition_room(struct trc_writer *writer, unsigned slots, struct trc_chunk **owner,
                                       uint32_t *end)
{
    const uint32_t body = (TRC_CHUNK_SIZE - sizeof(struct trc_chunk)) / TRC_DEF_SLOT * TRC_DEF_SLOT;
    const uint32_t need = slots * TRC_DEF_SLOT;
    if (need > body)
        return NULL;
    for (int tries = 0; tries < 100; tries++) {
        uint64_t place = atomic_load(&writer->defs);
        while (place && (uint32_t)place + need <= body)
            if (atomic_compare_exchange_weak(&writer->defs, &place, place + need)) {
                *owner = chunk_at(writer, (unsigned)(place >> 32) - 1);
                *end = (uint32_t)place + need;
                return (struct trc_def *)(void *)((char *)(*owner + 1) + (uint32_t)place);
            }
        /* Definitions outlive recycling, so they may take only a part of the file. */
        if (atomic_load(&writer->defs_chunks) > atomic_load(&writer->limit) / DEFS_SHARE)
            return NULL;
        /* Full.  Two threads may both bring a new chunk: the second's replaces the first's, which stays half empty. */
        struct trc_chunk *fresh = trc_writer_take(writer, TRC_CHUNK_DEFS, 0);
        if (!fresh)
            return NULL;
        atomic_fetch_add(&writer->defs_chunks, 1);
        memset(fresh + 1, 0, TRC_CHUNK_SIZE - sizeof *fresh);
        __atomic_store_n(&fresh->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
        size_t index = (size_t)((char *)fresh - writer->chunks) / TRC_CHUNK_SIZE;
        atomic_store(&writer->defs, (uint64_t)(index + 1) << 32);
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

bool trc_writer_define(struct trc_writer *writer, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b,
                       const void *payload, size_t payload_size, const char *text, size_t text_size)
{
    size_t bytes = sizeof(struct trc_def) + payload_size + text_size;
    if (bytes > UINT16_MAX * (size_t)TRC_DEF_SLOT || text_size > UINT16_MAX)
        return false;
    unsigned slots = (unsigned)((bytes + TRC_DEF_SLOT - 1) / TRC_DEF_SLOT);
    struct trc_chunk *owner;
    uint32_t end;
    struct trc_def *def = definition_room(writer, slots, &owner, &end);
    if (!def) {
        __atomic_fetch_add(&writer->head->lost_records, 1, __ATOMIC_RELAXED);
        return false;
    }
    fill_definition(writer, def, slots,
                    (struct trc_def){.type = type, .text_bytes = (uint16_t)text_size, .id = id, .a = a, .b = b},
                    payload, payload_size, text);
    uint32_t committed = __atomic_load_n(&owner->committed, __ATOMIC_RELAXED);
    while (committed < end &&
           !__atomic_compare_exchange_n(&owner->committed, &committed, end, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&owner->last_ticks, def->ticks, __ATOMIC_RELAXED);
    return true;
}

/* A chunk of the place with `need` bytes free, the older one begun anew if there is none. */
static struct trc_chunk *stack_room(struct trc_writer *writer, struct trc_stack_place *place, uint8_t reason,
                                    uint32_t need)
{
    const uint32_t body = TRC_CHUNK_SIZE - sizeof(struct trc_chunk);
    struct trc_chunk *chunk = place->chunk[place->current];
    if (chunk && chunk->committed <= body - need) /* somebody may have overwritten it */
        return chunk;
    unsigned next = chunk ? 1 - place->current : place->current;
    struct trc_chunk *fresh = place->chunk[next];
    if (fresh) {
        __atomic_store_n(&fresh->magic, 0, __ATOMIC_RELAXED);
        atomic_thread_fence(memory_order_release); /* as in trc_writer_take */
        fresh->sequence = atomic_fetch_add(&writer->sequence, 1) + 1;
        fresh->first_ticks = fresh->last_ticks = writer->ticks();
        fresh->committed = 0;
    } else {
        fresh = trc_writer_take(writer, TRC_CHUNK_STACKS, reason);
    }
    if (!fresh)
        return NULL;
    memset(fresh + 1, 0, body);
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
    struct trc_chunk *chunk = trc_writer_take(writer, TRC_CHUNK_GPU, 0);
    if (!chunk)
        return NULL;
    struct trc_gpu_table *table = (struct trc_gpu_table *)(void *)(chunk + 1);
    memset(table, 0, sizeof *table);
    table->head.slot_size = sizeof table->op[0];
    table->head.slots = TRC_GPU_OPS;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return table;
}
