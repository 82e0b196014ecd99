#include "tests/support/trace_builder.h"
#include "tests/support/trace_counters.h"
#include "trace/encode.h"
#include "trace/uses.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define NONE UINT32_MAX

struct sig_state {
    struct trc_sig sig;
    uint64_t sequence;
};

struct thread {
    uint32_t page, chunk; /* numbers, or NONE */
    uint32_t at;          /* bytes of items in the chunk */
    uint64_t base, row_base, starts, lost;
    bool in_row;
    uint32_t fold_at; /* of the last FOLD's counters, in the chunk's items; 0: none */
    uint64_t fold_begin, fold_base, fold_count, fold_busy;
    struct sig_state *sigs; /* of the chunk */
    uint32_t sig_count, sig_room;
    struct trc_row overflow;
};

/* A chunk of definitions and the bytes in it. */
struct defs_place {
    uint32_t chunk, at;
};

struct tb {
    uint8_t *image;
    size_t size, room;
    struct trc_head head;
    double ticks_per_ns;
    uint64_t last_ticks, sequence;
    struct defs_place defs, stacks[TRC_STACK_REASONS];
    uint32_t recycle;
    uint32_t gpu; /* chunk + 1 */
    bool open;    /* tb_running */
    struct thread threads[TRC_MAX_THREADS];
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void *chunk_at(struct tb *tb, uint32_t chunk)
{
    return tb->image + tb->head.chunks_offset + (size_t)chunk * tb->head.chunk_size;
}

static void resize(struct tb *tb, size_t size)
{
    if (size > tb->room) {
        size_t room = size + size / 2;
        uint8_t *grown = realloc(tb->image, room);
        if (!grown)
            die("trace builder");
        memset(grown + tb->room, 0, room - tb->room);
        tb->image = grown;
        tb->room = room;
    }
    tb->size = size;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

struct tb *tb_new(int32_t rank, int32_t world_size)
{
    return tb_new_small(rank, world_size, TRC_CHUNK_SIZE, 1u << 20);
}

struct tb *tb_new_small(int32_t rank, int32_t world_size, uint32_t chunk_size, uint32_t limit)
{
    static const struct trc_schema_call calls[] = {
#define TB_CALL(id, name, class) {name, TRC_OP_##class, "-"},
        TB_CALLS(TB_CALL)
#undef TB_CALL
    };
    struct tb *tb = calloc(1, sizeof *tb);
    if (!tb)
        die("trace builder");
    size_t schema = trc_schema_write(NULL, 0, calls, TB_CALL_COUNT);
    resize(tb, (TRC_HEAD_SIZE + schema + PAGE - 1) / PAGE * PAGE);
    trc_schema_write((char *)tb->image + TRC_HEAD_SIZE, schema, calls, TB_CALL_COUNT);
    tb->head = (struct trc_head){.magic = TRC_MAGIC,
                                 .version = TRC_VERSION,
                                 .byte_order = TRC_BYTE_ORDER,
                                 .schema_offset = TRC_HEAD_SIZE,
                                 .schema_size = (uint32_t)schema,
                                 .chunk_size = chunk_size,
                                 .chunk_limit = limit,
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

void tb_free(struct tb *tb)
{
    for (size_t i = 0; i < TRC_MAX_THREADS; i++)
        free(tb->threads[i].sigs);
    free(tb->image);
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
static uint64_t ticks_at(struct tb *tb, int64_t ns)
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
        die(path);
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, image + done, size - done, (off_t)done);
        if (n <= 0)
            die(path);
        done += (size_t)n;
    }
    if (ftruncate(fd, (off_t)size))
        die(path);
    close(fd);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* The EVENTS chunk that has been full for longest; NONE if there is none. */
static uint32_t oldest_full(struct tb *tb)
{
    uint32_t found = NONE;
    uint64_t sequence = UINT64_MAX;
    for (uint32_t i = 0; i < tb->head.chunks_used; i++) {
        const struct trc_chunk *chunk = chunk_at(tb, i);
        if (chunk->kind == TRC_CHUNK_EVENTS && chunk->state == TRC_CHUNK_FULL && chunk->sequence < sequence) {
            found = i;
            sequence = chunk->sequence;
        }
    }
    return found;
}

static uint32_t take_chunk(struct tb *tb, enum trc_chunk_kind kind, uint32_t thread, uint64_t ticks)
{
    uint32_t number = NONE;
    if (tb->head.chunks_used >= tb->head.chunk_limit && kind == TRC_CHUNK_EVENTS)
        number = oldest_full(tb);
    if (number != NONE) {
        const struct trc_chunk *old = chunk_at(tb, number);
        tb->head.recycled_chunks++;
        tb->head.recycled_records += old->records;
    } else {
        number = tb->head.chunks_used++;
        tb->head.chunks_allocated = tb->head.chunks_used;
        resize(tb, tb->head.chunks_offset + (size_t)tb->head.chunks_used * tb->head.chunk_size);
    }
    struct trc_chunk *chunk = chunk_at(tb, number);
    memset(chunk, 0, tb->head.chunk_size);
    *chunk = (struct trc_chunk){.magic = TRC_CHUNK_MAGIC,
                                .kind = (uint8_t)kind,
                                .state = TRC_CHUNK_OPEN,
                                .thread = (uint16_t)thread,
                                .sequence = ++tb->sequence,
                                .first_ticks = ticks,
                                .last_ticks = ticks};
    return number;
}

static struct thread *thread_of(struct tb *tb, uint32_t index)
{
    struct thread *thread = &tb->threads[index];
    if (thread->page == NONE && tb->head.chunk_size >= sizeof(struct trc_thread_chunk)) {
        thread->page = take_chunk(tb, TRC_CHUNK_THREAD, index, tb->head.start.ticks);
        struct trc_thread_chunk *page = chunk_at(tb, thread->page);
        page->thread.tid = tb->head.pid + index;
        page->thread.index = index;
        snprintf(page->thread.name, sizeof page->thread.name, "app");
    }
    if (!thread->base)
        thread->base = tb->head.start.ticks;
    return thread;
}

static struct trc_thread_chunk *page_of(struct tb *tb, const struct thread *thread)
{
    return thread->page == NONE ? NULL : chunk_at(tb, thread->page);
}

void tb_device_stream(struct tb *tb, uint32_t index, struct trc_device_stream of)
{
    struct trc_thread_chunk *page = page_of(tb, thread_of(tb, index));
    if (!page)
        return;
    page->thread.tid = 0;
    page->of = of;
}

void tb_next_chunk(struct tb *tb, uint32_t index)
{
    struct thread *thread = thread_of(tb, index);
    if (thread->chunk != NONE)
        ((struct trc_chunk *)chunk_at(tb, thread->chunk))->state = TRC_CHUNK_FULL;
    thread->chunk = NONE;
}

/* Where the thread's next item goes, if it has a chunk with room. */
static uint8_t *here(struct tb *tb, const struct thread *thread)
{
    return (uint8_t *)chunk_at(tb, thread->chunk) + sizeof(struct trc_chunk) + thread->at;
}

/* The same, with room for a signature and an item made. */
static uint8_t *room(struct tb *tb, struct thread *thread)
{
    uint32_t index = (uint32_t)(thread - tb->threads),
             usable = tb->head.chunk_size - (uint32_t)sizeof(struct trc_chunk);
    if (thread->chunk != NONE && thread->at + 2 * TRC_ITEM_MAX > usable)
        tb_next_chunk(tb, index);
    if (thread->chunk == NONE) {
        thread->chunk = take_chunk(tb, TRC_CHUNK_EVENTS, index, thread->base);
        struct trc_chunk *chunk = chunk_at(tb, thread->chunk);
        chunk->lost = thread->lost;
        chunk->first_start = thread->starts;
        thread->at = 0;
        thread->sig_count = 0;
        thread->in_row = false;
        thread->fold_at = 0;
    }
    return here(tb, thread);
}

static void commit(struct tb *tb, struct thread *thread, const uint8_t *end, uint32_t records, uint64_t ticks)
{
    struct trc_chunk *chunk = chunk_at(tb, thread->chunk);
    thread->at = (uint32_t)(end - (const uint8_t *)(chunk + 1));
    chunk->committed = thread->at;
    chunk->records += records;
    if (ticks > chunk->last_ticks)
        chunk->last_ticks = ticks;
}

/* Number of a signature in the thread's chunk, defined there if it is new. */
static uint32_t define_sig(struct tb *tb, struct thread *thread, const struct trc_sig *sig)
{
    uint8_t *at = room(tb, thread);
    for (uint32_t i = thread->sig_count; i-- > 0;)
        if (!memcmp(&thread->sigs[i].sig, sig, sizeof *sig))
            return i;
    if (thread->sig_count == thread->sig_room) {
        thread->sig_room = thread->sig_room ? thread->sig_room * 2 : 64;
        thread->sigs = realloc(thread->sigs, thread->sig_room * sizeof *thread->sigs);
        if (!thread->sigs)
            die("trace builder");
    }
    thread->sigs[thread->sig_count] = (struct sig_state){*sig, 0};
    commit(tb, thread, trc_put_sig(at, sig), 0, 0);
    return thread->sig_count++;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

struct trc_sig tb_sig(enum tb_call call)
{
    return (struct trc_sig){
        .call = call, .peer = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .source = TRC_PEER_NONE, .rtag = TRC_TAG_NONE};
}

/* What follows an event's times, or its signature if it is a SUB. */
static uint8_t *put_rest(struct tb *tb, struct thread *thread, uint8_t *at, uint32_t number, struct tb_more more)
{
    struct sig_state *state = &thread->sigs[number];
    if (state->sig.flags & TRC_SIG_COLL) {
        at = trc_put_varint(at, more.sequence - state->sequence);
        state->sequence = more.sequence;
    }
    if (state->sig.flags & TRC_SIG_COMPLETE)
        at = trc_put_request(at, (uint32_t)(thread - tb->threads), thread->starts, more.request_thread, more.request);
    thread->in_row = false;
    thread->fold_at = 0;
    return at;
}

static uint64_t start_number(struct thread *thread, const struct trc_sig *sig)
{
    return sig->flags & TRC_SIG_START ? thread->starts++ : UINT64_MAX;
}

uint64_t tb_event(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t begin_ns, int64_t end_ns,
                  struct tb_more more)
{
    struct thread *thread = thread_of(tb, index);
    uint64_t begin = tb_ticks(tb, begin_ns), end = ticks_at(tb, end_ns);
    uint32_t number = define_sig(tb, thread, sig);
    uint8_t *at = trc_put_event(here(tb, thread), number);
    if (begin < thread->base) {
        fprintf(stderr, "trace builder: a call begins before the one before it ends\n");
        exit(1);
    }
    at = trc_put_varint(at, begin - thread->base);
    at = trc_put_varint(at, end - begin);
    at = put_rest(tb, thread, at, number, more);
    if (!(sig->flags & TRC_SIG_NESTED))
        thread->base = end;
    commit(tb, thread, at, 1, end);
    tb_count(page_of(tb, thread), sig, end - begin, 1);
    struct trc_thread_chunk *page = page_of(tb, thread);
    if (page) {
        page->thread.inside = 0;
        page->thread.last_end = end;
    }
    return start_number(thread, sig);
}

uint64_t tb_sub(struct tb *tb, uint32_t index, const struct trc_sig *sig, struct tb_more more)
{
    struct thread *thread = thread_of(tb, index);
    struct trc_sig sub = *sig;
    sub.flags |= TRC_SIG_SUB;
    uint32_t number = define_sig(tb, thread, &sub);
    uint8_t *at = trc_put_event(here(tb, thread), number);
    commit(tb, thread, put_rest(tb, thread, at, number, more), 1, 0);
    tb_count(page_of(tb, thread), &sub, 0, 0);
    return start_number(thread, sig);
}

void tb_fold(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t begin_ns, int64_t end_ns, uint64_t polls,
             int64_t busy_ns)
{
    struct thread *thread = thread_of(tb, index);
    uint32_t number = define_sig(tb, thread, sig);
    uint8_t *at = here(tb, thread), *counters;
    uint64_t begin = tb_ticks(tb, begin_ns), end = ticks_at(tb, end_ns);
    if (!thread->in_row)
        thread->row_base = thread->base;
    thread->in_row = true;
    thread->fold_begin = begin;
    thread->fold_count = polls;
    thread->fold_busy = tb_ticks(tb, busy_ns) - tb->head.start.ticks;
    at = trc_put_fold(at, number, begin - thread->row_base, polls, thread->fold_busy, end - begin, &counters);
    thread->fold_at = (uint32_t)(counters - (uint8_t *)chunk_at(tb, thread->chunk));
    if (end > thread->base)
        thread->base = end;
    commit(tb, thread, at, 1, end);
    tb_count(page_of(tb, thread), sig, thread->fold_busy, polls);
}

void tb_fold_more(struct tb *tb, uint32_t index, int64_t end_ns, uint64_t polls, int64_t busy_ns)
{
    struct thread *thread = thread_of(tb, index);
    if (!thread->fold_at)
        die("trace builder: no FOLD to count into");
    thread->fold_count += polls;
    thread->fold_busy += tb_ticks(tb, busy_ns) - tb->head.start.ticks;
    uint64_t end = ticks_at(tb, end_ns);
    trc_set_fold((uint8_t *)chunk_at(tb, thread->chunk) + thread->fold_at, thread->fold_count, thread->fold_busy,
                 end - thread->fold_begin);
    if (end > thread->base)
        thread->base = end;
    ((struct trc_chunk *)chunk_at(tb, thread->chunk))->last_ticks = end;
}

void tb_lost(struct tb *tb, uint32_t index, uint64_t records)
{
    struct thread *thread = thread_of(tb, index);
    commit(tb, thread, trc_put_lost(room(tb, thread), records), 1, 0);
    thread->in_row = false;
    thread->fold_at = 0;
    thread->lost += records;
    tb->head.lost_records += records;
}

void tb_raw(struct tb *tb, uint32_t index, const void *bytes, size_t size, uint32_t records)
{
    struct thread *thread = thread_of(tb, index);
    uint8_t *at = room(tb, thread);
    memcpy(at, bytes, size);
    thread->in_row = false;
    commit(tb, thread, at + size, records, 0);
}

void tb_inside(struct tb *tb, uint32_t index, const struct trc_sig *sig, int64_t since, uint64_t sequence)
{
    struct trc_thread_chunk *page = page_of(tb, thread_of(tb, index));
    if (!page)
        return;
    page->sigs[7] = *sig;
    page->thread.inside_since = tb_ticks(tb, since);
    page->thread.inside_sequence = sequence;
    page->thread.inside = 8;
}

void tb_uses(struct tb *tb, uint32_t index, const struct trc_sig *sig, uint64_t uses)
{
    struct trc_thread_chunk *page = page_of(tb, thread_of(tb, index));
    uint32_t at = 16;
    while (page && page->uses[at])
        at++;
    if (!page)
        return;
    page->sigs[at] = *sig;
    page->uses[at] = uses;
}

void tb_uses_torn(struct tb *tb, uint32_t index, const struct trc_sig *sig, uint64_t uses)
{
    struct trc_thread_chunk *page = page_of(tb, thread_of(tb, index));
    if (!page)
        return;
    struct trc_thread *thread = &page->thread;
    struct trc_row *row = trc_row_place(page->rows, sig).exact;
    struct trc_peer *out = sig->peer >= 0 ? &page->peers[(uint32_t)sig->peer % TRC_PEERS] : NULL;
    page->sigs[15] = *sig;
    page->undo = (struct trc_undo){
        .index_plus_1 = 16,
        .row = row ? (uint32_t)(row - page->rows) + 1 : 0,
        .out = out ? (uint32_t)(out - page->peers) + 1 : 0,
        .uses = uses,
        .row_sent = row ? row->sent : 0,
        .row_received = row ? row->received : 0,
        .out_messages = out ? out->sent_messages : 0,
        .out_bytes = out ? out->sent_bytes : 0,
        .sent = thread->sent,
        .received = thread->received,
        .sent_messages = thread->sent_messages,
        .received_messages = thread->received_messages,
        .peer_overflow = thread->peer_overflow,
    };
    thread->sent += sig->sent * uses;
    if (row)
        row->sent += sig->sent * uses;
    if (out)
        out->sent_messages += uses; /* and here it was killed */
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void define_in(struct tb *tb, struct defs_place *place, enum trc_chunk_kind kind, uint32_t reason,
                      struct trc_def as, const void *payload, size_t payload_size)
{
    uint32_t slots = (uint32_t)((sizeof(struct trc_def) + payload_size + TRC_DEF_SLOT - 1) / TRC_DEF_SLOT);
    if (place->chunk == NONE ||
        place->at + slots * TRC_DEF_SLOT > tb->head.chunk_size - (uint32_t)sizeof(struct trc_chunk)) {
        place->chunk = take_chunk(tb, kind, reason, tb->head.start.ticks);
        place->at = 0;
    }
    struct trc_chunk *chunk = chunk_at(tb, place->chunk);
    struct trc_def *def = (struct trc_def *)(void *)((uint8_t *)(chunk + 1) + place->at);
    *def = as;
    def->slots = (uint16_t)slots;
    if (!as.ticks)
        def->ticks = tb->last_ticks ? tb->last_ticks : tb->head.start.ticks;
    if (payload_size)
        memcpy(def + 1, payload, payload_size);
    place->at += slots * TRC_DEF_SLOT;
    chunk->committed = place->at;
}

void tb_define(struct tb *tb, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b, const void *payload,
               size_t payload_size, size_t text_size)
{
    define_in(tb, &tb->defs, TRC_CHUNK_DEFS, 0,
              (struct trc_def){.type = type, .text_bytes = (uint16_t)text_size, .id = id, .a = a, .b = b}, payload,
              payload_size);
}

void tb_fact(struct tb *tb, const char *key, const char *value)
{
    char text[1024];
    int size = snprintf(text, sizeof text, "%s%c%s", key, 0, value);
    tb_define(tb, TRC_DEF_FACT, 0, 0, 0, text, (size_t)size, (size_t)size);
}

void tb_stack(struct tb *tb, uint32_t snapshot, uint32_t tid, struct trc_def_stack stack, const char *text)
{
    char payload[sizeof stack + TRC_STACK_TEXT];
    size_t size = strlen(text);
    memcpy(payload, &stack, sizeof stack);
    memcpy(payload + sizeof stack, text, size);
    define_in(tb, &tb->stacks[stack.reason % TRC_STACK_REASONS], TRC_CHUNK_STACKS, stack.reason,
              (struct trc_def){.type = TRC_DEF_STACK, .text_bytes = (uint16_t)size, .id = snapshot, .a = tid}, payload,
              sizeof stack + size);
}

void tb_intercomm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size,
                  int32_t remote_size)
{
    uint32_t n = (uint32_t)(size + remote_size);
    size_t bytes = sizeof(struct trc_def_comm) + n * sizeof *members;
    struct trc_def_comm *comm = calloc(1, bytes);
    if (!comm)
        die("trace builder");
    *comm = (struct trc_def_comm){.identity = identity,
                                  .parent = TB_WORLD_IDENTITY,
                                  .rank = rank,
                                  .size = size,
                                  .remote_size = remote_size,
                                  .flags = remote_size ? TRC_COMM_INTER : 0,
                                  .members = n,
                                  .created_by = TB_COMM_DUP};
    memcpy(comm + 1, members, n * sizeof *members);
    tb_define(tb, TRC_DEF_COMM, id, 0, 0, comm, bytes, 0);
    free(comm);
}

void tb_between(struct tb *tb, uint32_t id, const struct tb_between *c)
{
    struct {
        struct trc_def_comm comm;
        int32_t member[64];
    } def = {.comm = {.identity = c->identity,
                      .parent = c->parent,
                      .rank = c->rank,
                      .size = c->inter ? c->here : c->here + c->beyond,
                      .remote_size = c->inter ? c->beyond : 0,
                      .flags = TRC_COMM_FOREIGN | (c->inter ? TRC_COMM_INTER : 0),
                      .members = (uint32_t)(c->here + c->beyond),
                      .created_by = c->call == TB_CALL_COUNT ? UINT32_MAX : (uint32_t)c->call}};
    int32_t first = !c->inter && c->last ? c->beyond : 0;
    for (int32_t i = 0; i < c->here + c->beyond; i++)
        def.member[i] = i >= first && i < first + c->here ? i - first : -1;
    define_in(tb, &tb->defs, TRC_CHUNK_DEFS, 0,
              (struct trc_def){.type = TRC_DEF_COMM, .id = id, .ticks = tb_ticks(tb, c->ns)}, &def,
              sizeof def.comm + def.comm.members * sizeof *def.member);
}

void tb_comm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size)
{
    tb_intercomm(tb, id, identity, rank, members, size, 0);
}

void tb_gpu_op(struct tb *tb, struct trc_gpu_op op)
{
    uint64_t *const times[] = {&op.called, &op.enqueued, &op.started, &op.ended};
    if (!tb->gpu) {
        tb->gpu = take_chunk(tb, TRC_CHUNK_GPU, 0, tb->head.start.ticks) + 1;
        struct trc_gpu_head *fresh = (void *)((char *)chunk_at(tb, tb->gpu - 1) + sizeof(struct trc_chunk));
        *fresh = (struct trc_gpu_head){
            .watch = TRC_GPU_WATCH_EVENTS, .slot_size = sizeof(struct trc_gpu_op), .slots = TRC_GPU_OPS};
    }
    struct trc_gpu_head *head = (void *)((char *)chunk_at(tb, tb->gpu - 1) + sizeof(struct trc_chunk));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = *times[i] ? tb_ticks(tb, (int64_t)*times[i]) : 0;
    op.number = ++head->begun;
    ((struct trc_gpu_op *)(head + 1))[(op.number - 1) % TRC_GPU_OPS] = op;
}

static void define_text(struct tb *tb, enum trc_def_type type, uint32_t id, uint32_t comm, const char *text)
{
    tb_define(tb, type, id, comm, 0, text, strlen(text), strlen(text));
}

void tb_comm_name(struct tb *tb, uint32_t id, const char *name)
{
    define_text(tb, TRC_DEF_NAME, id, 0, name);
}
void tb_comm_free(struct tb *tb, uint32_t id)
{
    define_text(tb, TRC_DEF_FREE, id, 0, "");
}
void tb_win(struct tb *tb, uint32_t id, uint32_t comm)
{
    define_text(tb, TRC_DEF_WIN, id, comm, "");
}
void tb_file(struct tb *tb, uint32_t id, uint32_t comm, const char *name)
{
    define_text(tb, TRC_DEF_FILE, id, comm, name);
}

void tb_site(struct tb *tb, uint64_t address, const char *function, const char *module)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%s%c%s", function, 0, module);
    tb_define(tb, TRC_DEF_SITE, 0, 0, address, text, (size_t)size, (size_t)size);
}
