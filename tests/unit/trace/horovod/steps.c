/* Horovod's steps as iterations: of the golden screens' job (tests/support/screen_horovod.c), whose 20 steps come every
 * 500 ms.  Rank 3 comes 50 cycles of a millisecond after the first, in every tenth step rank 1 after 60; the second
 * step is the first that computes for as long as there is between two. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/trace_folder.h"
#include "trace/horovod/horovod.h"

#include <math.h>
#include <string.h>

static bool is_near(double ns, double ms)
{
    return fabs(ns - ms * 1e6) < 2e6;
}

int main(void)
{
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
