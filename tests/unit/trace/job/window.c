/* Windows of time, also ones shorter than the calls in them: the calls in view, and their parts. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/format/histogram.h"
#include <math.h>
#include <string.h>

static const struct ana_call_stat *call_named(const struct ana_summary *s, const char *name)
{
    for (size_t i = 0; i < s->call_count; i++)
        if (strcmp(s->calls[i].name, name) == 0)
            return &s->calls[i];
    return NULL;
}

static struct ana_summary window(struct ana_job *job, int64_t begin, int64_t end)
{
    struct ana_summary s;
    struct ana_selection selection = {.begin_ns = begin, .end_ns = end};
    CHECK(ana_summarize(job, selection, &s) == TRC_OK, "a window");
    while (s.analysed < 1) {
        ana_summary_free(&s);
        ana_job_advance(job, 1000000);
        CHECK(ana_summarize(job, selection, &s) == TRC_OK, "a window");
    }
    return s;
}

/* A microsecond in the middle of two calls, without a begin or end in it. */
static void a_microsecond(struct ana_job *job)
{
    struct ana_summary s = window(job, 1005000, 1006000);
    const struct ana_call_stat *send = call_named(&s, "MPI_Send"), *recv = call_named(&s, "MPI_Recv");
    CHECK(s.call_count == 2 && send && recv, "%zu calls", s.call_count);
    if (send && recv) {
        CHECK(send->ended == 0 && send->sent == 0 && send->time_ns == 1000, "%lld", (long long)send->time_ns);
        CHECK(send->times.count == 1 && send->times.min_ns == 10000 && send->times.max_ns == 10000, "its full length");
        CHECK(recv->time_ns == 1000 && recv->times.max_ns == 920000 && recv->ended == 0, "the receive");
        int bin = 0;
        while (bin < ANA_DECADES && !send->decade[bin])
            bin++;
        CHECK(bin == 4, "10 us are the first of their decade, not of %d", bin);
    }
    size_t sizes = 0;
    for (size_t i = 0; i < s.cell_count; i++)
        sizes += s.cells[i].times.count == 1 && s.cells[i].size_class == (int)trc_size_class(4096);
    CHECK(sizes >= 1, "by size");
    CHECK(s.site_count == 2 && s.sites[0].time_ns == 1000 && s.sites[0].times.count == 1, "by place");
    ana_summary_free(&s);
}

/* Before and after everything: nothing at all is in view. */
static void nothing(struct ana_job *job)
{
    struct ana_summary s = window(job, 1500000, 1501000);
    CHECK(s.call_count == 0 && s.cell_count == 0 && s.site_count == 0, "%zu calls, %zu places", s.call_count,
          s.site_count);
    ana_summary_free(&s);
}

/* Side by side they hold the whole: every call ends in one window, and its time is shared out. */
static void side_by_side(struct ana_job *job, int64_t width)
{
    static const char *const names[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce"};
    struct ana_summary all = folder_summary(job);
    uint64_t ended[3] = {0}, sent = 0;
    int64_t ns[3] = {0};
    for (int64_t t = 0; t < 3001000; t += width) {
        struct ana_summary s = window(job, t, t + width);
        for (int k = 0; k < 3; k++) {
            const struct ana_call_stat *c = call_named(&s, names[k]);
            ended[k] += c ? c->ended : 0;
            ns[k] += c ? c->time_ns : 0;
            sent += c ? c->sent : 0;
        }
        ana_summary_free(&s);
    }
    uint64_t all_sent = 0;
    for (int k = 0; k < 3; k++) {
        const struct ana_call_stat *c = call_named(&all, names[k]);
        CHECK(c && ended[k] == c->ended && c->ended == c->times.count, "%s: %llu ended", names[k],
              (unsigned long long)ended[k]);
        CHECK(c && ns[k] == c->time_ns && c->time_ns == c->times.total_ns, "%s: %lld ns", names[k], (long long)ns[k]);
        all_sent += c ? c->sent : 0;
    }
    CHECK(sent == all_sent, "%llu bytes", (unsigned long long)sent);
    ana_summary_free(&all);
}

/* A call that a rank has not come out of is no event yet; its time passes all the same. */
static void inside(void)
{
    folder_make("inside");
    struct two two = two_ranks();
    struct trc_sig sig = tb_sig(TB_RECV);
    sig.flags = TRC_SIG_P2P_IN;
    sig.comm = TB_WORLD;
    sig.source = 0;
    sig.rtag = 3;
    for (int i = 0; i < 2; i++) {
        folder_this_process(two.rank[i]);
        tb_running(two.rank[i], 9000000);
    }
    tb_inside(two.rank[1], 0, &sig, 4000000, 0);
    folder_write(two.rank[0], 0);
    folder_write(two.rank[1], 1);
    struct ana_job *job = folder_open();
    struct ana_summary s = window(job, 5000000, 5002000);
    const struct ana_call_stat *recv = call_named(&s, "MPI_Recv");
    CHECK(recv && recv->ended == 0 && recv->time_ns == 2000 && recv->times.count == 0 && isnan(recv->times.p50_ns),
          "inside MPI_Recv");
    ana_summary_free(&s);
    s = window(job, 3500000, 4500000);
    recv = call_named(&s, "MPI_Recv");
    CHECK(recv && recv->time_ns == 500000, "half of it");
    ana_summary_free(&s);
    ana_job_close(job);
    tb_free(two.rank[0]);
    tb_free(two.rank[1]);
    folder_remove();
}

int main(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    a_microsecond(job);
    nothing(job);
    side_by_side(job, 7000);
    side_by_side(job, 1000000);
    ana_job_close(job);
    folder_remove();
    inside();
    return check_result();
}
