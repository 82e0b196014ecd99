/* The timeline from two hours to a microsecond: a cell shows its content, at every zoom, and a redraw of all costs the
 * same as of two seconds. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/timeline/over_time.h"
#include <math.h>
#include <time.h>

enum { CELLS = 72 };
static const int64_t step_ns = 24000000, inside_ns = 12000000, hours_ns = 7200000000000, seconds_ns = 2000000000;

/* One call every 24 ms that takes 12 ms, for so long. */
static struct ana_job *job_of(const char *name, int64_t length_ns)
{
    folder_make(name);
    struct tb *tb = tb_new(0, 2);
    for (int64_t t = 0; t + inside_ns < length_ns; t += step_ns)
        tb_send(tb, 0, t, t + inside_ns, 1, 7, 64);
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    return job;
}

/* Time inside the calls of [0, at). */
static int64_t before(int64_t at)
{
    int64_t rest = at % step_ns;
    return at / step_ns * inside_ns + (rest < inside_ns ? rest : inside_ns);
}

/* Halves the window around a point again and again; returns how narrow it became. */
static int64_t zoom(struct ana_job *job, int64_t point)
{
    struct ana_timeline_cell cell[CELLS];
    int64_t width = hours_ns - step_ns, narrowest = width;
    for (; width >= 1000; width /= 2) {
        int64_t begin = point - width / 2;
        begin = begin < 0 ? 0 : begin;
        begin = begin + width > hours_ns - step_ns ? hours_ns - step_ns - width : begin;
        ana_timeline(job, 0, begin, begin + width, CELLS, cell);
        for (int i = 0; i < CELLS; i++) {
            int64_t from = begin + width * i / CELLS, to = begin + width * (i + 1) / CELLS;
            double want = (double)(before(to) - before(from)) / (double)(to - from), got = cell[i].share[TRC_CAT_P2P];
            double sum = 0;
            for (int c = 0; c < TRC_CATEGORIES; c++)
                sum += cell[i].share[c];
            CHECK(fabs(sum - 1) < 1e-3 && fabs(got - want) < 0.02,
                  "%lld ns wide, cell %d: %.3f, should be %.3f, of %.3f", (long long)width, i, got, want, sum);
        }
        narrowest = width;
    }
    return narrowest;
}

/* Processor time of a redraw of all, the least of many. */
static double cost(struct ana_job *job, int64_t length_ns)
{
    struct ana_timeline_cell cell[CELLS];
    double least = INFINITY;
    for (int i = 0; i < 200; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        ana_timeline(job, 0, 0, length_ns, CELLS, cell);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        least = fmin(least, (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
    }
    return least;
}

int main(void)
{
    struct ana_job *job = job_of("hours", hours_ns);
    CHECK(ana_job_info(job).elapsed_ns > hours_ns / 10 * 9, "two hours");
    CHECK(zoom(job, 3600000000000 + 7 * step_ns + 5000000) < 2000, "down to a microsecond, inside a call");
    CHECK(zoom(job, 100 * step_ns + 20000000) < 2000, "near the begin, between calls");
    double hours = cost(job, hours_ns);
    ana_job_close(job);
    folder_remove();
    job = job_of("seconds", seconds_ns);
    double seconds = cost(job, seconds_ns);
    /* 3600 times the events: a cost that grew with them would be in the hundreds. */
    CHECK(hours < 20 * seconds, "all of two hours %.0f ns, of two seconds %.0f ns", hours, seconds);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
