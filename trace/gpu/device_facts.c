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

bool ana_gpu_is_here(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && fgets(boot, sizeof boot, f))
        boot[strcspn(boot, "\n")] = 0;
    if (f)
        fclose(f);
    for (size_t i = 0; boot[0] && i < members->count; i++) {
        const struct trc_file *file = members->process[i].rank.file;
        if (members->process[i].alive && strcmp(trc_head(file)->boot_id, boot) == 0 &&
            (trc_fact(file, "nccl") || trc_fact(file, "gpu.kernels")))
            return true;
    }
    return false;
}

bool ana_gpu_could_be(const struct ana_job *job, size_t processes)
{
    const struct ana_members *members = ana_job_members(job);
    size_t least = 0, most = members->count > members->world_size ? members->count : members->world_size;
    for (size_t i = 0; i < members->count; i++)
        least += members->process[i].alive && trc_fact(members->process[i].rank.file, "nccl");
    return processes > 0 && processes >= least && processes <= most;
}
