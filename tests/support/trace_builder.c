/* Built traces: the file, its head and its chunks; trace_items.c and trace_defs.c fill them. */
#include "tests/support/trace_builder_impl.h"
#include "trace/format/encode.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_LEAST    (64u << 10) /* chunks of fewer bytes have no live page */
#define TB_CHUNK_SIZE (TRC_CHUNK_MOST * TRC_BLOCK)

void tb_die(const char *what)
{
    perror(what);
    exit(1);
}

void *tb_chunk_at(struct tb *tb, uint32_t chunk)
{
    return tb->image + tb->head.chunks_offset + (size_t)chunk * tb->chunk_size;
}

static void resize(struct tb *tb, size_t size)
{
    if (size > tb->room && tb->mapped)
        tb_die("trace builder: no more room in the file");
    if (size > tb->room) {
        size_t room = size + size / 2;
        uint8_t *grown = realloc(tb->image, room);
        if (!grown)
            tb_die("trace builder");
        memset(grown + tb->room, 0, room - tb->room);
        tb->image = grown;
        tb->room = room;
    }
    tb->size = size;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static const struct trc_call usual[] = {
#define TB_CALL(id, name, class) {name, TRC_OP_##class},
    TB_CALLS(TB_CALL)
#undef TB_CALL
};
static const struct trc_call *used = usual;
static size_t used_count = TB_CALL_COUNT;

void tb_use_calls(const struct trc_call *calls, size_t n)
{
    used = calls ? calls : usual;
    used_count = calls ? n : TB_CALL_COUNT;
}

const struct trc_call *tb_calls(size_t *count)
{
    *count = used_count;
    return used;
}

struct tb *tb_new(int32_t rank, int32_t world_size)
{
    return tb_new_small(rank, world_size, TB_CHUNK_SIZE, 1u << 20);
}

static struct tb *make_builder(int32_t rank, int32_t world_size, uint32_t chunk_size, uint32_t limit, uint8_t *image,
                               size_t room)
{
    struct tb *tb = calloc(1, sizeof *tb);
    if (!tb)
        tb_die("trace builder");
    tb->image = image;
    tb->room = room;
    tb->mapped = image != NULL;
    tb->chunk_size = chunk_size;
    tb->limit = limit;
    tb->named = calloc(used_count + 1, sizeof *tb->named);
    if (!tb->named)
        tb_die("trace builder");
    resize(tb, TRC_HEAD_SIZE);
    tb->head = (struct trc_head){.version = TRC_VERSION,
                                 .byte_order = TRC_BYTE_ORDER,
                                 .block_size = TRC_BLOCK,
                                 .block_limit = UINT32_MAX / 2,
                                 .chunks_offset = tb->size,
                                 .clock_source = TRC_CLOCK_MONOTONIC,
                                 .state = TRC_STATE_FINALIZED,
                                 .rank = rank,
                                 .world_size = world_size,
                                 .pid = 1000u + (uint32_t)rank,
                                 .abi = TRC_ABI_OPENMPI,
                                 .pid_start = 12345,
                                 .world_identity = TB_WORLD_IDENTITY,
                                 .host = "host0",
                                 .boot_id = "00000000-0000-0000-0000-000000000000",
                                 .exe = "/bin/app",
                                 .command = "./app",
                                 .mpi = "Test MPI 1.0"};
    memcpy(tb->head.magic, TRC_MAGIC, sizeof tb->head.magic);
    tb->defs.chunk = NONE;
    for (unsigned i = 0; i < TRC_STACK_REASONS; i++)
        tb->stacks[i].chunk = NONE;
    for (size_t i = 0; i < TRC_MAX_THREADS; i++)
        tb->threads[i].page = tb->threads[i].chunk = NONE;
    tb_clock(tb, 1000000000u, 1700000000000000000u, 1);
    struct trc_def_comm world = {.identity = TB_WORLD_IDENTITY,
                                 .rank = rank,
                                 .size = world_size,
                                 .flags = TRC_COMM_WORLD,
                                 .created_by = TB_INIT};
    struct {
        struct trc_def_comm comm;
        int32_t member;
    } self = {{.identity = 0x2000u + (uint64_t)rank, .size = 1, .flags = TRC_COMM_SELF, .members = 1}, rank};
    tb_define(tb, TRC_DEF_COMM, TB_WORLD, 0, 0, &world, sizeof world, 0);
    tb_define(tb, TRC_DEF_COMM, TB_SELF, 0, 0, &self, sizeof self.comm + sizeof self.member, 0);
    tb_comm_name(tb, TB_WORLD, "MPI_COMM_WORLD");
    return tb;
}

struct tb *tb_new_small(int32_t rank, int32_t world_size, uint32_t chunk_size, uint32_t limit)
{
    return make_builder(rank, world_size, chunk_size, limit, NULL, 0);
}

struct tb *tb_new_in(int32_t rank, int32_t world_size, void *image, size_t room)
{
    return make_builder(rank, world_size, TB_CHUNK_SIZE, 1u << 20, image, room);
}

void tb_free(struct tb *tb)
{
    for (size_t i = 0; i < TRC_MAX_THREADS; i++)
        free(tb->threads[i].sigs);
    if (!tb->mapped)
        free(tb->image);
    free(tb->named);
    free(tb);
}

struct trc_head *tb_head(struct tb *tb)
{
    return &tb->head;
}

void tb_clock(struct tb *tb, uint64_t monotonic_ns, uint64_t realtime_ns, double ticks_per_ns)
{
    tb->ticks_per_ns = ticks_per_ns;
    tb->head.clock_source = ticks_per_ns == 1 ? TRC_CLOCK_MONOTONIC : TRC_CLOCK_TSC;
    tb->head.start = (struct trc_anchor){.ticks = ticks_per_ns == 1 ? monotonic_ns : 5000000000000u,
                                         .monotonic_ns = monotonic_ns,
                                         .realtime_ns = realtime_ns,
                                         .error_ticks = 50};
    tb->head.init_ticks = tb->head.start.ticks;
}

uint64_t tb_ticks(const struct tb *tb, int64_t ns)
{
    return tb->head.start.ticks + (uint64_t)(int64_t)llrint((double)ns * tb->ticks_per_ns);
}

/* Ticks of a call's end, seen. */
uint64_t tb_ticks_at(struct tb *tb, int64_t ns)
{
    uint64_t ticks = tb_ticks(tb, ns);
    if (ticks > tb->last_ticks)
        tb->last_ticks = ticks;
    return ticks;
}

static void set_latest(struct tb *tb, int64_t ns)
{
    tb->head.latest = tb->head.start;
    tb->head.latest.ticks = tb_ticks(tb, ns);
    tb->head.latest.monotonic_ns += (uint64_t)ns;
    tb->head.latest.realtime_ns += (uint64_t)ns;
    tb->head.latest_version += 2;
    tb->head.heartbeats++;
}

void tb_running(struct tb *tb, int64_t ns)
{
    tb->open = true;
    tb->head.state = TRC_STATE_RUNNING;
    tb->head.end_ticks = 0;
    tb_ticks_at(tb, ns);
    set_latest(tb, ns);
}

const uint8_t *tb_image(struct tb *tb, size_t *size)
{
    if (!tb->open) { /* MPI_Finalize one microsecond after the last call */
        uint64_t last = tb->last_ticks > tb->head.start.ticks ? tb->last_ticks : tb->head.start.ticks;
        int64_t ns = llrint((double)(last - tb->head.start.ticks) / tb->ticks_per_ns);
        if (!tb->head.end_ticks)
            tb->head.end_ticks = tb_ticks(tb, ns + 1000);
        set_latest(tb, ns + 1000000);
    }
    memcpy(tb->image, &tb->head, sizeof tb->head);
    *size = tb->size;
    return tb->image;
}

void tb_write(struct tb *tb, const char *path)
{
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        tb_die(path);
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, image + done, size - done, (off_t)done);
        if (n <= 0)
            tb_die(path);
        done += (size_t)n;
    }
    if (ftruncate(fd, (off_t)size))
        tb_die(path);
    close(fd);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* The EVENTS chunk that has been full for longest; NONE if there is none. */
static uint32_t oldest_full(struct tb *tb)
{
    uint32_t found = NONE;
    uint64_t sequence = UINT64_MAX;
    for (uint32_t i = 0; i < tb->chunks; i++) {
        const struct trc_chunk *chunk = tb_chunk_at(tb, i);
        if (chunk->kind == TRC_CHUNK_EVENTS && chunk->state == TRC_CHUNK_FULL && chunk->sequence < sequence) {
            found = i;
            sequence = chunk->sequence;
        }
    }
    return found;
}

uint32_t tb_take_chunk(struct tb *tb, enum trc_chunk_kind kind, uint32_t thread, uint64_t ticks)
{
    uint32_t number = NONE;
    if (tb->chunks >= tb->limit && kind == TRC_CHUNK_EVENTS)
        number = oldest_full(tb);
    if (number != NONE) {
        const struct trc_chunk *old = tb_chunk_at(tb, number);
        tb->head.recycled_chunks++;
        tb->head.recycled_records += old->records;
        memset(tb_chunk_at(tb, number), 0, tb->chunk_size);
    } else {
        number = tb->chunks++;
        tb->head.blocks_allocated = tb->head.blocks_used = tb->chunks * (tb->chunk_size / TRC_BLOCK);
        resize(tb, tb->head.chunks_offset + (size_t)tb->chunks * tb->chunk_size);
    }
    struct trc_chunk *chunk = tb_chunk_at(tb, number);
    *chunk = (struct trc_chunk){.magic = TRC_CHUNK_MAGIC,
                                .kind = (uint8_t)kind,
                                .state = TRC_CHUNK_OPEN,
                                .thread = (uint16_t)thread,
                                .block = number * (tb->chunk_size / TRC_BLOCK),
                                .blocks = tb->chunk_size / TRC_BLOCK,
                                .sequence = ++tb->sequence,
                                .first_ticks = ticks,
                                .last_ticks = ticks};
    return number;
}

struct thread *tb_thread_of(struct tb *tb, uint32_t index)
{
    struct thread *thread = &tb->threads[index];
    if (thread->page == NONE && tb->chunk_size >= PAGE_LEAST) {
        thread->page = tb_take_chunk(tb, TRC_CHUNK_THREAD, index, tb->head.start.ticks);
        struct trc_page *page = tb_chunk_at(tb, thread->page);
        page->chunk.committed = sizeof *page - sizeof page->chunk;
        page->thread.tid = tb->head.pid + index;
        page->thread.index = index;
        tb->head.threads++;
        snprintf(page->thread.name, sizeof page->thread.name, "app");
    }
    if (!thread->base)
        thread->base = tb->head.start.ticks;
    return thread;
}

struct trc_page *tb_page_of(struct tb *tb, const struct thread *thread)
{
    return thread->page == NONE ? NULL : tb_chunk_at(tb, thread->page);
}

void tb_device_stream(struct tb *tb, uint32_t index, struct trc_device_stream of)
{
    struct trc_page *page = tb_page_of(tb, tb_thread_of(tb, index));
    if (!page)
        return;
    page->thread.tid = 0;
    page->of = of;
}

void tb_next_chunk(struct tb *tb, uint32_t index)
{
    struct thread *thread = tb_thread_of(tb, index);
    if (thread->chunk != NONE) {
        struct trc_chunk *full = tb_chunk_at(tb, thread->chunk);
        full->state = TRC_CHUNK_FULL;
        thread->earlier += full->records;
    }
    thread->chunk = NONE;
}

void tb_forget(struct tb *tb)
{
    for (uint32_t i = 0; i < tb->chunks; i++) {
        struct trc_chunk *chunk = tb_chunk_at(tb, i);
        if (chunk->kind != TRC_CHUNK_EVENTS)
            continue;
        tb->head.recycled_chunks++;
        tb->head.recycled_records += chunk->records;
        chunk->magic = 0;
        memset(chunk + 1, 0, tb->chunk_size - sizeof *chunk);
    }
    for (uint32_t i = 0; i < TRC_MAX_THREADS; i++)
        tb->threads[i].chunk = NONE;
}

/* Returns the place of the thread's next item, if it has a chunk with room. */
uint8_t *tb_here(struct tb *tb, const struct thread *thread)
{
    return (uint8_t *)tb_chunk_at(tb, thread->chunk) + sizeof(struct trc_chunk) + thread->at;
}

/* Returns the place of the thread's next item, after room for a signature and an item was made. */
uint8_t *tb_room(struct tb *tb, struct thread *thread)
{
    uint32_t index = (uint32_t)(thread - tb->threads), usable = tb->chunk_size - (uint32_t)sizeof(struct trc_chunk);
    if (thread->chunk != NONE && thread->at + 2 * TRC_ITEM_MAX > usable)
        tb_next_chunk(tb, index);
    if (thread->chunk == NONE) {
        thread->chunk = tb_take_chunk(tb, TRC_CHUNK_EVENTS, index, thread->base);
        struct trc_chunk *chunk = tb_chunk_at(tb, thread->chunk);
        chunk->lost = thread->lost;
        chunk->earlier = thread->earlier;
        chunk->first_start = thread->starts;
        thread->at = 0;
        thread->sig_count = 0;
        thread->in_row = false;
        thread->fold_at = 0;
    }
    return tb_here(tb, thread);
}

void tb_commit(struct tb *tb, struct thread *thread, const uint8_t *end, uint32_t records, uint64_t ticks)
{
    struct trc_chunk *chunk = tb_chunk_at(tb, thread->chunk);
    thread->at = (uint32_t)(end - (const uint8_t *)(chunk + 1));
    chunk->committed = thread->at;
    chunk->records += records;
    if (ticks > chunk->last_ticks)
        chunk->last_ticks = ticks;
}

/* Number of a signature in the thread's chunk, defined there if it is new. */
uint32_t tb_define_sig(struct tb *tb, struct thread *thread, const struct trc_sig *sig)
{
    tb_name_call(tb, sig->call);
    uint8_t *at = tb_room(tb, thread);
    for (uint32_t i = thread->sig_count; i-- > 0;)
        if (!memcmp(&thread->sigs[i].sig, sig, sizeof *sig))
            return i;
    if (thread->sig_count == thread->sig_room) {
        thread->sig_room = thread->sig_room ? thread->sig_room * 2 : 64;
        thread->sigs = realloc(thread->sigs, thread->sig_room * sizeof *thread->sigs);
        if (!thread->sigs)
            tb_die("trace builder");
    }
    thread->sigs[thread->sig_count] = (struct sig_state){*sig, 0};
    tb_commit(tb, thread, trc_put_sig(at, sig), 0, 0);
    return thread->sig_count++;
}
