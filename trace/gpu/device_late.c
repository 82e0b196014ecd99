/* The last rank to come to a collective of NCCL's.  The kernels of the others run until its own does: they wait.  As
 * far as it had not called by then, its host is late, and its work before the call is the cause; else its GPU was
 * still busy. */
#include "trace/gpu/device_impl.h"
#include "trace/job/analysis.h"

#define CLOCKS_NS 20000 /* two clocks may seem so far apart */

/* The rank whose kernel was the shortest: it waited for nobody. */
static const struct ana_nccl_arrival *last_of(const struct ana_nccl_arrival *arrival, size_t count)
{
    const struct ana_nccl_arrival *last = arrival;
    for (size_t i = 1; i < count; i++)
        if (arrival[i].end_ns - arrival[i].begin_ns < last->end_ns - last->begin_ns)
            last = &arrival[i];
    return last;
}

void ana_nccl_late(struct ana_job *job, const struct ana_nccl_call *call, const struct ana_nccl_arrival *arrival,
                   size_t count)
{
    const struct ana_nccl_arrival *last = last_of(arrival, count);
    for (const struct ana_nccl_arrival *a = arrival; a < arrival + count; a++) {
        int64_t waited = (a->end_ns - a->begin_ns) - (last->end_ns - last->begin_ns);
        int64_t ns = ana_earlier(waited, last->called_ns - a->begin_ns);
        struct ana_wait_span span = {ANA_LATE_ON_DEVICE, a->index,        last->index, a->begin_ns, a->begin_ns + ns,
                                     call->of,           last->called_ns, a->step,     last->step};
        if (ns > CLOCKS_NS)
            ana_add_device_wait(job, &span, call->identity);
    }
}
