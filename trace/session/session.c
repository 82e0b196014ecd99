#include "trace/session/session.h"
#include "trace/gpu/device_impl.h"
#include "trace/horovod/horovod_impl.h"
#include "trace/verdict/verdict_impl.h"
#include <unistd.h>

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
        .device_event = ana_gpu_device_event,
        .nccl_call = ana_gpu_call,
        .exposed = ana_gpu_exposed,
        .horovod_new = ana_hvd_new,
        .horovod_free = ana_hvd_free,
        .judgement_new = ana_judgement_new,
        .judgement_free = ana_judgement_free,
        .refreshed = ana_verdict_refreshed,
        .summarized = ana_verdict_summarized,
    };
    enum trc_status status =
        ana_job_open_with(&upper, &(struct ana_opener){opening, user}, folders, n, out, error, error_size);
    if (status == TRC_OK)
        ana_job_set_workers(*out, sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1); /* for want of memory none is started */
    return status;
}
