#include "trace/session/session.h"
#include "trace/gpu/device_impl.h"
#include "trace/horovod/horovod_impl.h"
#include "trace/index/index.h"
#include "trace/verdict/verdict_impl.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of processors this process may run on. */
static unsigned processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

enum trc_status ana_job_open(const char *const *folders, size_t n, struct ana_job **out, char *error, size_t error_size)
{
    return ana_job_open_watched(folders, n, NULL, NULL, out, error, error_size);
}

enum trc_status ana_job_open_watched(const char *const *folders, size_t n, ana_opening *opening, void *user,
                                     struct ana_job **out, char *error, size_t error_size)
{
    static const struct ana_upper upper = {
        .devices_new = ana_devices_new,
        .devices_new_range = ana_devices_new_range,
        .devices_free = ana_devices_free,
        .devices_keep = ana_devices_keep,
        .devices_name = ana_devices_name,
        .device_event = ana_gpu_device_event,
        .nccl_call = ana_gpu_call,
        .exposed = ana_gpu_exposed,
        .horovod_new = ana_hvd_new,
        .horovod_free = ana_hvd_free,
        .judgement_new = ana_judgement_new,
        .judgement_free = ana_judgement_free,
        .index_find = ana_index_find,
        .keep = ana_index_keep,
        .refreshed = ana_verdict_refreshed,
        .summarized = ana_verdict_summarized,
    };
    struct ana_opener opener = {opening, user, processors()};
    const char *index = getenv("HPCTOP_INDEX");
    enum trc_status status = ana_job_open_with(&upper, &opener, folders, n, out, error, error_size);
    if (status == TRC_OK && index && strcmp(index, "no") == 0)
        ana_job_set_index(*out, false);
    return status;
}
