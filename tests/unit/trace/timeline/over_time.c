/* Sums of many ranks over time are the same to the bit, however many threads read it. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/timeline/over_time.h"
#include "trace/summary/alike.h"
#include "trace/job/analysis.h"
#include <string.h>

enum { RANKS = 150, CELLS = 37, CALLS = 40 };

struct seen {
    struct ana_timeline_cell mean[CELLS], most[CELLS], one[CELLS];
    double series[ANA_SERIES_KINDS][CELLS];
};

static void build(void)
{
    for (int32_t r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        for (int64_t i = 0, t = 1000; i < CALLS; i++, t += 997 * (r % 7 + 1) + i * 31) {
            tb_send(tb, 0, t, t + 100 + (r * 37 + i * 11) % 300, (r + 1) % RANKS, 5, 64u << (i % 9));
            tb_allreduce(tb, 0, t + 500, t + 511 + r, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

static void look(struct ana_job *job, struct seen *seen)
{
    size_t rank[RANKS];
    double *series[ANA_SERIES_KINDS];
    uint8_t some[RANKS];
    struct ana_job_info info = ana_job_info(job);
    memset(seen, 0, sizeof *seen);
    for (size_t i = 0; i < RANKS; i++) {
        rank[i] = i;
        some[i] = i % 3 != 0;
    }
    ana_timeline_of(job, rank, RANKS, 0, info.elapsed_ns, CELLS, seen->mean, seen->most);
    ana_timeline_of(job, rank, 1, 0, info.elapsed_ns, CELLS, seen->one, NULL);
    for (int kind = 0; kind < ANA_SERIES_KINDS; kind++)
        series[kind] = seen->series[kind];
    ana_series(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = some}, CELLS, series);
}

/* Buckets are as wide from the first event on as the run is long: none is merged later. */
static void check_width(void)
{
    folder_make("over_time_width");
    for (int32_t r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        for (int64_t i = 0; i < 1000; i++)
            tb_allreduce(tb, 0, 1000 + i * 10000000, 2000 + i * 10000000, TB_WORLD, (uint64_t)i + 1, 8);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    int64_t width_ns = ana_job_analysis(job)->lane[1].width_ns;
    ana_job_advance(job, 0);
    CHECK(ana_job_analysis(job)->lane[1].used > 1, "no events");
    CHECK(ana_job_analysis(job)->lane[1].width_ns == width_ns, "%lld ns became %lld", (long long)width_ns,
          (long long)ana_job_analysis(job)->lane[1].width_ns);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    check_width();
    static struct seen alone, beside;
    folder_make("over_time");
    build();
    struct ana_job *job = folder_open();
    CHECK(ana_job_set_workers(job, 1), "out of memory");
    ana_job_advance(job, 0);
    look(job, &alone);
    CHECK(alone.series[ANA_SERIES_CALLS][CELLS / 2] > 0 && alone.mean[CELLS / 2].share[TRC_CAT_COMPUTE] > 0, "empty");
    for (unsigned workers = 2; workers <= 5; workers++) {
        CHECK(ana_job_set_workers(job, workers), "out of memory");
        ana_job_advance(job, 0);
        look(job, &beside);
        CHECK(memcmp(&alone, &beside, sizeof alone) == 0, "with %u workers it is something else", workers);
    }
    ana_job_close(job);
    folder_remove();
    return check_result();
}
