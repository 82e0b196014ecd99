/* Writes the seeds of the fuzz corpus (`make fuzz-seeds`): small traces, good and bad.  mktrace DIR; mktrace DIR jobs
 */
#include "tests/fuzz/pack.h"
#include "tests/support/trace_scene.h"
#include "tests/support/trace_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static void save(struct tb *tb, const char *name, size_t cut)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tb_write(tb, path);
    if (cut && truncate(path, (off_t)cut))
        exit(1);
    tb_free(tb);
}

/* A chunk alone, its first `bytes`: whole ones are too large for a corpus. */
static void save_chunk(struct tb *tb, const char *name, size_t chunk, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    size_t size, head = tb_head(tb)->chunks_offset;
    const uint8_t *image = tb_image(tb, &size);
    const size_t whole = (size_t)TRC_CHUNK_MOST * TRC_BLOCK;
    struct trc_chunk first;
    FILE *out = fopen(path, "wb");
    if (!out || size < head + chunk * whole + bytes || bytes < sizeof first)
        exit(1);
    memcpy(&first, image + head + chunk * whole, sizeof first);
    first.block = 0;
    const uint8_t *rest = image + head + chunk * whole + sizeof first;
    if (fwrite(image, 1, head, out) != head || fwrite(&first, sizeof first, 1, out) != 1 ||
        fwrite(rest, 1, bytes - sizeof first, out) != bytes - sizeof first || fclose(out))
        exit(1);
    tb_free(tb);
}

/* The builder's first chunk holds definitions, the second the page. */
static void save_live(struct tb *tb, const char *name, size_t bytes)
{
    save_chunk(tb, name, 1, bytes);
}

/* Owners of all kinds, times and numbers at their ends. */
static void usage(struct tb *tb)
{
    static const uint32_t whose[] = {TRC_USAGE_PROCESS, TRC_USAGE_NODE, TRC_USAGE_THREAD, TRC_USAGE_THREAD + 255, 999};
    for (uint64_t i = 0; i < 40; i++) {
        struct trc_usage one = {.whose = whose[i % 5], .fields = (uint32_t)(i * 0x9e3779b9u)};
        for (uint32_t f = 0; f < TRC_USAGE_FIELDS; f++)
            one.value[f] = i % 7 ? i * f : UINT64_MAX;
        tb_usage(tb, (int64_t)(i * 2000), (int64_t)(i * 2000 + 1500), &one, i % 4 != 0);
    }
}

/* Jobs in all states and some that do not exist, with every number out of range. */
static void operations(struct tb *tb)
{
    for (unsigned i = 0; i < 16; i++)
        tb_gpu_op(tb, (struct trc_gpu_op){.sequence = i % 2 ? UINT64_MAX : i,
                                          .count = UINT64_MAX,
                                          .bytes = TRC_BYTES_UNKNOWN,
                                          .called = 1000 * i,
                                          .started = i % 3,
                                          .comm = i % 3 ? 1 : UINT32_MAX,
                                          .call = i % 4 ? TB_NCCL_ALLREDUCE : UINT32_MAX,
                                          .root = i % 2 ? INT32_MIN : 0,
                                          .result = i % 2 ? INT32_MAX : -1,
                                          .thread = (uint16_t)(i * 100),
                                          .type = (uint8_t)(i * 17),
                                          .op = (uint8_t)(i * 17),
                                          .state = (uint8_t)i,
                                          .flags = (uint8_t)(i * 31)});
}

/* Two communicators, and on each what hangs: collectives that are under way, over or behind each other, messages, one
 * that failed. */
static void hanging(struct tb *tb)
{
    for (unsigned comm = 3; comm < 5; comm++) {
        struct trc_def_comm def = {.identity = comm * 17, .rank = 0, .size = 2, .created_by = TB_NCCL_INIT};
        tb_define(tb, TRC_DEF_COMM, comm, 0, 0, &def, sizeof def, 0);
    }
    for (unsigned i = 0; i < 12; i++) {
        bool message = i % 4 == 3;
        tb_gpu_op(tb, (struct trc_gpu_op){.sequence = i / 2,
                                          .count = 1024 + i % 5,
                                          .bytes = 4096,
                                          .stream = 0x100 + i % 2,
                                          .group = i,
                                          .called = 1000 * i + 1,
                                          .enqueued = 1000 * i + 2,
                                          .started = i % 3 ? 1000 * i + 3 : 0,
                                          .ended = i < 4 ? 1000 * i + 4 : 0,
                                          .comm = 3 + i % 2,
                                          .call = message ? TB_NCCL_RECV : TB_NCCL_ALLREDUCE,
                                          .root = message ? 1 : -1,
                                          .result = i == 11 ? 6 : 0,
                                          .type = 7,
                                          .state = i < 4   ? TRC_GPU_COMPLETED
                                                   : i % 3 ? TRC_GPU_STARTED
                                                           : TRC_GPU_ENQUEUED,
                                          .flags = message   ? TRC_GPU_MESSAGE
                                                   : i == 11 ? TRC_GPU_ASYNC_ERROR
                                                             : 0});
    }
    tb_running(tb, 100 * INT64_C(1000000000));
}

static struct trc_sig polling(int32_t source)
{
    struct trc_sig sig = tb_sig(TB_IPROBE);
    sig.flags = TRC_SIG_POLL;
    sig.source = source;
    return sig;
}

/* Every kind of item. */
static void calls(struct tb *tb, uint32_t thread, int rounds)
{
    static const uint8_t future[] = {6, 2, 'h', 'i'};
    for (int i = 0; i < rounds; i++) {
        int64_t at = 1000 * i;
        tb_send(tb, thread, at, at + 10, 1, i % 3, 64);
        uint64_t in = tb_irecv(tb, thread, at + 20, at + 30, TRC_PEER_ANY, TRC_TAG_ANY, 1 << 20);
        uint64_t out = tb_isend(tb, thread, at + 40, at + 50, 1, 5, 1ull << 33);
        tb_wait_recv(tb, thread, at + 60, at + 70, in, 1, 5, 4096);
        tb_wait_send(tb, thread, at + 80, at + 90, out);
        tb_barrier(tb, thread, at + 100, at + 200, TB_WORLD, (uint64_t)i);
        tb_allreduce(tb, thread, at + 210, at + 300, 3, (uint64_t)i * 5, 8);
        struct trc_sig one = polling(1), two = polling(2);
        tb_fold(tb, thread, &one, at + 310, at + 320, 1, 5);
        tb_fold(tb, thread, &two, at + 330, at + 340, 1, 5);
        tb_fold_more(tb, thread, at + 400, 10, 50);
        struct trc_sig nested = tb_sig(TB_SEND), wait = tb_sig(TB_WAITALL);
        nested.flags = TRC_SIG_NESTED | TRC_SIG_P2P_OUT;
        tb_event(tb, thread, &nested, at + 420, at + 430, (struct tb_more){0});
        tb_event(tb, thread, &wait, at + 410, at + 440, (struct tb_more){0});
        struct trc_sig done = tb_sig(TB_IRECV);
        done.flags = TRC_SIG_COMPLETE;
        tb_sub(tb, thread, &done, (struct tb_more){.request_thread = thread + 1, .request = 77});
        tb_sub(tb, thread, &done, (struct tb_more){.request_thread = thread, .request = UINT64_MAX});
        tb_lost(tb, thread, 3);
        tb_raw(tb, thread, future, sizeof future, 0);
    }
}

static void definitions(struct tb *tb)
{
    const int32_t members[] = {0, 1, -1, 3};
    tb_comm(tb, 3, 0x33, 0, members, 2);
    tb_intercomm(tb, 4, 0x44, 1, members, 2, 2);
    tb_comm_name(tb, 3, "pairs");
    tb_comm_free(tb, 4);
    tb_win(tb, 1, 3);
    tb_file(tb, 2, 1, "out.dat");
    tb_site_near(tb, 0x1000u + TB_SEND, "app+0x10", "halo+0x10");
    tb_site(tb, 0x900, "main+0x10", "app+0x90");
    tb_path(tb, 1, (uint64_t[]){0x1000u + TB_SEND, 0x900}, 2, TRC_PATH_WHOLE);
}

/* ---- whole jobs, packed ------------------------------------------------------------------------------------------ */

#define BLOCK 32u /* bytes: runs of zeros are left out */

static void put_piece(FILE *out, uint32_t place, const void *bytes, size_t size)
{
    uint16_t n = (uint16_t)size;
    if (fwrite(&place, sizeof place, 1, out) != 1 || fwrite(&n, sizeof n, 1, out) != 1 ||
        (n && fwrite(bytes, n, 1, out) != 1))
        exit(1);
}

static void put_image(FILE *out, uint32_t place, const uint8_t *image, size_t size)
{
    static const uint8_t zeros[BLOCK];
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && end - at < 0x8000 && memcmp(image + end, zeros, size - end < BLOCK ? size - end : BLOCK))
            end += BLOCK;
        end = end < size ? end : size;
        if (end > at)
            put_piece(out, place + (uint32_t)at, image + at, end - at);
        at = end > at ? end : at + BLOCK;
    }
    put_piece(out, place + (uint32_t)size - 1, zeros, 1);
}

/* A number of rank 1's first communicators is made huge: before the first look, or after it. */
static void put_huge(FILE *out, const uint8_t *image, bool later, size_t number)
{
    static const uint32_t huge[] = {400000000, 16000000};
    const struct trc_head *head = (const void *)image;
    size_t size = offsetof(struct trc_def_comm, size);
    uint32_t slot = (uint32_t)(head->chunks_offset + sizeof(struct trc_chunk) + number * TRC_DEF_SLOT * 2);
    if (later)
        put_piece(out, FUZZ_LATER, NULL, 0);
    put_piece(out, FUZZ_FILE + slot + (uint32_t)(sizeof(struct trc_def) + size), &huge[number % 2], sizeof *huge);
}

static void jobs(void)
{
    for (int scene = 0; scene < SCENES; scene++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/scene-%d", folder, scene);
        FILE *out = fopen(path, "wb");
        if (!out || fwrite("PACK", 4, 1, out) != 1)
            exit(1);
        struct tb *second = scene_rank(scene, 1);
        size_t size;
        for (int rank = 0; rank < SCENE_RANKS; rank++) {
            struct tb *tb = scene_rank(scene, rank);
            const uint8_t *image = tb_image(tb, &size);
            put_image(out, FUZZ_FILE * (uint32_t)rank, image, size);
            tb_free(tb);
        }
        put_huge(out, tb_image(second, &size), scene % 2, (size_t)scene / 2);
        tb_free(second);
        if (fclose(out))
            exit(1);
    }
}

/* A call with a path, on thread 1. */
static void call_by_path(struct tb *tb)
{
    struct trc_sig sig = tb_sig(TB_SEND);
    sig.site = 0x1000u + TB_SEND;
    sig.path = 1;
    tb_event(tb, 1, &sig, 1, 2, (struct tb_more){0});
}

/* Whole files: ended, with recycled chunks, and of a process that still runs. */
static void whole_files(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 100);
    definitions(tb);
    call_by_path(tb);
    calls(tb, 0, 4);
    save(tb, "good", 0);

    tb = tb_new_small(1, 4, 4096, 4);
    calls(tb, 0, 60);
    save(tb, "recycled", 0);

    tb = tb_new_small(2, 4, 4096, 100);
    calls(tb, 1, 2);
    calls(tb, 3, 2);
    struct trc_sig poll = polling(2);
    tb_fold(tb, 3, &poll, 1000000, 1000100, 9, 9);
    tb_head(tb)->flags |= TRC_HEAD_WRITE_BACK;
    tb_running(tb, 1000000);
    save(tb, "running", 0);
}

/* A live page, cut off. */
static void live_page(void)
{
    struct tb *tb = tb_new(0, 2);
    calls(tb, 0, 3);
    struct trc_sig inside = tb_sig(TB_BARRIER);
    tb_inside(tb, 0, &inside, 10000, 3);
    save_live(tb, "live", 2500);
}

/* Counters that are not complete, or torn; the page whole, and without its end. */
static void counters(void)
{
    for (int cut = 0; cut < 2; cut++) {
        struct tb *tb = tb_new(0, 2);
        tb_send(tb, 0, 100, 200, 1, 7, 64);
        tb_recv(tb, 0, 300, 400, 1, 7, 32);
        struct trc_sig out = tb_sig(TB_SEND), in = tb_sig(TB_RECV);
        out.flags = TRC_SIG_P2P_OUT;
        out.peer = 1;
        out.sent = 64;
        in.flags = TRC_SIG_P2P_IN;
        in.source = 1;
        in.received = 32;
        tb_uses(tb, 0, &in, 5);
        tb_uses(tb, 0, &out, 1ull << 40);
        tb_uses_torn(tb, 0, &out, 3);
        save_live(tb, cut ? "uses_cut" : "uses", cut ? 2000 : 16384);
    }
}

/* Fields that only a damaged or forged file has. */
static void hostile_file(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 100);
    struct trc_def_comm liar = {.size = INT32_MAX, .members = UINT32_MAX, .flags = TRC_COMM_WORLD};
    tb_define(tb, TRC_DEF_COMM, 3, 0, 0, &liar, sizeof liar, 0);
    tb_define(tb, TRC_DEF_SITE, 0, 0, 5, "short", 5, 65000);
    tb_define(tb, TRC_DEF_PATH, 1, UINT32_MAX, UINT64_MAX, "short", 5, 0);
    tb_define(tb, TRC_DEF_PATH, 2, 3, UINT64_MAX, "short", 5, 0);
    tb_define(tb, (enum trc_def_type)77, 0, 0, 5, "short", 5, 5);
    tb_define(tb, (enum trc_def_type)0, 0, 0, 5, "short", 5, 5);
    tb_comm_name(tb, 99, "nobody");
    tb_comm_doubt(tb, 99, 1);
    tb_comm_doubt(tb, 3, UINT64_MAX);
    uint8_t item[TRC_ITEM_MAX];
    tb_send(tb, 0, 10, 20, 1, 1, 8);
    tb_raw(tb, 0, item, (size_t)(trc_put_varint(trc_put_varint(tb_put_event(item, 0), UINT64_MAX), 5) - item), 1);
    tb_next_chunk(tb, 0);
    tb_raw(tb, 0, item, (size_t)(tb_put_fold(item, 9, UINT64_MAX, 1, 1, UINT64_MAX, NULL) - item), 1);
    tb_head(tb)->world_size = -9;
    tb_head(tb)->rank = INT32_MAX;
    tb_head(tb)->clock_source = 9;
    save(tb, "hostile", 0);
}

/* Signatures that are defined by others: one field, many, none, and by one that is not there. */
static void like_files(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 100);
    struct trc_sig first = tb_sig(TB_SEND), sig = first;
    uint8_t item[2 * TRC_ITEM_MAX], *end;
    tb_event(tb, 0, &first, 10, 20, (struct tb_more){0});
    for (uint32_t i = 0; i < 6; i++) {
        sig.tag = (int32_t)i;
        sig.sent = i % 2 ? 1ull << 7 * i : first.sent;
        sig.peer = i % 3 ? 3 : first.peer;
        end = trc_put_like(item, &sig, &first, i == 5 ? 77 : i + 1, TRC_VARIED_FIELDS);
        end = trc_put_varint(trc_put_varint(tb_put_event(end, i + 1), 1), 2);
        tb_raw(tb, 0, item, (size_t)(end - item), 1);
    }
    save(tb, "likes8", 0);
}

/* Kernels and copies, a stream's page, and the table of device operations with the rest of it cut off. */
static void device_files(void)
{
    struct tb *tb = tb_new_small(0, 4, 4096, 100);
    tb_define(tb, TRC_DEF_KERNEL, 1, 0, 0, "_Z4busyi", 8, 8);
    tb_define(tb, TRC_DEF_KERNEL, 2, 0, 0, "", 0, 0);
    tb_define(tb, TRC_DEF_KERNEL, 3, 0, 0, "short", 5, 60000);
    for (int i = 0; i < 12; i++) {
        struct trc_sig ran = tb_sig(i % 3 ? TB_KERNEL : TB_COPY);
        ran.object = (uint32_t)i % 4;
        ran.sent = 1ull << 20;
        tb_event(tb, 2, &ran, 1000 * i, 1000 * i + 900, (struct tb_more){0});
    }
    save(tb, "kernels", 0);
    tb = tb_new(0, 2);
    calls(tb, 0, 1);
    tb_device_stream(tb, 0, (struct trc_device_stream){1, 3, UINT32_MAX, 7});
    save_live(tb, "stream", 6000);

    tb = tb_new(0, 2);
    operations(tb);
    save_chunk(tb, "operations", 1, 3000);
    usage(tb = tb_new(0, 2));
    save_chunk(tb, "usage", 1, 3000);
}

/* Stacks of a process that hangs; a file with a head only. */
static void stacks_and_nothing(void)
{
    struct tb *tb = tb_new_small(0, 2, 4096, 100);
    hanging(tb);
    save(tb, "hanging", 0);

    tb = tb_new_small(0, 4, 4096, 100);
    save(tb, "empty", 5000);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return 64;
    folder = argv[1];
    if (argc == 3) { /* whole jobs */
        jobs();
        return 0;
    }
    whole_files();
    live_page();
    counters();
    like_files();
    hostile_file();
    device_files();
    stacks_and_nothing();
    return 0;
}
