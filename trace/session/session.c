#include "trace/session/session.h"
#include "trace/gpu/device.h"
#include "trace/horovod/horovod.h"
#include "trace/index/index.h"
#include "trace/job/upper.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
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
    struct ana_upper upper = {0};
    ana_gpu_enter(&upper);
    ana_horovod_enter(&upper);
    ana_verdict_enter(&upper);
    ana_headline_enter(&upper);
    ana_index_enter(&upper);
    struct ana_opener opener = {opening, user, processors()};
    const char *index = getenv("HPCTOP_INDEX");
    enum trc_status status = ana_job_open_with(&upper, &opener, folders, n, out, error, error_size);
    if (status == TRC_OK && index && strcmp(index, "no") == 0)
        ana_job_set_index(*out, false);
    return status;
}
