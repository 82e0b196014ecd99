/* Definitions of built traces: communicators, windows, files, places, facts, stacks, operations of devices. */
#include "tests/support/trace_builder_impl.h"
#include "trace/format/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void define_in(struct tb *tb, struct defs_place *place, enum trc_chunk_kind kind, uint32_t reason,
                      struct trc_def as, const void *payload, size_t payload_size)
{
    uint32_t slots = (uint32_t)((sizeof(struct trc_def) + payload_size + TRC_DEF_SLOT - 1) / TRC_DEF_SLOT);
    if (place->chunk == NONE ||
        place->at + slots * TRC_DEF_SLOT > tb->chunk_size - (uint32_t)sizeof(struct trc_chunk)) {
        place->chunk = tb_take_chunk(tb, kind, reason, tb->head.start.ticks);
        place->at = 0;
    }
    struct trc_chunk *chunk = tb_chunk_at(tb, place->chunk);
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

void tb_name_call(struct tb *tb, uint32_t call)
{
    size_t count;
    const struct trc_call *calls = tb_calls(&count);
    if (call >= count || tb->named[call])
        return;
    tb->named[call] = 1;
    size_t size = strlen(calls[call].name);
    tb_define(tb, TRC_DEF_CALL, call, calls[call].opclass, 0, calls[call].name, size, size);
}

void tb_define(struct tb *tb, enum trc_def_type type, uint32_t id, uint32_t a, uint64_t b, const void *payload,
               size_t payload_size, size_t text_size)
{
    if (type == TRC_DEF_COMM)
        tb_name_call(tb, ((const struct trc_def_comm *)payload)->created_by);
    if (type == TRC_DEF_LEFT)
        tb_name_call(tb, a);
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

void tb_crash(struct tb *tb, int signal)
{
    struct trc_def_stack crash = {.reason = TRC_STACK_FATAL, .state = 'R', .signal = (uint8_t)signal};
    crash.flags = TRC_STACK_MAIN | TRC_STACK_CRASHED;
    tb_stack(tb, 1, 1, crash, "");
    crash.flags = TRC_STACK_CLOSING;
    tb_stack(tb, 1, 0, crash, "");
}

void tb_intercomm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size,
                  int32_t remote_size)
{
    uint32_t n = (uint32_t)(size + remote_size);
    size_t bytes = sizeof(struct trc_def_comm) + n * sizeof *members;
    struct trc_def_comm *comm = calloc(1, bytes);
    if (!comm)
        tb_die("trace builder");
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
    tb_name_call(tb, def.comm.created_by);
    define_in(
        tb, &tb->defs, TRC_CHUNK_DEFS, 0,
        (struct trc_def){
            .type = TRC_DEF_COMM, .id = id, .b = c->asked ? tb_ticks(tb, c->asked) : 0, .ticks = tb_ticks(tb, c->ns)},
        &def, sizeof def.comm + def.comm.members * sizeof *def.member);
}

void tb_comm(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, const int32_t *members, int32_t size)
{
    tb_intercomm(tb, id, identity, rank, members, size, 0);
}

void tb_gpu_op(struct tb *tb, struct trc_gpu_op op)
{
    uint64_t *const times[] = {&op.called, &op.enqueued, &op.started, &op.ended};
    if (!tb->gpu) {
        tb->gpu = tb_take_chunk(tb, TRC_CHUNK_GPU, 0, tb->head.start.ticks) + 1;
        struct trc_gpu_head *fresh = (void *)((char *)tb_chunk_at(tb, tb->gpu - 1) + sizeof(struct trc_chunk));
        *fresh = (struct trc_gpu_head){
            .watch = TRC_GPU_WATCH_EVENTS, .slot_size = sizeof(struct trc_gpu_op), .slots = TRC_GPU_OPS};
        size_t room = (tb->chunk_size - sizeof(struct trc_chunk) - sizeof *fresh) / sizeof(struct trc_gpu_op);
        if (room < TRC_GPU_OPS)
            fresh->slots = (uint32_t)room;
    }
    struct trc_gpu_head *head = (void *)((char *)tb_chunk_at(tb, tb->gpu - 1) + sizeof(struct trc_chunk));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = *times[i] ? tb_ticks(tb, (int64_t)*times[i]) : 0;
    tb_name_call(tb, op.call);
    head = (void *)((char *)tb_chunk_at(tb, tb->gpu - 1) + sizeof(struct trc_chunk)); /* the image may have moved */
    op.number = ++head->begun;
    ((struct trc_gpu_op *)(head + 1))[(op.number - 1) % head->slots] = op;
}

/* Puts an item of usage; false: the chunk has no room. */
static bool put_usage(struct tb *tb, uint64_t ticks, const struct trc_usage *usage, size_t n)
{
    static uint8_t item[TRC_USAGE_ITEM_MAX + TRC_USAGE_ENTRY_MAX];
    struct trc_chunk *chunk = tb_chunk_at(tb, tb->usage - 1);
    uint8_t *at = trc_put_varint(item, ticks - tb->usage_base), *begin = (uint8_t *)(chunk + 1) + chunk->committed;
    for (size_t i = 0; i < n && at - item < TRC_USAGE_ITEM_MAX; i++)
        at = trc_put_usage(at, &usage[i]);
    size_t size = (size_t)(at - item);
    if (chunk->committed + size + TRC_VARINT_MAX > tb->chunk_size - sizeof *chunk)
        return false;
    uint8_t *end = trc_put_varint(begin, size);
    memcpy(end, item, size);
    chunk->committed += (uint32_t)(end + size - begin);
    chunk->last_ticks = tb->usage_base = ticks;
    return true;
}

void tb_usage(struct tb *tb, int64_t begin, int64_t end, const struct trc_usage *usage, size_t n)
{
    uint64_t from = tb_ticks(tb, begin);
    for (bool done = false; !done;) {
        if (!tb->usage) {
            tb->usage_base = tb->usage_base ? tb->usage_base : from;
            tb->usage = tb_take_chunk(tb, TRC_CHUNK_USAGE, 0, tb->usage_base) + 1;
        }
        done =
            (from <= tb->usage_base || put_usage(tb, from, NULL, 0)) && put_usage(tb, tb_ticks_at(tb, end), usage, n);
        if (!done)
            tb->usage = 0;
    }
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
void tb_comm_doubt(struct tb *tb, uint32_t id, uint64_t from)
{
    tb_define(tb, TRC_DEF_DOUBT, id, 0, from, "", 0, 0);
}
void tb_win(struct tb *tb, uint32_t id, uint32_t comm)
{
    define_text(tb, TRC_DEF_WIN, id, comm, "");
}
uint32_t tb_ranks(struct tb *tb, const int32_t *ranks, uint32_t n)
{
    size_t bytes = n * sizeof *ranks;
    for (uint32_t i = 0; i < tb->lists; i++)
        if (tb->list[i].n == n && memcmp(tb->list[i].rank, ranks, bytes) == 0)
            return i + 1;
    if (tb->lists == TB_LISTS || n > TB_LIST_RANKS)
        tb_die("trace builder: lists of ranks");
    tb->list[tb->lists].n = n;
    memcpy(tb->list[tb->lists].rank, ranks, bytes);
    tb_define(tb, TRC_DEF_RANKS, ++tb->lists, n, 0, ranks, bytes, 0);
    return tb->lists;
}
void tb_neighbors(struct tb *tb, uint32_t comm, uint32_t sources, uint32_t destinations)
{
    tb_define(tb, TRC_DEF_NEIGHBORS, comm, sources, destinations, "", 0, 0);
}
void tb_file(struct tb *tb, uint32_t id, uint32_t comm, const char *name)
{
    define_text(tb, TRC_DEF_FILE, id, comm, name);
}

static void define_site(struct tb *tb, uint64_t address, const char *function, const char *module, const char *near)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%s%c%s%c%s", function, 0, module, 0, near) - !*near;
    tb_define(tb, TRC_DEF_SITE, 0, 0, address, text, (size_t)size, (size_t)size);
}

void tb_site(struct tb *tb, uint64_t address, const char *function, const char *module)
{
    define_site(tb, address, function, module, "");
}

void tb_site_near(struct tb *tb, uint64_t address, const char *module, const char *near)
{
    define_site(tb, address, "", module, near);
}

void tb_path(struct tb *tb, uint32_t id, const uint64_t *site, uint32_t n, enum trc_path_end end)
{
    tb_define(tb, TRC_DEF_PATH, id, n, end, site, n * sizeof *site, 0);
}
