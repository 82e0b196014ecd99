/* Horovod's steps as iterations: usual lengths, the longest steps, and their differences. */
#include "trace/horovod/horovod_impl.h"
#include "trace/util/numfmt.h"
#include "trace/util/sort.h"
#include <inttypes.h>

#define PART_OF_IT 0.2 /* share of a step's excess time that a difference must explain */

static double length_of(const struct ana_hvd_step *step)
{
    return (double)step->end_ns - (double)step->from_ns;
}
static double before_of(const struct ana_hvd_step *step)
{
    return (double)step->begin_ns - (double)step->from_ns;
}
static double late_of(const struct ana_hvd_step *step)
{
    return step->ms * 1e6;
}

void hvd_store_slow(struct ana_hvd_set *set, const struct ana_hvd_step *step)
{
    size_t at = set->slow_steps;
    for (; at && length_of(&set->slow[at - 1]) < length_of(step); at--)
        if (at < ANA_HVD_SLOW)
            set->slow[at] = set->slow[at - 1];
    if (at < ANA_HVD_SLOW)
        set->slow[at] = *step;
    set->slow_steps += set->slow_steps < ANA_HVD_SLOW;
}

/* ---- usual lengths ---------------------------------------------------------------------------------------------- */

static double median_of(const struct ana_hvd_set *set, double (*number)(const struct ana_hvd_step *), double *room)
{
    for (size_t i = 0; i < set->kept_steps; i++)
        room[i] = number(&set->step[i]);
    ana_sort(room, set->kept_steps, sizeof *room, ana_compare_numbers);
    return set->kept_steps ? room[set->kept_steps / 2] : NAN;
}

void hvd_find_usual(struct ana_hvd_set *set)
{
    double *room = malloc((set->kept_steps + 1) * sizeof *room);
    set->usual = (struct ana_hvd_usual){NAN, NAN, NAN};
    if (room)
        set->usual = (struct ana_hvd_usual){median_of(set, length_of, room), median_of(set, before_of, room),
                                            median_of(set, late_of, room)};
    free(room);
}

/* ---- differences ------------------------------------------------------------------------------------------------ */

enum ana_hvd_differs ana_hvd_step_differs(const struct ana_hvd_set *set, const struct ana_hvd_step *step)
{
    double least = PART_OF_IT * (length_of(step) - set->usual.all);
    double late = late_of(step) - set->usual.late, before = before_of(step) - set->usual.before;
    if (!(least > 0))
        return ANA_HVD_NOTHING;
    if (late >= least && late >= before && step->last_rank != UINT32_MAX)
        return ANA_HVD_LATE;
    return before >= least ? ANA_HVD_BEFORE : ANA_HVD_NOTHING;
}

void ana_hvd_step_words(const struct ana_job *job, const struct ana_hvd_set *set, const struct ana_hvd_step *step,
                        char *out, size_t size)
{
    char took[ANA_TEXT], usual[ANA_TEXT];
    int n = snprintf(out, size, "step %" PRIu64 " took %.1f x", step->number, length_of(step) / set->usual.all);
    if (n < 0 || (size_t)n >= size)
        return;
    out += n;
    size -= (size_t)n;
    switch (ana_hvd_step_differs(set, step)) {
    case ANA_HVD_LATE: {
        size_t index = set->rank[step->last_rank].index;
        int rank = index == SIZE_MAX ? (int)step->last_rank : ana_job_rank(job, index)->rank;
        snprintf(out, size, ": rank %d came %s after the first, usually %s", rank,
                 ana_spoken(took, sizeof took, late_of(step)), ana_spoken(usual, sizeof usual, set->usual.late));
        break;
    }
    case ANA_HVD_BEFORE:
        snprintf(out, size, ": %s until the first tensor came, usually %s",
                 ana_spoken(took, sizeof took, before_of(step)), ana_spoken(usual, sizeof usual, set->usual.before));
        break;
    case ANA_HVD_NOTHING:
        break;
    }
}
