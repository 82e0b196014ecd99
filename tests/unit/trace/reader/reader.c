/* A trace file as a whole: head, definitions, live pages, growth, damage. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/reader/dump.h"
#include "trace/reader/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static char error[512];

static void write_bytes(const void *bytes, size_t size)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
        exit(1);
}

/* Opens `path`, which must be readable. */
static struct trc_file *open_good(void)
{
    struct trc_file *file = NULL;
    error[0] = 0;
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_OK, "%s", error);
    if (!file)
        exit(1);
    return file;
}

static size_t damages(const struct trc_file *file)
{
    size_t n = 0;
    while (trc_damage(file, n))
        n++;
    return n;
}

static void test_head(void)
{
    struct tb *tb = tb_new(3, 8);
    tb_clock(tb, 777000000000, 1700000000123456789, 2.5);
    strcpy(tb_head(tb)->command, "./app \033[31mred");
    memset(tb_head(tb)->host, 'h', sizeof tb_head(tb)->host);
    tb_send(tb, 0, 1000, 2000, 1, 5, 64);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    const struct trc_head *head = trc_head(file);
    CHECK(head->rank == 3 && head->world_size == 8, "rank %d of %d", head->rank, head->world_size);
    CHECK(strlen(head->host) == sizeof head->host - 1, "a string without an end");
    CHECK(!strcmp(head->command, "./app ?[31mred"), "escape codes reach the terminal: %s", head->command);
    CHECK(trc_ns_per_tick(file) > 0.3999 && trc_ns_per_tick(file) < 0.4001, "%g ns a tick", trc_ns_per_tick(file));
    int64_t ns = trc_ticks_to_ns(file, tb_ticks(tb, 2000));
    CHECK(ns == 777000002000, "%lld", (long long)ns);
    CHECK(trc_ticks_to_ns(file, UINT64_MAX) > 0 && trc_ticks_to_ns(file, 0) < 777000000000, "times out of range");
    CHECK(!strcmp(trc_path(file), path), "%s", trc_path(file));
    CHECK(trc_call_known(file, TB_INIT) && !strcmp(trc_call(file, TB_INIT)->name, "MPI_Init") &&
              trc_call(file, TB_INIT)->opclass == TRC_OP_INIT,
          "a call that was used");
    size_t known = 0, sends = 0;
    for (uint32_t id = 0; id < TRC_CALLS_MAX; id++)
        known += trc_call_known(file, id);
    for (size_t i = 0; i < trc_calls(file); i++)
        sends += trc_call_id(file, i) == TB_SEND;
    CHECK(known == trc_calls(file) && sends == 1, "%zu calls are known, of %zu", known, trc_calls(file));
    CHECK(!trc_call_known(file, TB_BARRIER) && !strcmp(trc_call(file, TB_BARRIER)->name, "unknown call") &&
              !strcmp(trc_call(file, 60000)->name, "unknown call"),
          "calls that were not");
    CHECK(!damages(file), "%s", trc_damage(file, 0));
    trc_close(file);
    tb_free(tb);
}

/* Reasons why a file is no trace of ours are said in words. */
static void test_refused(void)
{
    struct tb *tb = tb_new(0, 1);
    size_t size;
    const uint8_t *good = tb_image(tb, &size);
    uint8_t *bytes = malloc(size);
    const struct {
        size_t offset;
        uint64_t value;
        unsigned width;
        const char *says;
    } bad[] = {
        {0, 0x4242, 2, "wrong magic"},
        {0, 0, 8, "not finished"},
        {6, '\n', 1, "text mode"},
        {offsetof(struct trc_head, version), TRC_VERSION + 1, 4, "newer hpctop (format 10, this one reads 9): update"},
        {offsetof(struct trc_head, version), TRC_VERSION - 1, 4, "older hpctop (format 8, this one reads 9): use that"},
        {offsetof(struct trc_head, byte_order), 0x04030201, 4, "byte order"},
        {offsetof(struct trc_head, block_size), 0, 4, "blocks of 0 bytes"},
        {offsetof(struct trc_head, block_size), 5000, 4, "blocks of 5000 bytes"},
        {offsetof(struct trc_head, block_size), 1u << 31, 4, "blocks of"},
        {offsetof(struct trc_head, chunks_offset), 0, 8, "chunks at 0"},
        {offsetof(struct trc_head, chunks_offset), UINT64_MAX - 100, 8, "chunks at"},
    };
    struct trc_file *file = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(bytes, good, size);
        memcpy(bytes + bad[i].offset, &bad[i].value, bad[i].width);
        write_bytes(bytes, size);
        CHECK(trc_open(path, &file, error, sizeof error) == TRC_BAD, "case %zu was taken", i);
        CHECK(strstr(error, bad[i].says) && strstr(error, path) && !strchr(error, '\n'), "case %zu says: %s", i, error);
    }
    write_bytes(good, 100);
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_BAD && strstr(error, "too short"), "%s", error);
    write_bytes("", 0);
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_BAD && strstr(error, "no space"), "%s", error);
    write_bytes("text", 4);
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_BAD && strstr(error, "too short"), "%s", error);
    CHECK(trc_open("/nonexistent/x", &file, error, sizeof error) == TRC_BAD && strstr(error, "No such"), "%s", error);
    CHECK(trc_open(".", &file, error, sizeof error) == TRC_BAD && strstr(error, "regular"), "%s", error);
    unlink(path);
    CHECK(mkfifo(path, 0600) == 0, "no pipe at %s", path);
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_BAD && strstr(error, "regular"), "%s", error);
    unlink(path);
    free(bytes);
    tb_free(tb);
}

static void test_definitions(void)
{
    struct tb *tb = tb_new(1, 4);
    const int32_t odd[] = {1, 3}, both[] = {1, 0, 2, -1};
    tb_comm(tb, 5, 0xabc, 0, odd, 2);
    tb_intercomm(tb, 6, 0xdef, 0, both, 1, 3);
    tb_comm_name(tb, 5, "odd ones");
    tb_comm_name(tb, 5, "odd\tones");
    tb_comm_free(tb, 5);
    tb_comm_doubt(tb, 5, 12);
    tb_comm_doubt(tb, 5, 3);
    tb_comm_doubt(tb, 5, 4);
    tb_win(tb, 1, 5);
    tb_file(tb, 2, 1, "out.dat");
    tb_site(tb, 0x401234, "main+0x4f", "app+0x1234");
    tb_site(tb, 0x405678, "", "libx.so+0x8");
    tb_write(tb, path);
    struct trc_file *file = open_good();
    const struct trc_comm *world = trc_comm(file, TB_WORLD), *odds = trc_comm(file, 5), *inter = trc_comm(file, 6);
    CHECK(world && world->name && !strcmp(world->name, "MPI_COMM_WORLD"), "the world's name");
    CHECK(world && trc_comm_world_rank(world, 3, false) == 3 &&
              trc_comm_world_rank(world, 4, false) == TRC_PEER_UNKNOWN &&
              trc_comm_world_rank(world, -1, false) == TRC_PEER_UNKNOWN,
          "ranks of the world");
    CHECK(odds && odds->def.identity == 0xabc && trc_comm_world_rank(odds, 1, false) == 3, "ranks of a subset");
    CHECK(odds && odds->name && !strcmp(odds->name, "odd?ones"), "the last name counts");
    CHECK(inter && trc_comm_world_rank(inter, 0, false) == 1 && trc_comm_world_rank(inter, 1, true) == 2 &&
              trc_comm_world_rank(inter, 2, true) == TRC_PEER_UNKNOWN &&
              trc_comm_world_rank(inter, 1, false) == TRC_PEER_UNKNOWN,
          "ranks of an intercommunicator");
    CHECK(odds && !trc_order_in_doubt(odds, 2) && trc_order_in_doubt(odds, 3) && !trc_order_in_doubt(world, 3),
          "doubts about the order of collectives");
    CHECK(!trc_comm(file, 0) && !trc_comm(file, 7) && !trc_comm(file, UINT32_MAX), "communicators out of nothing");
    const struct trc_object *win = trc_object(file, 1), *data = trc_object(file, 2);
    CHECK(win && !win->is_file && win->comm == 5 && !win->name, "a window");
    CHECK(data && data->is_file && data->name && !strcmp(data->name, "out.dat"), "a file");
    const char *function, *module;
    trc_site(file, 0x401234, &function, &module);
    CHECK(function && module && !strcmp(function, "main+0x4f") && !strcmp(module, "app+0x1234"), "a call site");
    trc_site(file, 0x405678, &function, &module);
    CHECK(!function && module && !strcmp(module, "libx.so+0x8"), "a call site without a function");
    trc_site(file, 1, &function, &module);
    CHECK(!function && !module, "a call site that was not resolved");

    /* Pointers stay when more come; the second definition of an id does not replace the first. */
    tb_comm(tb, 5, 0x999, 0, odd, 1);
    for (uint32_t i = 10; i < 400; i++)
        tb_comm(tb, i, 0x5000 + i, 0, odd, 2);
    tb_write(tb, path);
    CHECK(trc_refresh(file), "new definitions were not noticed");
    CHECK(trc_comm(file, 5) == odds && odds->def.identity == 0xabc, "a communicator moved");
    CHECK(trc_comm(file, 399) && trc_comm(file, 399)->def.identity == 0x5000 + 399, "a late communicator");
    CHECK(!damages(file), "%s", trc_damage(file, 0));
    trc_close(file);
    tb_free(tb);
}

/* A definition that is still being written is stepped over and found later. */
static void test_unwritten_definition(void)
{
    struct tb *tb = tb_new(0, 2);
    int32_t members[60];
    for (int i = 0; i < 60; i++)
        members[i] = 1 + i % 5; /* would look like definitions, if slots were stepped through one by one */
    tb_comm(tb, 3, 0x3, 0, members, 60);
    tb_comm(tb, 4, 0x4, 0, members, 1);
    tb_running(tb, 1000);
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    uint8_t *bytes = malloc(size);
    memcpy(bytes, image, size);
    struct trc_def *def = NULL;
    for (size_t at = tb_head(tb)->chunks_offset + sizeof(struct trc_chunk); at < size; at += TRC_DEF_SLOT) {
        def = (struct trc_def *)(void *)(bytes + at);
        if (def->type == TRC_DEF_COMM && def->id == 3)
            break;
    }
    def->type = 0;
    write_bytes(bytes, size);
    struct trc_file *file = open_good();
    CHECK(!trc_comm(file, 3) && trc_comm(file, 4), "what follows an unwritten definition");
    CHECK(!damages(file), "%s", trc_damage(file, 0));
    tb_write(tb, path);
    CHECK(trc_refresh(file) && trc_comm(file, 3) && trc_comm(file, 3)->def.members == 60, "written later, not found");
    CHECK(!trc_refresh(file), "movement where there is none");
    trc_close(file);
    free(bytes);
    tb_free(tb);
}

static void test_live(void)
{
    struct tb *tb = tb_new(0, 2);
    tb_running(tb, 1000);
    tb_send(tb, 0, 1000, 2000, 1, 5, 64);
    tb_recv(tb, 2, 1000, 5000, 1, 5, 1000);
    struct trc_sig sig = tb_sig(TB_BARRIER);
    tb_inside(tb, 2, &sig, 7000, 42);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    CHECK(trc_threads(file) == 3, "%zu threads", trc_threads(file));
    const struct trc_thread *one = trc_thread(file, 1), *two = trc_thread(file, 2);
    CHECK(one->tid == 0 && one->calls == 0, "a thread without a page");
    CHECK(two->calls == 1 && two->received == 1000 && two->inside_sequence == 42, "a thread's totals");
    CHECK(trc_live_sig(file, 2, two->inside) && trc_live_sig(file, 2, two->inside)->call == TB_BARRIER, "inside what");
    CHECK(!trc_live_sig(file, 2, 0) && !trc_live_sig(file, 2, TRC_SIGS + 1) && !trc_live_sig(file, 999, 0), "no call");
    size_t n;
    const struct trc_counter *row = trc_rows(file, 0, &n);
    CHECK(n == 1 && row->call_plus_1 == TB_SEND + 1 && row->calls == 1 && row->sent == 64 && row->size_class == 7,
          "a row");
    const struct trc_peer *peer = trc_peers(file, 0, &n);
    CHECK(n == 1 && peer->rank_plus_1 == 2 && peer->sent_bytes == 64 && peer->sent_messages == 1, "a peer");
    trc_rows(file, 5000, &n);
    CHECK(trc_thread(file, 5000)->tid == 0 && n == 0, "a thread out of range");

    for (int i = 0; i < 5; i++) { /* settled pages are not copied again; a page that moves later is */
        CHECK(!trc_refresh(file), "movement in look %d", i);
    }
    for (int i = 0; i < 4; i++) {
        tb_send(tb, 0, 10000 * (i + 1), 10000 * (i + 1) + 10, 1, 5, 64);
        tb_write(tb, path);
        CHECK(trc_refresh(file), "no movement in look %d", i);
        CHECK(trc_rows(file, 0, &n)->calls == 2u + (unsigned)i, "the row of look %d", i);
        trc_refresh(file);
        trc_refresh(file);
    }
    CHECK(!damages(file), "%s", trc_damage(file, 0));
    trc_close(file);
    tb_free(tb);
}

/* Damage in the head's numbers is clamped and told. */
/* Uses of signatures that the recorder has not added to the counters: the reader does, also where it was killed while
 * it did so. */
static void test_uses(void)
{
    for (int torn = 0; torn < 2; torn++) {
        struct tb *tb = tb_new(0, 2);
        tb_send(tb, 0, 1000, 2000, 1, 5, 64);
        tb_recv(tb, 0, 3000, 4000, 1, 5, 48);
        struct trc_sig out = tb_sig(TB_SEND), in = tb_sig(TB_RECV);
        out.flags = TRC_SIG_P2P_OUT;
        out.peer = 1;
        out.sent = 64;
        in.flags = TRC_SIG_P2P_IN;
        in.source = 1;
        in.received = 48;
        (torn ? tb_uses_torn : tb_uses)(tb, 0, &out, 9);
        tb_uses(tb, 0, &in, 2);
        tb_write(tb, path);
        struct trc_file *file = open_good();
        const struct trc_thread *thread = trc_thread(file, 0);
        CHECK(thread->sent == 640 && thread->sent_messages == 10, "%s: sent", torn ? "torn" : "whole");
        CHECK(thread->received == 144 && thread->received_messages == 3, "%s: received", torn ? "torn" : "whole");
        size_t n;
        const struct trc_peer *peer = trc_peers(file, 0, &n);
        CHECK(peer->sent_messages == 10 && peer->sent_bytes == 640 && peer->received_messages == 3 &&
                  peer->received_bytes == 144,
              "%s: with its partner", torn ? "torn" : "whole");
        uint64_t sent = 0;
        const struct trc_counter *row = trc_rows(file, 0, &n);
        for (size_t i = 0; i < n; i++)
            sent += row[i].sent;
        CHECK(sent == 640, "%s: its row", torn ? "torn" : "whole");
        trc_close(file);
        tb_free(tb);
    }
}

static void test_clamped(void)
{
    struct tb *tb = tb_new(0, 2);
    tb_send(tb, 0, 1000, 2000, 1, 5, 64);
    struct trc_head *head = tb_head(tb);
    head->world_size = -7;
    head->rank = 1 << 30;
    head->state = 99;
    head->clock_source = 77;
    head->blocks_used = UINT32_MAX;
    head->blocks_allocated = UINT32_MAX;
    tb_write(tb, path);
    struct trc_file *file = open_good();
    CHECK(trc_head(file)->world_size == -1 && trc_head(file)->rank == -1, "ranks");
    CHECK(trc_head(file)->state == TRC_STATE_STOPPED, "state %u", trc_head(file)->state);
    CHECK(damages(file) >= 4, "%zu lines of damage", damages(file));
    CHECK(trc_event_chunks(file) == 1, "what is whole is read");
    trc_close(file);
    tb_free(tb);
}

/* A shortened file, then an overwritten one, under an open reader. */
static void test_taken_away(void)
{
    struct tb *tb = tb_new(0, 2);
    tb_running(tb, 1000);
    for (int i = 0; i < 1000; i++)
        tb_send(tb, 0, 100 * i, 100 * i + 50, 1, i, 64);
    tb_write(tb, path);
    struct trc_file *file = open_good();
    size_t threads = trc_threads(file);
    if (truncate(path, 10000))
        exit(1);
    CHECK(trc_refresh(file) && damages(file), "truncation was not noticed");
    CHECK(trc_spoilt(file), "it was whole when it was opened");
    if (truncate(path, 0))
        exit(1);
    trc_refresh(file);
    trc_refresh(file);
    CHECK(trc_threads(file) == threads && trc_thread(file, 0)->calls == 1000, "what was seen is gone");
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    while (trc_next(cursor, &record) == TRC_OK)
        ;
    trc_cursor_close(cursor);
    trc_close(file);
    tb_free(tb);
}

/* More ranks than the soft limit of open files. */
static void test_many_files(void)
{
    struct tb *tb = tb_new_small(0, 1, 4096, 10);
    tb_write(tb, path);
    tb_free(tb);
    struct rlimit before, low;
    if (getrlimit(RLIMIT_NOFILE, &before) || before.rlim_max < 200)
        return;
    low = before;
    low.rlim_cur = 40;
    setrlimit(RLIMIT_NOFILE, &low);
    struct trc_file *files[100];
    size_t n = 0;
    while (n < 100 && trc_open(path, &files[n], error, sizeof error) == TRC_OK)
        n++;
    CHECK(n == 100, "%zu files, then: %s", n, error);
    while (n)
        trc_close(files[--n]);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_lists(void)
{
    struct tb *tb = tb_new(0, 4);
    const int32_t two[] = {1, 3};
    uint32_t some = tb_ranks(tb, two, 2), nobody = tb_ranks(tb, two, 0);
    CHECK(some != nobody && tb_ranks(tb, two, 2) == some, "lists %u and %u", some, nobody);
    tb_comm(tb, 5, 0xabc, 0, two, 2);
    tb_neighbors(tb, 5, some, nobody);
    tb_define(tb, TRC_DEF_RANKS, 9, 1u << 30, 0, two, sizeof two, 0); /* more than have room */
    tb_write(tb, path);
    struct trc_file *file = open_good();
    const struct trc_ranks *list = trc_ranks(file, some), *none = trc_ranks(file, nobody);
    const struct trc_comm *comm = trc_comm(file, 5);
    CHECK(list && list->n == 2 && list->rank[0] == 1 && list->rank[1] == 3, "a list of ranks");
    CHECK(none && none->n == 0 && !trc_ranks(file, 0) && !trc_ranks(file, 7), "an empty list, and none");
    CHECK(comm && comm->sources == some && comm->destinations == nobody, "neighbours");
    CHECK(!trc_ranks(file, 9) && damages(file) == 1, "a list that is longer than its definition");
    trc_close(file);
    tb_free(tb);
}

static void test_dump(void)
{
    const int32_t around[] = {1, 0};
    struct tb *tb = tb_new(1, 2);
    const int32_t members[] = {1};
    tb_comm(tb, 3, 0x33, 0, members, 1);
    tb_comm_name(tb, 3, "mine");
    tb_comm_doubt(tb, 3, 13);
    tb_neighbors(tb, 3, tb_ranks(tb, around, 2), tb_ranks(tb, around, 0));
    uint64_t request = tb_irecv(tb, 0, 1000, 2000, TRC_PEER_ANY, TRC_TAG_ANY, 100);
    tb_send(tb, 0, 3000, 4000, 0, 7, 64);
    tb_wait_recv(tb, 0, 5000, 6000, request, 0, 9, 50);
    tb_barrier(tb, 0, 7000, 8000, 3, 12);
    struct trc_sig poll = tb_sig(TB_IPROBE);
    poll.flags = TRC_SIG_POLL;
    poll.source = TRC_PEER_ANY;
    tb_fold(tb, 0, &poll, 9000, 19000, 100, 4000);
    tb_lost(tb, 0, 5);
    tb_site(tb, 0x1000u + TB_SEND, "main+0x10", "app+0x10");
    tb_write(tb, path);
    struct trc_file *file = open_good();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CHECK(trc_dump(file, out) == TRC_OK, "dump failed");
    fclose(out);
    static const char *const lines[] = {
        "rank: 1 of 2\n",
        "state: finalized\n",
        "comm 3: identity=0000000000000033 parent=0000000000001001 rank=0 size=1 flags=- by=MPI_Comm_dup members=1 "
        "sources=1,0 destinations=- name=\"mine\" doubt=13\n",
        "thread 0: tid=1001 name=app\n",
        "  row MPI_Send size=7: calls=1 time=0.000001000 min=0.000001000 max=0.000001000 sent=64 received=0\n",
        "  peer 0: sent=1 messages 64 bytes received=1 messages 50 bytes\n",
        "0    0.000001000 0.000001000 MPI_Irecv comm=1(MPI_COMM_WORLD) source=any rtag=any received=100 "
        "flags=start+p2p_in site=0x1009 request=0\n",
        "0    0.000003000 0.000001000 MPI_Send comm=1(MPI_COMM_WORLD) peer=0 tag=7 sent=64 flags=p2p_out "
        "site=main+0x10\n",
        "0    0.000005000 0.000001000 MPI_Wait\n",
        "0    0.000005000 0.000001000 MPI_Irecv comm=1(MPI_COMM_WORLD) source=0 rtag=9 received=50 "
        "flags=sub+complete+p2p_in site=0x1009 request=0\n",
        "0    0.000007000 0.000001000 MPI_Barrier comm=3(mine) flags=coll site=0x1015 sequence=12\n",
        "0    0.000009000 0.000010000 MPI_Iprobe source=any flags=poll polls=100 busy=0.000004000\n",
        "0    0.000019000 0.000000000 LOST count=5\n",
    };
    const char *at = text;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *found = strstr(at, lines[i]);
        CHECK(found, "not in the dump, or not in this order: %s", lines[i]);
        at = found ? found : at;
    }
    CHECK(!strstr(text, "damage:"), "damage in a good file");
    if (failures)
        puts(text);
    free(text);
    trc_close(file);
    tb_free(tb);
}

int main(void)
{
    snprintf(path, sizeof path, "hpctop-reader-%d.hpctop", (int)getpid());
    test_head();
    test_refused();
    test_definitions();
    test_lists();
    test_unwritten_definition();
    test_live();
    test_uses();
    test_clamped();
    test_taken_away();
    test_dump();
    test_many_files();
    unlink(path);
    return check_result();
}
