/* Facts about the GPUs in the ranks' files: presence, and reasons for missing data. */
#include "trace/gpu/device_impl.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/window.h"

/* Writes why kernels are not known of all ranks. */
static void not_all(const struct ana_job *job, const uint8_t *ranks, struct ana_gpu_summary *look)
{
    const struct ana_members *members = ana_job_members(job);
    size_t with = 0;
    const char *first = NULL;
    for (size_t i = 0; i < members->count; i++) {
        const char *missing = ana_selected(ranks, i) ? trc_fact(members->process[i].rank.file, "gpu.missing") : NULL;
        first = first ? first : missing;
        with += missing != NULL;
    }
    if (with)
        snprintf(look->why_not, sizeof look->why_not, "of %zu rank%s not there: kernels or copies: %s", with,
                 with == 1 ? "" : "s", first);
}

void ana_gpu_explain(const struct ana_job *job, const uint8_t *ranks, struct ana_gpu_summary *look)
{
    const struct ana_members *members = ana_job_members(job);
    size_t without = 0, first = 0, all = 0;
    for (size_t i = 0; i < members->count; i++) {
        if (!ana_selected(ranks, i))
            continue;
        const char *told = trc_fact(members->process[i].rank.file, "gpu.kernels");
        bool timed = told && strncmp(told, "timed by", 8) == 0;
        all++;
        if (!timed && (told || trc_fact(members->process[i].rank.file, "nccl")) && without++ == 0)
            first = i;
    }
    if (without == 0) {
        not_all(job, ranks, look);
        return;
    }
    const char *told = trc_fact(members->process[first].rank.file, "gpu.kernels");
    const char *reason = told ? told : "not timed: CUDA's driver was not seen";
    if (without == all)
        snprintf(look->why_not, sizeof look->why_not, "kernels are %s", reason);
    else
        snprintf(look->why_not, sizeof look->why_not, "kernels of %zu of %zu ranks are %s", without, all, reason);
}
