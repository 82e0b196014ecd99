/* Two ranks with two streams each, every time known: NCCL's calls meet their kernels, what overlaps is added up, and
 * nothing of a stream is in the totals of the job. */
#include "tests/support/check.h"
#include "trace/summary/summary.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "trace/gpu/device.h"
#include "trace/job/analysis.h"
#include "trace/format/opclass.h"
#include "trace/writer/writer.h"
#include "trace/session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALLREDUCE, ALLGATHER, SEND, RECV, GROUP_START, GROUP_END, KERNEL, HTOD, BARRIER };
static const struct trc_call calls[] = {
    {"ncclAllReduce", TRC_OP_NCCL_COLL}, {"ncclAllGather", TRC_OP_NCCL_COLL},   {"ncclSend", TRC_OP_NCCL_P2P},
    {"ncclRecv", TRC_OP_NCCL_P2P},       {"ncclGroupStart", TRC_OP_NCCL_GROUP}, {"ncclGroupEnd", TRC_OP_NCCL_GROUP},
    {"kernel", TRC_OP_KERNEL},           {"memcpy_HtoD", TRC_OP_COPY},          {"MPI_Barrier", TRC_OP_BARRIER}};

#define US 1000u
#define T0 1000000u

static char folder[] = "/tmp/hpctop-device-XXXXXX";
static uint64_t now;
static uint64_t ticks(void)
{
    return now;
}

struct rank {
    struct trc_writer writer;
    struct trc_stream *host, *nccl, *compute;
};

static void put(struct trc_stream *stream, uint32_t call, uint32_t flags, uint64_t bytes, uint32_t object,
                uint64_t from_us, uint64_t to_us, uint64_t sequence)
{
    bool nccl = call <= RECV;
    struct trc_sig sig = {.call = call,
                          .flags = flags,
                          .comm = nccl ? 1 : 0,
                          .object = object,
                          .peer = TRC_PEER_NONE,
                          .tag = TRC_TAG_NONE,
                          .source = TRC_PEER_NONE,
                          .rtag = TRC_TAG_NONE,
                          .sent = call == RECV ? 0 : bytes,
                          .received = nccl && call != SEND ? bytes : 0};
    uint32_t index = trc_stream_intern(stream, &sig);
    trc_stream_event(stream, index, T0 + from_us * US, T0 + to_us * US, sequence);
    trc_stream_count(stream, index, (to_us - from_us) * US);
}

static void begin(struct rank *r, int number)
{
    char path[128];
    static const char how[] = "nccl.how ncclAllReduce 4000 B of 2\0RING LL, 2 channels";
    struct trc_head head = {.state = TRC_STATE_RUNNING,
                            .clock_source = TRC_CLOCK_MONOTONIC,
                            .rank = number,
                            .world_size = 2,
                            .pid = 100 + (uint32_t)number,
                            .host = "here",
                            .boot_id = "one",
                            .job = "1",
                            .world_identity = 1};
    now = T0;
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, number);
    *r = (struct rank){.host = calloc(1, sizeof *r->host),
                       .nccl = calloc(1, sizeof *r->nccl),
                       .compute = calloc(1, sizeof *r->compute)};
    r->writer.calls = calls;
    r->writer.call_count = sizeof calls / sizeof *calls;
    struct trc_device_stream nccl = {1, 0, 1, 7}, compute = {2, 0, 1, 8};
    if (trc_writer_open(&r->writer, path, 8u << 20, &head, ticks) || !trc_stream_open(r->host, &r->writer, 1, "main") ||
        !trc_stream_open_device(r->nccl, &r->writer, &nccl, "gpu") ||
        !trc_stream_open_device(r->compute, &r->writer, &compute, "gpu"))
        exit(1);
    /* The anchors are of this moment's clocks: the same for both ranks, a tick a nanosecond. */
    r->writer.head->start = (struct trc_anchor){.ticks = T0, .monotonic_ns = T0, .realtime_ns = T0};
    r->writer.head->latest =
        (struct trc_anchor){.ticks = T0 + 1000000, .monotonic_ns = T0 + 1000000, .realtime_ns = T0 + 1000000};
    r->writer.head->init_ticks = T0;
    struct trc_def_comm comm = {.identity = 77, .rank = number, .size = 2, .flags = TRC_COMM_ALL};
    trc_writer_define(&r->writer, TRC_DEF_COMM, 1, 0, 0, &comm, sizeof comm, NULL, 0);
    trc_writer_define(&r->writer, TRC_DEF_KERNEL, 1, 0, 0, NULL, 0, "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLi", 44);
    trc_writer_define(&r->writer, TRC_DEF_KERNEL, 2, 0, 0, NULL, 0, "_ZN2at6native4gemmIfEEvPT_", 26);
    trc_writer_define(&r->writer, TRC_DEF_KERNEL, 3, 0, 0, NULL, 0, "_Z31ncclDevKernel_AllGather_RING_LLi", 36);
    trc_writer_define(&r->writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, how, sizeof how - 1);
    trc_writer_define(&r->writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, "gpu.kernels\0timed by CUPTI, x", 29);
}

static void end(struct rank *r)
{
    r->writer.head->state = TRC_STATE_FINALIZED;
    r->writer.head->end_ticks = T0 + 1000 * US;
    close(r->writer.fd);
    free(r->host);
    free(r->nccl);
    free(r->compute);
}

static struct ana_job *look_at(void)
{
    struct ana_job *job;
    const char *folders[] = {folder};
    char error[256];
    if (ana_job_open(folders, 1, &job, error, sizeof error) != TRC_OK) {
        printf("%s\n", error);
        exit(1);
    }
    ana_job_refresh(job);
    while (ana_job_advance(job, 0) < 1)
        ;
    return job;
}

static const struct ana_nccl_stat *find(const struct ana_gpu_summary *look, const char *call, int size_class)
{
    for (size_t i = 0; i < look->nccl_count; i++)
        if (strcmp(look->nccl[i].call, call) == 0 && look->nccl[i].size_class == size_class)
            return &look->nccl[i];
    return NULL;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= fabs(b) * 0.07 + 1e-9; /* percentiles are right within a sixteenth */
}

static void look_close(struct ana_job *job, struct ana_gpu_summary *look)
{
    ana_gpu_summary_free(look);
    ana_job_close(job);
    for (int n = 0; n < 2; n++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%d.hpctop", folder, n);
        unlink(path);
    }
}

enum { COLL = TRC_SIG_COLL | TRC_SIG_ENQUEUE };

/* Rank 1 has no record of one kernel: its operation is unknown, all others are right.  Each operation is of another
 * size, which takes another time. */
static void lost_by_one(void)
{
    for (int n = 0; n < 2; n++) {
        struct rank r;
        begin(&r, n);
        for (uint64_t i = 0; i < 5; i++) {
            uint64_t at = 10 + 1000 * i, skew = n == 0 ? 5 : 0;
            put(r.host, ALLREDUCE, COLL, 4096u << i, 1, at, at + 1, i);
            if (n == 0 || i != 1)
                put(r.nccl, KERNEL, 0, 0, 1, at + 10 - skew, at + 110 + 100 * i, 0);
        }
        end(&r);
    }
    struct ana_job *job = look_at();
    struct ana_gpu_summary look;
    CHECK(ana_gpu_summarize_all(job, &look), "out of memory");
    for (int i = 0; i < 5; i++) {
        const struct ana_nccl_stat *s = find(&look, "ncclAllReduce", 13 + i);
        CHECK(s && s->calls == 2 && s->timed == (i != 1), "operation %d", i);
        CHECK(s && (i == 1 || (near(s->transfer_p50_ns, 100000.0 * (i + 1)) && near(s->skew_p50_ns, 5000))),
              "its time: %g, %g", s ? s->transfer_p50_ns : 0, s ? s->skew_p50_ns : 0);
    }
    CHECK(look.unmatched == 1, "%llu unmatched", (unsigned long long)look.unmatched);
    look_close(job, &look);
}

/* Both ranks lack the same one: the next kernel's name says that it is of another call. */
static void lost_by_all(void)
{
    for (int n = 0; n < 2; n++) {
        struct rank r;
        begin(&r, n);
        for (uint64_t i = 0; i < 6; i++)
            put(r.host, i % 2 ? ALLGATHER : ALLREDUCE, COLL, 4096, 1, 10 + i, 11 + i, i);
        for (uint64_t i = 0; i < 6; i++)
            if (i != 3)
                put(r.nccl, KERNEL, 0, 0, i % 2 ? 3 : 1, 100 + 100 * i, 150 + 100 * i + 20 * (i % 2), 0);
        end(&r);
    }
    struct ana_job *job = look_at();
    struct ana_gpu_summary look;
    CHECK(ana_gpu_summarize_all(job, &look), "out of memory");
    const struct ana_nccl_stat *reduce = find(&look, "ncclAllReduce", 13), *gather = find(&look, "ncclAllGather", 13);
    CHECK(reduce && reduce->timed == 3 && near(reduce->transfer_p50_ns, 50000), "reduce");
    CHECK(gather && gather->timed == 2 && near(gather->transfer_p50_ns, 70000), "gather");
    look_close(job, &look);
}

/* A rank is told of another algorithm while we look, then the other one too. */
static void told_anew(void)
{
    static const char how[] = "nccl.how ncclAllReduce 4000 B of 2\0TREE SIMPLE, 4 channels";
    static const char *const expected[] = {"RING", "several", "TREE"};
    struct rank r[2];
    struct ana_gpu_summary look;
    for (int n = 0; n < 2; n++) {
        begin(&r[n], n);
        put(r[n].host, ALLREDUCE, COLL, 4000, 1, 10, 11, 0);
        put(r[n].nccl, KERNEL, 0, 0, 1, 50, 150, 0);
    }
    struct ana_job *job = look_at();
    for (int n = 0; n < 3; n++) {
        CHECK(ana_gpu_summarize_all(job, &look), "out of memory");
        const struct ana_nccl_stat *s = find(&look, "ncclAllReduce", 12);
        CHECK(s && strcmp(s->algorithm, expected[n]) == 0, "%s, not %s", s ? s->algorithm : "", expected[n]);
        ana_gpu_summary_free(&look);
        if (n < 2) {
            trc_writer_define(&r[n].writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, how, sizeof how - 1);
            end(&r[n]);
        }
        ana_job_refresh(job);
        ana_job_advance(job, 0);
    }
    look_close(job, &look);
}

/* The first line of the whole run looks the GPUs up by itself. */
static void answered(struct ana_job *job)
{
    struct ana_summary s;
    char out[512];
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK, "a summary");
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strstr(out, "communication is not hidden: NCCL alone takes 25.5% of the GPUs' time, computation 10.0%"), "%s",
          out);
    ana_summary_free(&s);
}

/* A window, and one rank, of the job below. */
static void selections(struct ana_job *job)
{
    struct ana_gpu_summary look;
    const uint8_t second[2] = {0, 1};
    do {
        CHECK(ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = 260000}, &look), "out of memory");
        if (look.analysed >= 1)
            break;
        ana_gpu_summary_free(&look);
    } while (ana_job_advance(job, 0) <= 1);
    const struct ana_gpu_rank *r = look.rank_count == 2 ? &look.ranks[1] : NULL;
    CHECK(r && r->kernels == 1 && r->copies == 0 && r->communication_ns == 160000 && r->compute_ns == 10000 &&
              r->overlap_ns == 10000 && r->wall_ns == 260000,
          "a window");
    CHECK(look.kernel_count == 1 && look.kernels[0].times.count == 2, "kernels that ended in it");
    const struct ana_nccl_stat *s = find(&look, "ncclAllReduce", 12);
    CHECK(s && s->calls == 6 && s->timed == 1 && s->kernel_ns == 250000 && !look.nccl_forgotten, "operations in it");
    ana_gpu_summary_free(&look);
    CHECK(ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 25000, .end_ns = 260000}, &look), "out of memory");
    s = find(&look, "ncclAllReduce", 12);
    CHECK(s && s->calls == 0 && s->timed == 1, "calls before it");
    ana_gpu_summary_free(&look);

    CHECK(ana_job_range(job)->open, "a window");
    CHECK(ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = second}, &look),
          "out of memory");
    CHECK(!ana_job_range(job)->open && look.analysed >= 1, "ranks alone read nothing again");
    CHECK(look.rank_count == 1 && look.ranks[0].index == 1 && look.ranks[0].communication_ns == 330000, "one rank");
    CHECK(look.kernel_count == 2 && look.kernels[0].times.count == 5 && look.kernels[0].ranks == 1 &&
              look.kernels[0].times.total_ns == 330000 && near(look.kernels[0].times.p50_ns, 100000) &&
              look.kernels[0].times.max_ns == 100000 && look.kernels[0].times.min_ns == 10000,
          "its kernels");
    s = find(&look, "ncclAllReduce", 12);
    CHECK(s && s->calls == 3 && s->bytes == 12000 && s->timed == 3 && s->kernel_ns == 300000 &&
              near(s->skew_p99_ns, 50000),
          "its calls, and the operations that it took part in");
    ana_gpu_summary_free(&look);

    /* A summary of all time needs no window either, once one was open. */
    struct ana_summary summary;
    CHECK(ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = 260000, .ranks = second}, &look) &&
              ana_job_range(job)->open,
          "a window");
    ana_gpu_summary_free(&look);
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = second}, &summary) ==
                  TRC_OK &&
              !ana_job_range(job)->open,
          "closed");
    ana_summary_free(&summary);
}

static void write_both(void)
{
    const uint32_t coll = COLL, p2p = TRC_SIG_ENQUEUE;
    for (int n = 0; n < 2; n++) {
        struct rank r;
        begin(&r, n);
        /* Three of 4000 bytes, in kernels of 100 us; rank 0's first is 50 us longer: it waited. */
        for (uint64_t i = 0; i < 3; i++)
            put(r.host, ALLREDUCE, coll, 4000, 1, 10 + 2 * i, 11 + 2 * i, i);
        /* Two collectives in a group: one kernel, whose time belongs to nobody in particular. */
        put(r.host, GROUP_START, 0, 0, 0, 20, 21, 0);
        put(r.host, ALLREDUCE, coll | TRC_SIG_GROUPED, 64, 1, 21, 22, 3);
        put(r.host, ALLREDUCE, coll | TRC_SIG_GROUPED, 64, 1, 22, 23, 4);
        put(r.host, GROUP_END, 0, 0, 0, 23, 24, 0);
        /* A send and a receive in a group: they share a kernel, too, and each moves its bytes in its time. */
        put(r.host, GROUP_START, 0, 0, 0, 30, 31, 0);
        put(r.host, SEND, p2p | TRC_SIG_GROUPED, 500, 1, 31, 32, 0);
        put(r.host, RECV, p2p | TRC_SIG_GROUPED, 500, 1, 32, 33, 0);
        put(r.host, GROUP_END, 0, 0, 0, 33, 34, 0);
        put(r.host, BARRIER, 0, 0, 0, 40, 45, 0);
        uint64_t more = n == 0 ? 50 : 0;
        put(r.nccl, KERNEL, 0, 0, 1, 50 - more / 5, 150 + more - more / 5, 0);
        put(r.nccl, KERNEL, 0, 0, 1, 200, 300, 0);
        put(r.nccl, KERNEL, 0, 0, 1, 300, 400, 0);
        put(r.nccl, KERNEL, 0, 0, 1, 400, 410, 0);    /* the group of two */
        put(r.nccl, KERNEL, 0, 0, 1, 410, 430, 0);    /* the messages */
        put(r.compute, KERNEL, 0, 0, 2, 250, 350, 0); /* over the second and third */
        put(r.compute, HTOD, 0, 1 << 20, 0, 350, 500, 0);
        end(&r);
    }
}

static void check_operations(const struct ana_gpu_summary *look)
{
    const struct ana_nccl_stat *s = find(look, "ncclAllReduce", 12);
    CHECK(s && s->calls == 6 && s->bytes == 24000 && s->size == 2 && s->timed == 3, "AllReduce");
    CHECK(s && near(s->transfer_p50_ns, 100000) && near(s->skew_p99_ns, 50000) && s->skew_p50_ns < 1, "its times");
    /* n = 2: the factor is 1; 3 x 4000 bytes in 300 us. */
    CHECK(s && near(s->algbw, 4e7) && near(s->busbw, 4e7), "its bandwidth: %g", s ? s->algbw : 0);
    CHECK(s && strcmp(s->algorithm, "RING") == 0 && strcmp(s->protocol, "LL") == 0 && s->channels_least == 2 &&
              s->channels_most == 2,
          "how it is done");
    s = find(look, "ncclAllReduce", 7);
    CHECK(s && !s->algorithm[0] && !s->protocol[0] && s->channels_most == 0, "how the others are is not known");
    CHECK(s && s->calls == 4 && s->timed == 0 && isnan(s->algbw) && isnan(s->transfer_p50_ns), "two in a group");
    for (int i = 0; i < 2; i++) {
        s = find(look, i ? "ncclRecv" : "ncclSend", 9);
        CHECK(s && s->calls == 2 && s->timed == 2 && near(s->transfer_p50_ns, 20000) && near(s->algbw, 2.5e7),
              "a message");
    }
    CHECK(look->unmatched == 0, "%llu unmatched", (unsigned long long)look->unmatched);
}

static void check_kernels(const struct ana_gpu_summary *look)
{
    CHECK(look->kernel_count == 2 && look->kernels[0].nccl && look->kernels[0].times.count == 10 &&
              look->kernels[0].times.total_ns == 710000 && look->kernels[0].ranks == 2 && !look->kernels[1].nccl &&
              look->kernels[1].times.total_ns == 200000,
          "kernels");
    char words[64];
    ana_kernel_words(look->kernels[1].name, words, sizeof words);
    CHECK(strcmp(words, "at::native::gemm") == 0, "%s", words);
}

static void check_ranks(const struct ana_gpu_summary *look)
{
    CHECK(look->rank_count == 2, "%zu ranks", look->rank_count);
    const struct ana_gpu_rank *r = &look->ranks[1];
    CHECK(r->index == 1 && r->kernels == 6 && r->copies == 1 && r->to_device == 1 << 20, "rank 1");
    CHECK(r->compute_ns == 100000 && r->communication_ns == 330000 && r->overlap_ns == 100000 && r->copy_ns == 150000 &&
              r->busy_ns == 400000 && r->wall_ns == 1000000,
          "%lld %lld %lld %lld %lld %lld", (long long)r->compute_ns, (long long)r->communication_ns,
          (long long)r->overlap_ns, (long long)r->copy_ns, (long long)r->busy_ns, (long long)r->wall_ns);
    CHECK(near(ana_gpu_overlap(r), 100.0 / 330), "overlap");
}

static void check_streams(struct ana_job *job)
{
    CHECK(ana_streams(job) == 4 && ana_stream(job, 3).index == 1 && ana_stream(job, 3).stream == 8, "streams");
    struct ana_timeline_cell cell[2];
    ana_stream_timeline(job, 3, 0, 1000000, 2, cell);
    CHECK(fabs(cell[0].share[TRC_CAT_KERNEL] - 0.2) < 0.03 && fabs(cell[0].share[TRC_CAT_COPY] - 0.3) < 0.07 &&
              cell[1].share[TRC_CAT_COMPUTE] > 0.9,
          "over time: %g %g", (double)cell[0].share[TRC_CAT_KERNEL], (double)cell[0].share[TRC_CAT_COPY]);
}

/* Work on a stream is no call of the host's. */
static void check_summary(struct ana_job *job)
{
    struct ana_summary summary;
    struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX};
    CHECK(ana_summarize(job, all, &summary) == TRC_OK, "out of memory");
    CHECK(summary.ranks[0].mpi_sum_ns == 5000 && summary.ranks[0].calls == 12, "%lld ns in %llu calls",
          (long long)summary.ranks[0].mpi_sum_ns, (unsigned long long)summary.ranks[0].calls);
    for (size_t i = 0; i < summary.call_count; i++)
        CHECK(strcmp(summary.calls[i].name, "kernel") != 0, "a kernel among the calls");
    CHECK(summary.collective_count == 1 && summary.collectives[0].instances == 5 &&
              summary.collectives[0].lost_ns == -1,
          "what is only put on a stream waits for nobody on the host");
    CHECK(ana_job_rank(job, 0)->mpi_ns == 5000, "%lld ns in MPI", (long long)ana_job_rank(job, 0)->mpi_ns);
    ana_summary_free(&summary);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    lost_by_one();
    lost_by_all();
    told_anew();
    write_both();
    struct ana_job *job = look_at();
    struct ana_gpu_summary look;
    CHECK(ana_gpu_summarize_all(job, &look) && look.known && !look.why_not[0], "%s", look.why_not);
    check_operations(&look);
    check_kernels(&look);
    check_ranks(&look);
    check_streams(job);
    check_summary(job);
    answered(job);
    selections(job);
    look_close(job, &look);
    rmdir(folder);
    return check_result();
}
