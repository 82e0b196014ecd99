/* Horovod's steps: as many as there were, also where no file has the submissions.  And as iterations, of the
 * golden screens' job (tests/support/screen_horovod.c), whose 20 steps come every 500 ms: rank 3 comes 50 cycles of a
 * millisecond after the first, in every tenth step rank 1 after 60; the second step is the first that computes for as
 * long as there is between two. */
#include "tests/support/check.h"
#include "tests/support/hvd_run.h"
#include "tests/support/screen_job.h"
#include "tests/support/trace_folder.h"
#include "trace/horovod/horovod.h"

#include <math.h>
#include <string.h>

static bool is_near(double ns, double ms)
{
    return fabs(ns - ms * 1e6) < 2e6;
}

enum { STEPS = 5, MORE_STEPS = 9 };

/* Every step reduces each tensor once; without a cache, the first may be in no file. */
static void check_count(const struct hvd_run *run, const struct ana_hvd *hvd, unsigned long seed)
{
    uint64_t most = 0, steps = run->joins ? MORE_STEPS : STEPS;
    CHECK(run->finished && hvd->sets == 1, "seed %lu: %zu sets", seed, hvd->sets);
    if (hvd->sets != 1)
        return;
    const struct ana_hvd_set *set = hvd->set;
    for (size_t t = 0; t < set->tensors; t++)
        most = set->tensor[t].done > most ? set->tensor[t].done : most;
    CHECK(set->steps == most && set->steps >= steps - (run->capacity == 0) && set->steps <= steps,
          "seed %lu, cache %d: %lu steps of %lu, a tensor %lu times", seed, run->capacity, (unsigned long)set->steps,
          (unsigned long)steps, (unsigned long)most);
}

/* The ranks submit from the second cycle on, some later than others; or all but one join before the end. */
static void counted(unsigned long seed)
{
    static struct hvd_run run;
    const char *folder = folder_make("steps");
    hvd_plan(seed, &run);
    run.fault = HVD_FAULT_NONE;
    run.joins = seed % 3 == 0;
    run.sets = 1;
    run.capacity = seed % 4 ? 0 : 100;
    run.compute = 1;
    run.jitter = 3;
    run.cut = 0;
    for (int r = 0; r < run.ranks; r++)
        run.steps[r] = run.joins && r == (int)(seed % (unsigned)run.ranks) ? MORE_STEPS : STEPS;
    for (int t = 0; t < run.set[0].tensors; t++)
        run.set[0].tensor[t].op = ANA_HVD_ALLREDUCE; /* others do not go with a join */
    hvd_simulate(&run, folder);
    struct ana_job *job = folder_open();
    check_count(&run, ana_job_horovod(job), seed);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    for (unsigned long seed = 1; seed <= 100; seed++)
        counted(seed);
    const struct screen_job job_of = {.ranks = 8, .steps = 100, .horovod = true};
    int64_t clock_ns;
    struct ana_job *job = screen_job_open(&job_of, &clock_ns);
    const struct ana_hvd *hvd = ana_job_horovod(job);
    CHECK(hvd->sets == 1, "%zu sets", hvd->sets);
    const struct ana_hvd_set *set = &hvd->set[0];
    CHECK(set->steps == 20 && set->slow_steps == ANA_HVD_SLOW, "%llu steps, %zu slow", (unsigned long long)set->steps,
          set->slow_steps);
    CHECK(is_near(set->usual.all, 500) && is_near(set->usual.before, 450) && is_near(set->usual.late, 50),
          "usually %f, %f, %f", set->usual.all, set->usual.before, set->usual.late);
    size_t late = 0;
    for (size_t i = 0; i < set->slow_steps; i++) {
        const struct ana_hvd_step *slow = &set->slow[i];
        double ns = (double)(slow->end_ns - slow->from_ns), usual_ns = slow->number == 2 ? 540 : 500;
        char words[200], expected[200];
        CHECK(i == 0 || slow->end_ns - slow->from_ns <= set->slow[i - 1].end_ns - set->slow[i - 1].from_ns,
              "step %llu is too far behind", (unsigned long long)slow->number);
        ana_hvd_step_words(job, set, slow, words, sizeof words);
        if (slow->number % 10 == 0) {
            CHECK(is_near(ns, 510) && ana_hvd_step_differs(set, slow) == ANA_HVD_LATE, "%s", words);
            snprintf(expected, sizeof expected,
                     "step %llu took 1.0 x: rank 1 came 60 ms after the first, usually 50 ms",
                     (unsigned long long)slow->number);
            CHECK(strcmp(words, expected) == 0, "%s", words);
            late++;
        } else {
            CHECK(is_near(ns, usual_ns), "%s: %f", words, ns);
        }
    }
    CHECK(late == 2, "%zu late steps", late);
    CHECK(set->slow[0].number == 2 && ana_hvd_step_differs(set, &set->slow[0]) == ANA_HVD_BEFORE, "step %llu",
          (unsigned long long)set->slow[0].number);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
