/* Results of a job's analysis, in all its time or in a part, do not depend on how many threads do it, nor on how it
 * is cut into slices. */
#include "tests/support/planted.h"
#include "tests/support/draw.h"
#include "trace/job/analysis.h"
#include "trace/job/parts.h"
#include "trace/job/window.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include <stdlib.h>

#define RANKS 7

/* A job of random meetings and messages, and in between work that often takes longer on one of the ranks; goes_on: it
 * comes to new places and tags all the time, not to the same few. */
static void write_random(uint64_t seed, int actions, bool goes_on)
{
    struct planted p = planted_begin("workers", RANKS);
    for (int i = 0; i < actions; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += (int64_t)draw(&seed, 100) * US + (draw(&seed, 9) == 0 ? 3 * MS : 0);
        int from = (int)draw(&seed, RANKS), to = (from + 1 + (int)draw(&seed, RANKS - 1)) % RANKS;
        p.tag = goes_on ? 1 + i : 1;
        if (draw(&seed, 3))
            planted_message(&p, from, to);
        else
            planted_meet(&p, 0x1000 + 0x10 * (draw(&seed, 5) + (goes_on ? (uint64_t)i / 4 : 0)), TB_WORLD, UINT64_MAX);
    }
    ana_job_close(planted_open(&p));
}

/* All that is reported of its middle, or of all of it: the page, and the prices. */
static char *read_with(unsigned workers, int64_t slice_ns, bool middle)
{
    struct ana_job *job = folder_open();
    int64_t third_ns = (ana_job_members(job)->end_ns - ana_job_members(job)->begin_ns) / 3;
    CHECK(!middle ||
          ana_job_set_window(job, ana_job_members(job)->begin_ns + third_ns, ana_job_members(job)->end_ns - third_ns));
    CHECK(ana_job_set_workers(job, workers) && ana_job_read_by_threads(job));
    CHECK((ana_job_analysis(job)->pass.why.pipeline != NULL) == (workers >= 4), "%u workers: events are handed on",
          workers);
    while (ana_job_advance(job, slice_ns) < 1) {
    }
    struct ana_summary s;
    struct ana_selection part = {.end_ns = INT64_MAX};
    if (middle)
        part = (struct ana_selection){.begin_ns = ana_job_analysis(job)->window.begin_ns,
                                      .end_ns = ana_job_analysis(job)->window.end_ns};
    CHECK(ana_summarize(job, part, &s) == TRC_OK);
    while (ana_job_advance(job, slice_ns) < 1) {
    }
    ana_summary_free(&s);
    CHECK(ana_summarize(job, part, &s) == TRC_OK);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ana_report_text(job, &s, true, out);
    for (size_t i = 0; i < s.segment_count; i++)
        fprintf(out, "%s %s: %lld, %lld direct\n", s.segments[i].from.place, s.segments[i].to.place,
                (long long)s.segments[i].cost_ns, (long long)s.segments[i].direct_ns);
    for (size_t i = 0; i < s.price_count; i++)
        fprintf(out, "%s %s: %lld of %lld\n", s.prices[i].from.place, s.prices[i].to.place,
                (long long)s.prices[i].saves_ns, (long long)s.prices[i].path_ns);
    fprintf(out, "path %lld, inside %lld, unknown %lld\n", (long long)s.path_ns, (long long)s.cost_inside_ns,
            (long long)s.cost_unknown_ns);
    CHECK(s.price_count > 0 && s.path_ns > 0);
    fclose(out);
    ana_summary_free(&s);
    ana_job_close(job);
    return text;
}

static void same(uint64_t seed, int actions, bool goes_on)
{
    write_random(seed, actions, goes_on);
    bool middle = seed % 3 == 0;
    char *alone = read_with(1, 0, middle);
    static const struct {
        unsigned workers;
        int64_t slice_ns;
    } other[] = {{2, 0}, {2, 20000}, {3, 0}, {4, 0}, {8, 20000}, {7, 0}, {1, 20000}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char *text = read_with(other[i].workers, other[i].slice_ns, middle);
        CHECK(strcmp(text, alone) == 0, "seed %llu, %u workers:\n%s\nand alone:\n%s", (unsigned long long)seed,
              other[i].workers, text, alone);
        free(text);
    }
    free(alone);
    folder_remove();
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        same(seed, 40 + (int)seed * 50, seed % 2);
    same(101, 12000, true);
    same(100, 40000, false); /* many times as many calls as are kept, and as blocks hold */
    return check_result();
}
