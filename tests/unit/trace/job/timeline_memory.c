/* Memory that runs out while a short lane is filled or summed up: the adding function fails, earlier sums stay, and the
 * job warns of missing ones. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/job_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
int main(void)
{
    printf("a sanitizer has a calloc of its own\n");
    return 77;
}
#else

static bool out; /* of memory */

void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

void *calloc(size_t n, size_t size)
{
    return out ? NULL : __libc_calloc(n, size);
}
void *realloc(void *old, size_t size)
{
    return out ? NULL : __libc_realloc(old, size);
}

static double calls_of(struct ana_lane *lane, int64_t begin_ns, int64_t end_ns)
{
    struct ana_lane_sum sum = {0};
    ana_lane_add(lane, (int64_t[]){begin_ns, end_ns}, 1, INT64_MAX, false, &sum);
    return sum.calls;
}

/* A lane of 64 buckets of 100 ns, with five calls in the second one. */
static struct ana_lane five_calls(void)
{
    struct ana_lane lane;
    ana_lane_init(&lane, 0, 100, 64);
    CHECK(ana_lane_count(&lane, 150, 5, 0, 0));
    return lane;
}

static void summing_up_needs_none(void)
{
    struct ana_lane lane = five_calls();
    out = true;
    CHECK(calls_of(&lane, 0, 1000) == 5, "%g calls", calls_of(&lane, 0, 1000));
    CHECK(calls_of(&lane, 100, 150) == 2.5 && calls_of(&lane, 150, 1000) == 2.5 && calls_of(&lane, 120, 140) == 1);
    CHECK(calls_of(&lane, 0, 100) == 0 && calls_of(&lane, 200, 1000) == 0);
    out = false;
    CHECK(ana_lane_count(&lane, 160, 2, 0, 0) && calls_of(&lane, 0, 1000) == 7, "%g calls", calls_of(&lane, 0, 1000));
    ana_lane_free(&lane);
}

/* Adds at `at_ns`: another bucket, or one that all are halved for. */
static void what_was_added_stays(int64_t at_ns)
{
    struct ana_lane lane = five_calls();
    out = true;
    CHECK(!ana_lane_count(&lane, at_ns, 3, 0, 0), "at %d: nobody was told", (int)at_ns);
    CHECK(calls_of(&lane, 0, 100000) == 5, "at %d: %g calls", (int)at_ns, calls_of(&lane, 0, 100000));
    out = false;
    CHECK(ana_lane_count(&lane, at_ns, 3, 0, 0), "at %d: memory is back", (int)at_ns);
    CHECK(calls_of(&lane, 0, 100000) == 8 && calls_of(&lane, 0, 1000) == (at_ns < 1000 ? 8 : 5), "at %d: %g calls",
          (int)at_ns, calls_of(&lane, 0, 1000));
    ana_lane_free(&lane);
}

static void the_job_warns(void)
{
    folder_make("lacks");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    job->sums.out_of_memory = true;
    for (int look = 0; look < 2; look++) { /* read at once, and once more after a refresh */
        ana_job_advance(job, 0);
        const char *warning = ana_job_warning(job, 0);
        CHECK(warning && strstr(warning, "memory ran out") && !ana_job_warning(job, 1), "%s", warning ? warning : "-");
        ana_job_refresh(job);
    }
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    summing_up_needs_none();
    what_was_added_stays(350);
    what_was_added_stays(7000);
    the_job_warns();
    return check_result();
}
#endif
