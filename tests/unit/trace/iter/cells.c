/* The times of iterations on each rank, and when they were: of nested loops, of long runs that keep only some, and of a
 * job that runs, which keeps its last ones. */
#include "tests/support/planted.h"
#include "trace/iter/iter.h"
#include "trace/session/session.h"
#include <math.h>
#include <stdlib.h>

enum { RANKS = 3, SLOW_RANK = 1, INNER = 6 };

/* An iteration: INNER times 1 ms to 0x30, then 2 ms to 0x40, which ends it; `more` on one rank, before 0x40. */
static void iterate(struct planted *p, int64_t more)
{
    for (int i = 0; i <= INNER; i++) {
        for (int r = 0; r < RANKS; r++)
            p->at[r] += i < INNER ? MS : 2 * MS + (r == SLOW_RANK ? more : 0);
        planted_meet(p, i < INNER ? 0x30 : 0x40, TB_WORLD, UINT64_MAX);
    }
}
#define USUAL ((INNER + 2) * MS + (INNER + 1) * US)

static bool is_near(float ns, int64_t want)
{
    return fabs((double)ns - (double)want) <= 1000;
}

static void check_nested(void)
{
    struct planted p = planted_begin("nested", RANKS);
    planted_meet(&p, 0x20, TB_WORLD, UINT64_MAX);
    int64_t at[42];
    for (int i = 1; i <= 40; i++) {
        at[i] = p.at[0];
        iterate(&p, i == 17 ? 20 * MS : 0);
    }
    at[41] = p.at[0];
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    struct ana_iteration_cell cell[RANKS][40];
    size_t level = of->level;
    CHECK(of->levels == level + 2 && of->loop[level].count == 40 && of->loop[level + 1].count == (uint64_t)(40 * INNER),
          "%zu levels, %zu: %llu", of->levels, level, (unsigned long long)of->loop[level].count);
    for (size_t r = 0; r < RANKS; r++) {
        ana_iteration_cells(job, of, level, r, 1, 40, 40, cell[r]);
        for (int i = 2; i <= 40; i++) {
            int64_t own = (INNER + 2) * MS + (r == SLOW_RANK && i == 17 ? 20 * MS : 0);
            const struct ana_iteration_cell *c = &cell[r][i - 1];
            CHECK(is_near(c->time_ns, USUAL + (i == 17 ? 20 * MS : 0)) && is_near(c->own_ns, own) && c->mean_of == 1,
                  "rank %zu, %d: %f, %f", r, i, (double)c->time_ns, (double)c->own_ns);
        }
    }
    ana_iteration_cells(job, of, level, SLOW_RANK, 11, 30, 2, cell[0]);
    CHECK(is_near(cell[0][0].own_ns, (INNER + 22) * MS) && is_near(cell[0][1].own_ns, (INNER + 2) * MS),
          "folded: %f, %f", (double)cell[0][0].own_ns, (double)cell[0][1].own_ns);
    int64_t begin, end;
    CHECK(ana_iteration_span(job, of, level, 17, 18, &begin, &end) && begin == at[17] && end == at[19], "%lld to %lld",
          (long long)begin, (long long)end);
    for (int i = 1; i <= 40; i++)
        CHECK(ana_iteration_at(job, of, level, 0, (at[i] + at[i + 1]) / 2) == (uint64_t)i, "in %d", i);
    CHECK(!ana_iteration_span(job, of, level, 41, 45, &begin, &end), "there is no iteration 41");
    CHECK(ana_iteration_at(job, of, level, RANKS, MS) == 0, "there is no such rank");
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void write_live(struct planted *p)
{
    for (int r = 0; r < RANKS; r++) {
        tb_running(p->tb[r], p->at[r]);
        folder_this_process(p->tb[r]);
        folder_write(p->tb[r], r);
    }
}

/* Too many iterations to keep each; the job lives, is looked at, and goes on. */
static void check_long(void)
{
    enum { TIMES = 4 * ANA_ITER_ENTRIES, MORE = 100, SLOW = 9001 };
    struct planted p = planted_begin("long", RANKS);
    for (int i = 1; i <= TIMES; i++)
        iterate(&p, i == SLOW ? 20 * MS : 0);
    write_live(&p);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    struct ana_iteration_cell cell[MORE];
    size_t level = s.iterations.level;
    ana_iteration_cells(job, &s.iterations, level, 0, SLOW - 4, SLOW + 5, 10, cell);
    CHECK(cell[0].mean_of > 1 && is_near(cell[4].time_ns, USUAL + 20 * MS) &&
              cell[3].time_ns < (float)(USUAL + 19 * MS),
          "means of %u, %f %f", cell[0].mean_of, (double)cell[3].time_ns, (double)cell[4].time_ns);
    ana_summary_free(&s);
    for (int i = 1; i <= MORE; i++)
        iterate(&p, i == 61 ? 10 * MS : 0);
    write_live(&p);
    ana_job_refresh(job);
    while (ana_job_advance(job, 0) < 1) {
    }
    s = folder_summary(job);
    ana_iteration_cells(job, &s.iterations, level, SLOW_RANK, TIMES + 1, TIMES + MORE, MORE, cell);
    for (int i = 2; i < MORE; i++) /* the last may not be read yet */
        CHECK(cell[i].mean_of == 1 && is_near(cell[i].own_ns, (INNER + 2) * MS + (i == 60 ? 10 * MS : 0)),
              "%d: mean of %u, %f", i, cell[i].mean_of, (double)cell[i].own_ns);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    for (int r = 0; r < RANKS; r++)
        tb_free(p.tb[r]);
}

int main(void)
{
    check_nested();
    check_long();
    return check_result();
}
