/* Regions of the program's own: counts and times by arithmetic, of all ranks and of a part of the time; ends that do
 * not fit; regions that are still open. */
#include "tests/support/planted.h"
#include "trace/session/session.h"

#include <string.h>

enum { STEP = 1, COMPUTE = 2, EXCHANGE = 3, OUTER = 4, LOST = 5 };

static void call(struct tb *tb, int64_t begin, int64_t end)
{
    struct trc_sig sig = tb_sig(TB_COMM_RANK);
    sig.site = 0xa0;
    tb_event(tb, 0, &sig, begin, end, (struct tb_more){0});
}

/* Four steps of 100 us a rank: 10 us, 50 us of computation (rank 1: 60), then 20 us of exchange, 15 in a call
 * that ends with it. */
static void fill(struct tb *tb, int r)
{
    static const char *const names[] = {"step", "compute", "exchange", "outer", "never ended"};
    for (uint32_t id = 0; id < 5; id++)
        tb_define(tb, TRC_DEF_REGION, id + 1, 0, 0, names[id], strlen(names[id]), strlen(names[id]));
    int64_t last = 1000 * US, work = (r ? 60 : 50) * US;
    call(tb, last - 10 * US, last);
    for (int i = 0; i < 4; i++) {
        tb_region(tb, 0, TRC_REGION_BEGIN, STEP, 0);
        tb_region(tb, 0, TRC_REGION_BEGIN, COMPUTE, 10 * US);
        tb_region(tb, 0, TRC_REGION_END, COMPUTE, 10 * US + work);
        tb_region(tb, 0, TRC_REGION_BEGIN, EXCHANGE, 10 * US + work);
        call(tb, last + 15 * US + work, last + 30 * US + work);
        tb_region(tb, 0, TRC_REGION_END, EXCHANGE, 0);
        tb_region(tb, 0, TRC_REGION_END, 0, 10 * US);
        last += 30 * US + work;
        call(tb, last + 10 * US, last + 10 * US);
        last += 10 * US;
    }
    tb_region(tb, 0, TRC_REGION_BEGIN, OUTER, 0);
    tb_region(tb, 0, TRC_REGION_BEGIN, LOST, 1 * US);
    tb_region(tb, 0, TRC_REGION_BEGIN, OUTER, 2 * US); /* inside itself */
    tb_region(tb, 0, TRC_REGION_END, OUTER, 4 * US);
    tb_region(tb, 0, TRC_REGION_END, OUTER, 8 * US);
    tb_region(tb, 0, TRC_REGION_END, STEP, 9 * US); /* is not open */
    tb_region(tb, 0, TRC_REGION_BEGIN, COMPUTE, 10 * US);
    call(tb, last + 30 * US, last + 40 * US); /* COMPUTE stays open: until here */
}

static const struct ana_region_stat *region(const struct ana_summary *s, const char *name)
{
    static const struct ana_region_stat none;
    for (size_t i = 0; i < s->region_count; i++)
        if (strcmp(s->regions[i].name, name) == 0)
            return &s->regions[i];
    CHECK(0, "no region %s", name);
    return &none;
}

static struct ana_summary summary_of(struct ana_job *job, int64_t begin_ns, int64_t end_ns)
{
    struct ana_summary s;
    do
        CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = begin_ns, .end_ns = end_ns}, &s) == TRC_OK);
    while (ana_job_advance(job, 0) < 1 && (ana_summary_free(&s), true));
    ana_summary_free(&s);
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = begin_ns, .end_ns = end_ns}, &s) == TRC_OK);
    return s;
}

static void check_whole(struct ana_job *job)
{
    struct ana_summary s = folder_summary(job);
    CHECK(s.region_count == 5 && s.region_unmatched == 2, "%zu regions, %llu ends", s.region_count,
          (unsigned long long)s.region_unmatched);
    const struct ana_region_stat *r = region(&s, "step");
    CHECK(r->times == 8 && r->ranks == 2 && r->left == 0 && r->total_ns == 4 * (90 + 100) * US, "%lld",
          (long long)r->total_ns);
    CHECK(r->own_ns == 8 * 20 * US && r->mpi_ns == 8 * 15 * US, "%lld, %lld", (long long)r->own_ns,
          (long long)r->mpi_ns);
    CHECK(r->worst_index == 1 && r->worst_ns == 400 * US && r->by_rank_ns[0] == 360 * US && r->longest_ns == 100 * US);
    r = region(&s, "compute"); /* open regions: from 30 us before the end of all, rank 0 from 70 */
    CHECK(r->times == 10 && r->total_ns == (4 * (50 + 60) + 30 + 70) * US && r->mpi_ns == 2 * 10 * US, "%lld, %lld",
          (long long)r->total_ns, (long long)r->mpi_ns);
    r = region(&s, "exchange");
    CHECK(r->times == 8 && r->total_ns == 8 * 20 * US && r->own_ns == r->total_ns && r->mpi_ns == 8 * 15 * US);
    r = region(&s, "outer"); /* 8 us a rank; inside it 2 us of another one of its name */
    CHECK(r->times == 4 && r->total_ns == 2 * 8 * US && r->longest_ns == 8 * US, "%lld", (long long)r->total_ns);
    r = region(&s, "never ended");
    CHECK(r->times == 0 && r->left == 2 && r->total_ns == 0, "%llu", (unsigned long long)r->left);
    ana_summary_free(&s);
}

/* A file named before is left out; a class is not. */
static void check_words(void)
{
    static const char *const of[][3] = {
        {"a.c:10", "a.c:20", "Recv a.c:10 -> Send :20"},
        {"a.c:10", "b.c:20", "Recv a.c:10 -> Send b.c:20"},
        {"Job::operator()+0xbd", "Job::operator()+0x10", "Recv Job::operator()+0xbd -> Send Job::operator()+0x10"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ana_segment_stat segment = {.from.call = "MPI_Recv", .to.call = "MPI_Send"};
        char words[200];
        snprintf(segment.from.place, sizeof segment.from.place, "%s", of[i][0]);
        snprintf(segment.to.place, sizeof segment.to.place, "%s", of[i][1]);
        ana_segment_words(&segment, words, sizeof words);
        CHECK(strcmp(words, of[i][2]) == 0, "%s", words);
    }
}

/* The same two calls of one place are a segment in each region that most of the time between them is spent in. */
static void check_segments(struct ana_job *job)
{
    struct ana_summary s = folder_summary(job);
    char words[200];
    unsigned seen = 0;
    for (size_t i = 0; i < s.segment_count; i++) {
        const struct ana_segment_stat *segment = &s.segments[i];
        bool compute = strcmp(segment->region, "compute") == 0;
        ana_segment_words(segment, words, sizeof words);
        if (strcmp(segment->from.place, "0xa0") != 0 || strcmp(segment->to.place, "0xa0") != 0)
            continue;
        seen |= compute ? 1 : 2;
        CHECK(compute || strcmp(segment->region, "step") == 0, "in %s", segment->region);
        CHECK(segment->times == (compute ? 10 : 8) && segment->longest_ns == (compute ? 75 : 10) * US, "%s: %llu, %lld",
              words, (unsigned long long)segment->times, (long long)segment->longest_ns);
        CHECK(!compute || strcmp(words, "compute: Comm_rank 0xa0 -> Comm_rank 0xa0") == 0, "%s", words);
    }
    CHECK(seen == 3, "both");
    ana_summary_free(&s);
}

int main(void)
{
    folder_make("regions");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        fill(tb, r);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    check_whole(job);
    check_words();
    check_segments(job);
    /* Window from the middle of the first step's computation of both ranks on, to the end of it. */
    struct ana_summary s = summary_of(job, 1030 * US, 1081 * US);
    const struct ana_region_stat *r = region(&s, "compute");
    CHECK(r->times == 2 && r->total_ns == (30 + 40) * US, "%lld", (long long)r->total_ns);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
