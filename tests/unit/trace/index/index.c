/* An index is taken up as it was written; of one in which numbers were changed, with checksums that fit, something is
 * taken up that no question about the job falls over, or nothing.  Under AddressSanitizer (make check-asan) this finds
 * what trusts a number. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/trace_folder.h"
#include "trace/gpu/device_data.h"
#include "trace/util/hash.h"
#include "trace/index/index.h"
#include "trace/index/archive.h"
#include "trace/index/load.h"
#include "trace/job/analysis.h"
#include "trace/job/window.h"
#include "trace/verdict/verdict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { RANKS = 4, ROUNDS = 60, CHANGES = 400, OF = 40, BLOCK = 1 << 20, PARTS = 64 };

static uint64_t random_state = 88172645463325252u;
static uint64_t below(uint64_t n)
{
    return draw_bits(&random_state) % n;
}

enum { COMPUTE = 1, NCCL, FEW = 8, GEMM = 1, REDUCE, MOVE, GLOBAL = 16, PART };

/* Two communicators of NCCL's, one with a name, two streams and three kernels. */
static void define_gpu(struct tb *tb, int32_t r)
{
    static const char *const kernels[] = {"_ZN2at6native4gemmIfEEvPT_", "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLi",
                                          "_Z22ncclDevKernel_SendRecvi"};
    for (uint32_t i = 0; i < 2; i++) {
        struct trc_def_comm comm = {
            .identity = 0x60 + i, .rank = r, .size = RANKS, .flags = TRC_COMM_ALL, .created_by = TB_NCCL_INIT};
        tb_define(tb, TRC_DEF_COMM, GLOBAL + i, 0, 0, &comm, sizeof comm, 0);
    }
    tb_comm_name(tb, PART, "part");
    tb_fact(tb, "nccl.how ncclAllReduce 4096 B of 4", "RING LL, 2 channels");
    for (uint32_t k = 0; k < 3; k++)
        tb_define(tb, TRC_DEF_KERNEL, k + 1, 0, 0, kernels[k], strlen(kernels[k]), strlen(kernels[k]));
    tb_device_stream(tb, COMPUTE, (struct trc_device_stream){.number = 1, .context = 1, .stream = 7});
    tb_device_stream(tb, NCCL, (struct trc_device_stream){.number = 2, .context = 1, .stream = 13});
}

static void run_on(struct tb *tb, uint32_t stream, enum tb_call call, uint32_t kernel, int64_t from, int64_t to)
{
    struct trc_sig sig = tb_sig(call);
    sig.object = kernel;
    sig.sent = call == TB_KERNEL ? 0 : 4096;
    tb_event(tb, stream, &sig, from, to, (struct tb_more){0});
}

static void launch(struct tb *tb, enum tb_call call, uint32_t comm, int32_t peer, uint64_t sequence, int64_t at)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_ENQUEUE | (peer < 0 ? TRC_SIG_COLL : 0);
    sig.comm = comm;
    sig.object = 2;
    sig.peer = call == TB_NCCL_SEND ? peer : TRC_PEER_NONE;
    sig.source = call == TB_NCCL_RECV ? peer : TRC_PEER_NONE;
    sig.sent = call == TB_NCCL_RECV ? 0 : 4096;
    sig.received = call == TB_NCCL_SEND ? 0 : 4096;
    tb_event(tb, 0, &sig, at, at + 100, (struct tb_more){.sequence = sequence});
}

/* A sum that rank 3 calls late for, a message round a ring, one kernel that NCCL's hides behind in part, and copies. */
static void round_of_gpu(struct tb *tb, int32_t r, uint64_t i, int64_t t)
{
    int64_t late = r == 3 ? 2000 : 0;
    launch(tb, TB_NCCL_ALLREDUCE, i % 3 ? GLOBAL : PART, -1, i, t + 13000 + late);
    launch(tb, TB_NCCL_SEND, PART, (r + 1) % RANKS, 0, t + 13200 + late);
    launch(tb, TB_NCCL_RECV, PART, (r + RANKS - 1) % RANKS, 0, t + 13400 + late);
    run_on(tb, NCCL, TB_KERNEL, REDUCE, t + 14000 + late, t + 20000);
    if (i % 7) /* else it was lost */
        run_on(tb, NCCL, TB_KERNEL, MOVE, t + 20100, t + 21000 + r * 100);
    run_on(tb, NCCL, TB_KERNEL, MOVE, t + 22100, t + 23000);
    run_on(tb, COMPUTE, TB_KERNEL, GEMM, t + 12000, t + 17000 + r * 50);
    run_on(tb, COMPUTE, TB_COPY, 0, t + 24000, t + 24500);
    run_on(tb, COMPUTE, TB_COPY_BACK, 0, t + 24600, t + 24900);
}

/* Each round a ring of messages that are waited for, a sum that somebody comes late to, and a write. */
static void build(void)
{
    struct tb *tb[RANKS];
    for (int r = 0; r < RANKS; r++) {
        tb[r] = tb_new(r, RANKS);
        tb_comm_name(tb[r], TB_WORLD, "ring");
        define_gpu(tb[r], r);
        tb_file(tb[r], 7, TB_WORLD, "out.dat");
        tb_site(tb[r], 0x1000, "main+0x10", "app+0x1000");
        tb_site(tb[r], 0x2000, "main+0x20", "app+0x2000");
    }
    for (int64_t i = 0; i < ROUNDS; i++)
        for (int32_t r = 0; r < RANKS; r++) {
            int64_t t = 1000 + i * 40000;
            int32_t next = (r + 1) % RANKS, before = (r + RANKS - 1) % RANKS;
            tb_send(tb[r], 0, t + r * 700, t + r * 700 + 300, next, 5, 64u << (i % 9));
            tb_recv(tb[r], 0, t + r * 700 + 400, t + RANKS * 700 + 900, before, 5, 64u << (i % 9));
            if (i + 1 < ROUNDS || r < 2) /* the last sum is left open */
                tb_allreduce(tb[r], 0, t + 9000 + r * 500, t + 12000, TB_WORLD, (uint64_t)i + 1, 8);
            round_of_gpu(tb[r], r, (uint64_t)i, t);
        }
    for (int r = 0; r < RANKS; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
}

static double known(double number)
{
    return isnan(number) ? -1 : number;
}

/* Sums of a look at the GPUs; of streams over time, too. */
static double ask_gpu(struct ana_job *job, struct ana_selection part)
{
    struct ana_gpu_summary look;
    struct ana_timeline_cell cells[32];
    double sum = 0;
    ana_job_advance(job, 0);
    if (!ana_gpu_summarize(job, part, &look))
        return -1;
    if (look.analysed < 1) { /* a window: its events are read first */
        ana_gpu_summary_free(&look);
        ana_job_advance(job, 0);
        if (!ana_gpu_summarize(job, part, &look))
            return -1;
    }
    for (size_t i = 0; i < look.nccl_count; i++) {
        const struct ana_nccl_stat *s = &look.nccl[i];
        sum += (double)s->bytes + (double)(s->kernel_ns % 1000003) + (double)s->timed + (double)strlen(s->comm_name) +
               (double)s->algorithm[0] + known(s->skew_p99_ns) + known(s->transfer_p50_ns);
    }
    for (size_t i = 0; i < look.rank_count; i++)
        sum += (double)(look.ranks[i].overlap_ns + 3 * look.ranks[i].busy_ns + 5 * look.ranks[i].wall_ns) +
               (double)look.ranks[i].to_device;
    for (size_t i = 0; i < look.kernel_count; i++)
        sum += known(look.kernels[i].times.p99_ns) * (double)(i + 1) + (double)strlen(look.kernels[i].name);
    for (size_t i = 0; i < look.nccl_pair_count; i++)
        sum += (double)look.nccl_pairs[i].bytes_received * (double)(i + 1);
    sum += (double)look.unmatched * 1e6 + look.nccl_forgotten;
    ana_gpu_summary_free(&look);
    for (size_t i = 0; i < ana_streams(job); i++) {
        ana_stream_timeline(job, i, 0, 2000000, 32, cells);
        for (int c = 0; c < 32; c++)
            sum += (double)cells[c].share[TRC_CAT_NCCL];
    }
    return sum;
}

/* Asks all that reports and screens ask; returns a number that depends on the answers. */
static double ask(struct ana_job *job)
{
    static const struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX},
                                      part = {.begin_ns = 50000, .end_ns = 900000};
    struct ana_timeline_cell cells[64];
    struct ana_iteration_cell of[16];
    struct ana_summary s;
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        ana_job_advance(job, 0);
        if (ana_summarize(job, i ? part : all, &s) != TRC_OK)
            continue;
        if (s.analysed < 1) { /* a window: its events are read first */
            ana_summary_free(&s);
            ana_job_advance(job, 0);
            if (ana_summarize(job, part, &s) != TRC_OK)
                continue;
        }
        for (size_t k = 0; k < s.pair_count; k++)
            sum += (double)s.pairs[k].bytes;
        for (size_t k = 0; k < s.rank_count; k++)
            sum += (double)s.ranks[k].waiting_ns + 3 * (double)s.ranks[k].caused_ns;
        for (size_t k = 0; k < s.collective_count; k++)
            sum += (double)s.collectives[k].instances + 100 * (double)s.collectives[k].incomplete;
        for (size_t l = 0; l < s.iterations.levels; l++)
            ana_iteration_cells(job, &s.iterations, l, 1, 1, 20, 16, of);
        sum += (double)s.path_ns + (double)s.segment_count + (double)s.price_count + (double)s.iterations.levels;
        ana_summary_free(&s);
        sum += ask_gpu(job, i ? part : all);
    }
    for (size_t r = 0; r < ana_job_info(job).ranks; r++)
        ana_timeline(job, r, 0, 2000000, 64, cells);
    return sum + (ana_job_verdict(job) ? ana_job_verdict(job)->state : 0);
}

static char path[1024];

static size_t part_end[PARTS], parts;

/* The numbers in an index, without blocks, and where its parts end in them; for the caller to free. */
static uint8_t *unpack(uint8_t head[OF], size_t *size)
{
    uint8_t *all = malloc(16 * BLOCK), *packed = malloc(BLOCK);
    uint32_t block[3];
    FILE *file = fopen(path, "rb");
    *size = parts = 0;
    CHECK(file && fread(head, OF, 1, file) == 1);
    while (file && parts < PARTS && fread(block, sizeof block, 1, file) == 1) {
        if (!block[0]) {
            part_end[parts++] = *size;
            continue;
        }
        size_t length = block[0];
        CHECK(fread(packed, block[1], 1, file) == 1);
        if (block[1] == block[0])
            memcpy(all + *size, packed, length);
        else
            CHECK(ZSTD_decompress(all + *size, length, packed, block[1]) == length);
        *size += length;
    }
    free(packed);
    if (file)
        fclose(file);
    return all;
}

static void put_block(FILE *file, const uint8_t *bytes, uint32_t n)
{
    uint32_t block[] = {n, n, (uint32_t)ana_hash(bytes, n)};
    CHECK(fwrite(block, sizeof block, 1, file) == 1 && (!n || fwrite(bytes, n, 1, file) == 1), "cannot write");
}

/* Writes the first `size` bytes of `all`, divided into the same parts. */
static void pack(const uint8_t head[OF], const uint8_t *all, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(head, OF, 1, file) == 1);
    size_t done = 0;
    for (size_t part = 0; part < parts; part++) {
        size_t end = part_end[part] < size ? part_end[part] : size;
        for (; done < end; done += end - done < BLOCK ? end - done : BLOCK)
            put_block(file, all + done, (uint32_t)(end - done < BLOCK ? end - done : BLOCK));
        put_block(file, all, 0);
    }
    fclose(file);
}

/* Changes a number or some, so that it is small, or large, or another one. */
static void change(uint8_t *all, size_t size)
{
    for (uint64_t n = 1 + below(3); n--;) {
        size_t at = (size_t)below(size);
        all[at] = below(3) ? (uint8_t)below(256) : (uint8_t)(below(2) ? 0xff : 0);
    }
}

/* Looks at the job after the first slice, too, as screens do. */
static double look(bool *indexed)
{
    struct ana_job *job = folder_open();
    struct ana_summary s;
    if (ana_job_advance(job, 1) < 1 &&
        ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK)
        ana_summary_free(&s);
    double answer = ask(job);
    *indexed = ana_job_analysis(job)->indexed;
    ana_job_close(job);
    return answer;
}

/* Numbers that random changes hardly reach: each is what a way through the job would go wrong by. */
enum { SPOILED = 7 };
static void spoil(struct ana_job *job, int how)
{
    struct ana_iter_mark *mark = ana_iter_mark_at(&ana_job_analysis(job)->iter, 1);
    if (how == 0)
        ana_iter_place_at(&ana_job_analysis(job)->iter, 1)->kind = 1; /* a mark's number where a kind's belongs */
    else if (how == 1) {
        mark->count = UINT64_MAX;
        mark->longest = mark->longest ? mark->longest : calloc(ANA_ITER_LONGEST, sizeof *mark->longest);
    } else if (how == 2)
        mark->stride = 0;
    else if (how == 3)
        ana_job_analysis(job)->store.message[0].source = RANKS;
    else if (how == 4)
        ana_job_analysis(job)->store.message[0].send_begin_ns = INT64_MAX;
    else if (how == 5)
        ana_segment_at(&ana_job_analysis(job)->pass.why, 1)->to = UINT32_MAX;
    else
        ((struct stream *)ana_map_value(&ana_job_analysis(job)->gpu->streams, 0))->of.index = RANKS;
}

/* An index that has a few of the latest messages and kernels only: a window before them is read from the events. */
static void check_few(const uint8_t head[OF], double plain)
{
    struct ana_job *job = folder_open();
    struct ana_archive archive;
    struct ana_job_archive k = ana_job_archive_of(job, &archive);
    FILE *file = fopen(path, "wb");
    ana_job_set_index(job, false);
    ana_job_advance(job, 0);
    CHECK(file && fwrite(head, OF, 1, file) == 1);
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_job_save(&k);
    CHECK(ana_job_save_latest(&k, 2 * FEW) && ana_job_save_latest(&k, FEW));
    ana_job_save_end(&k);
    CHECK(ana_archive_end(&archive) && fclose(file) == 0);
    ana_job_close(job);
    job = folder_open();
    ana_job_advance(job, 0);
    CHECK(ana_job_analysis(job)->indexed && ana_job_analysis(job)->kept_since_ns > 900000, "since %lld",
          (long long)ana_job_analysis(job)->kept_since_ns);
    double kept = ask(job);
    CHECK(!ana_job_analysis(job)->indexed && kept == plain, "with few: %.17g, not %.17g", kept, plain);
    ana_job_close(job);
}

/* A job with an index that gets a window is read anew, without additions. */
static void check_left(void)
{
    static const struct ana_selection part = {.begin_ns = 50000, .end_ns = 900000};
    uint64_t calls[2] = {0, 0};
    for (int kept = 0; kept < 2; kept++) {
        struct ana_job *job = folder_open();
        struct ana_summary s;
        ana_job_set_index(job, false);
        if (kept) {
            FILE *file = fopen(path, "rb");
            struct stat st = {0};
            CHECK(file && fstat(fileno(file), &st) == 0);
            CHECK(ana_index_load(job, file, OF, (uint64_t)st.st_size) && ana_job_analysis(job)->indexed);
            fclose(file);
        }
        ana_job_set_window(job, part.begin_ns, part.end_ns);
        ana_job_advance(job, 0);
        CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK);
        for (size_t i = 0; i < s.collective_count; i++)
            calls[kept] += s.collectives[i].instances;
        ana_summary_free(&s);
        ana_job_close(job);
    }
    CHECK(calls[0] && calls[0] == calls[1], "%llu collectives in a window, with an index %llu",
          (unsigned long long)calls[0], (unsigned long long)calls[1]);
}

int main(void)
{
    char said[1024], folder[900];
    uint8_t head[OF];
    size_t size, taken = 0;
    bool indexed;
    snprintf(folder, sizeof folder, "%s", folder_make("index"));
    snprintf(path, sizeof path, "%s/index/analysis", folder);
    build();
    double plain = look(&indexed);
    CHECK(!indexed && access(path, F_OK) != 0, "a small trace has an index unasked");
    struct ana_job *job = folder_open();
    CHECK(!ana_index_write(job, true, said, sizeof said), "of a job that was not read");
    ana_job_advance(job, 0);
    CHECK(ana_index_write(job, true, said, sizeof said) && strcmp(said, path) == 0, "%s", said);
    ana_job_close(job);
    double kept = look(&indexed);
    CHECK(indexed && kept == plain, "indexed %d: %.17g, without %.17g", indexed, kept, plain);
    uint8_t *all = unpack(head, &size), *changed = malloc(size + 1);
    pack(head, all, size);
    kept = look(&indexed);
    CHECK(indexed && kept == plain, "packed again: indexed %d, %.17g", indexed, kept);
    check_left();
    check_few(head, plain);
    for (int i = 0; i < CHANGES; i++) {
        memcpy(changed, all, size);
        change(changed, size);
        pack(head, changed, i % 20 ? size : (size_t)below(size)); /* some are cut */
        double answer = look(&indexed);
        taken += indexed;
        CHECK(indexed || answer == plain, "refused, and yet %.17g, not %.17g", answer, plain);
    }
    CHECK(taken > 0 && taken < CHANGES, "%zu of %d were taken up", taken, CHANGES);
    for (int how = 0; how < SPOILED; how++) {
        unlink(path);
        job = folder_open();
        ana_job_advance(job, 0);
        spoil(job, how);
        CHECK(ana_index_write(job, true, said, sizeof said), "%s", said);
        ana_job_close(job);
        kept = look(&indexed);
        CHECK(!indexed && kept == plain, "spoiled %d: indexed %d, %.17g", how, indexed, kept);
    }
    free(all);
    free(changed);
    unlink(path);
    snprintf(path, sizeof path, "%s/index", folder);
    rmdir(path);
    folder_remove();
    return check_result();
}
