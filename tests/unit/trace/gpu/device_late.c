/* Ranks that launch NCCL's collectives late: the waiting of the others' kernels, and the segment that it is charged
 * to. */
#include "tests/support/planted.h"
#include "trace/session/session.h"

enum { HOST, STREAM, RANKS = 3, TIMES = 20, KERNEL = 1 };

/* Each time all compute 2 ms, and rank `late` `more` longer, then launch; a kernel begins 50 us after its launch or, on
 * rank `busy`, 5 ms after it, and ends 100 us after the last has begun.  Then the hosts wait for that. */
static void write_job(struct planted *p, int late, int64_t more, int busy)
{
    struct trc_sig kernel = tb_sig(TB_KERNEL), launch = tb_sig(TB_NCCL_ALLREDUCE);
    launch.flags = TRC_SIG_ENQUEUE | TRC_SIG_COLL;
    launch.comm = TB_WORLD;
    launch.object = kernel.object = KERNEL;
    launch.sent = launch.received = 4096;
    launch.site = 0x40;
    for (int r = 0; r < RANKS; r++) {
        static const char name[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
        tb_define(p->tb[r], TRC_DEF_KERNEL, KERNEL, sizeof name - 1, 0, name, sizeof name - 1, sizeof name - 1);
        tb_device_stream(p->tb[r], STREAM, (struct trc_device_stream){.number = KERNEL, .context = 1, .stream = 7});
    }
    for (uint64_t i = 0; i < TIMES; i++) {
        int64_t begin[RANKS], last = 0;
        for (int r = 0; r < RANKS; r++) {
            p->at[r] += 2 * MS + (r == late ? more : 0);
            begin[r] = p->at[r] + 50 * US + (r == busy ? 5 * MS : 0);
            last = begin[r] > last ? begin[r] : last;
            tb_event(p->tb[r], HOST, &launch, p->at[r], p->at[r] + 10 * US, (struct tb_more){.sequence = i});
        }
        for (int r = 0; r < RANKS; r++) {
            tb_event(p->tb[r], STREAM, &kernel, begin[r], last + 100 * US, (struct tb_more){0});
            p->at[r] = last + 100 * US;
        }
    }
}

static int64_t waited(const struct ana_summary *s, size_t waiter, size_t culprit)
{
    for (size_t i = 0; i < s->wait_count; i++)
        if (s->waits[i].kind == ANA_LATE_ON_DEVICE && s->waits[i].waiter == waiter && s->waits[i].culprit == culprit)
            return s->waits[i].lost_ns;
    return 0;
}

static void late_host(void)
{
    struct planted p = planted_begin("device_late", RANKS);
    write_job(&p, 1, 5 * MS, -1);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const int64_t each = 5 * MS - 50 * US; /* kernels of the others run for so long before rank 1 calls */
    CHECK(waited(&s, 0, 1) == TIMES * each && waited(&s, 2, 1) == TIMES * each, "%lld", (long long)waited(&s, 0, 1));
    CHECK(s.wait_count == 2, "%zu", s.wait_count);
    const struct ana_segment_stat *late = planted_segment(&s, "0x40", "0x40");
    CHECK(planted_costs(&s) == planted_waits(&s), "%lld", (long long)planted_costs(&s));
    CHECK(late->cost_by_rank_ns[1] == 2 * (TIMES - 1) * each && late->cost_ns == late->cost_by_rank_ns[1], "%lld",
          (long long)late->cost_ns);
    CHECK(late->direct_ns == late->cost_ns, "it is its own");
    const struct ana_price *device = NULL;
    for (size_t i = 0; i < s.price_count; i++)
        device = s.prices[i].kind == ANA_PRICE_DEVICE ? &s.prices[i] : device;
    CHECK(device && device->rank[0] != 1 && device->saves_ns == TIMES * (5 * MS + 100 * US), "%lld",
          device ? (long long)device->saves_ns : 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A GPU that is still busy is no late host. */
static void busy_device(void)
{
    struct planted p = planted_begin("device_busy", RANKS);
    write_job(&p, -1, 0, 2);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(s.wait_count == 0, "%zu waits", s.wait_count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    late_host();
    busy_device();
    return check_result();
}
