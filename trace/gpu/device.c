/* Kernels and copies as they come: summed up by name, by rank and over time. */
#include "trace/gpu/device_data.h"
#include "trace/job/analysis.h"
#include "trace/gpu/nccl_bandwidth.h"
#include "trace/util/hash.h"
#include <stdlib.h>

#define DISTRIBUTIONS 16384 /* distributions of one kernel on one rank, a KiB each */

struct ana_devices *ana_devices_new_range(size_t ranks, int64_t begin_ns, int64_t end_ns)
{
    struct ana_devices *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return NULL;
    gpu->ranks = ranks;
    gpu->begin_ns = begin_ns;
    gpu->end_ns = end_ns;
    ana_map_init(&gpu->kernels, sizeof(struct kernel));
    ana_map_init(&gpu->kernel_ids, sizeof(uint32_t));
    ana_map_init(&gpu->ran, sizeof(struct share));
    ana_map_init(&gpu->devices, sizeof(struct device));
    ana_map_init(&gpu->streams, sizeof(struct stream));
    return gpu;
}

struct ana_devices *ana_devices_new(size_t ranks)
{
    struct ana_devices *gpu = ana_devices_new_range(ranks, -ANA_TIME_LIMIT, ANA_TIME_LIMIT);
    if (!gpu || !(gpu->match = ana_gpu_match_new(ranks))) {
        ana_devices_free(gpu);
        return NULL;
    }
    return gpu;
}

bool ana_devices_any(const struct ana_devices *gpu)
{
    return gpu && gpu->streams.count > 0;
}

void ana_devices_free(struct ana_devices *gpu)
{
    if (!gpu)
        return;
    for (size_t i = 0; i < gpu->kernels.count && gpu->match; i++)
        free(((struct kernel *)ana_map_value(&gpu->kernels, i))->name);
    for (size_t i = 0; i < gpu->devices.count; i++)
        ana_mix_free(&((struct device *)ana_map_value(&gpu->devices, i))->mix);
    for (size_t i = 0; i < gpu->streams.count; i++)
        ana_lane_free(&((struct stream *)ana_map_value(&gpu->streams, i))->lane);
    for (size_t i = 0; i < gpu->ran.count; i++)
        free(((struct share *)ana_map_value(&gpu->ran, i))->times);
    ana_map_free(&gpu->kernels);
    ana_map_free(&gpu->kernel_ids);
    ana_map_free(&gpu->ran);
    ana_map_free(&gpu->devices);
    ana_map_free(&gpu->streams);
    ana_gpu_match_free(gpu->match);
    free(gpu->order);
    free(gpu);
}

/* The kernel of an event; NULL: out of memory.  Names belong to the devices of all time and outlive time ranges. */
static struct kernel *kernel_of(const struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    uint32_t *known = ana_map_add(&gpu->kernel_ids, e->index, e->sig->object, 0);
    if (!known)
        return NULL;
    if (*known)
        return ana_map_value(&gpu->kernels, *known - 1);
    const char *name = trc_kernel(ana_job_members(job)->process[e->index].rank.file, e->sig->object);
    name = name ? name : "?";
    struct kernel *k = ana_map_add(&gpu->kernels, ana_hash_text(name), 0, 0);
    if (!k)
        return NULL;
    if (!k->name && gpu->match) {
        k->name = strdup(name);
    } else if (!k->name) {
        const struct kernel *same = kernel_of(job, ana_job_analysis(job)->gpu, e);
        k->name = same ? same->name : NULL;
    }
    if (!k->name)
        return NULL;
    k->nccl = ana_nccl_kernel(name);
    *known = (uint32_t)(k - (struct kernel *)gpu->kernels.values) + 1;
    return k;
}

static struct stream *stream_of(const struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    const struct ana_members *members = ana_job_members(job);
    struct stream *s = ana_map_add(&gpu->streams, e->index, e->thread, 0);
    if (!s || s->known)
        return s;
    const struct trc_device_stream *page = trc_device_stream(members->process[e->index].rank.file, e->thread);
    int64_t start = members->process[e->index].rank.begin_ns;
    s->of = (struct ana_stream){e->index, page->device, page->context, page->stream};
    s->thread = e->thread;
    s->number = page->number;
    s->known = true;
    if (gpu->match)
        ana_lane_init(&s->lane, start < e->begin_ns ? start : e->begin_ns, ANA_STREAM_WIDTH_NS,
                      ana_stream_buckets(gpu->ranks));
    return s;
}

static void count_copy(struct device *d, const struct ana_event *e)
{
    uint64_t bytes = e->sig->sent == TRC_BYTES_UNKNOWN ? 0 : e->sig->sent;
    const char *name = e->use->call->name;
    d->copies++;
    *(strstr(name, "HtoD") ? &d->to_device : strstr(name, "DtoH") ? &d->from_device : &d->other) += bytes;
}

static void count_kernel(struct ana_devices *gpu, struct kernel *k, size_t index, int64_t ns)
{
    struct share *own = ana_map_add(&gpu->ran, (uint64_t)(k - (struct kernel *)gpu->kernels.values), index, 0);
    ana_small_add(&k->times, ns, 1);
    if (!own)
        return;
    if (own->calls == 0) {
        k->ranks++;
        own->min_ns = own->max_ns = ns;
        own->times = gpu->match && gpu->ran.count <= DISTRIBUTIONS ? calloc(1, sizeof *own->times) : NULL;
    }
    own->calls++;
    own->total_ns = ana_plus(own->total_ns, ns);
    own->min_ns = ns < own->min_ns ? ns : own->min_ns;
    own->max_ns = ns > own->max_ns ? ns : own->max_ns;
    if (own->times)
        ana_small_add(own->times, ns, 1);
}

void ana_gpu_device_event(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    if (e->kind != TRC_RECORD_EVENT || e->begin_ns < -ANA_TIME_LIMIT || e->end_ns > ANA_TIME_LIMIT ||
        e->begin_ns > e->end_ns)
        return;
    struct stream *s = stream_of(job, gpu, e);
    struct device *d = s ? ana_map_add(&gpu->devices, e->index, s->of.device, 0) : NULL;
    if (!d)
        return;
    if (!d->mix.max)
        d->mix.max = ana_device_spans(gpu->ranks);
    bool copy = e->use->call->opclass == TRC_OP_COPY, counts = e->end_ns >= gpu->begin_ns && e->end_ns < gpu->end_ns;
    int64_t from = e->begin_ns > gpu->begin_ns ? e->begin_ns : gpu->begin_ns;
    int64_t to = e->end_ns < gpu->end_ns ? e->end_ns : gpu->end_ns;
    struct kernel *k = copy ? NULL : kernel_of(job, gpu, e);
    bool nccl = k && k->nccl;
    if (copy && counts) {
        count_copy(d, e);
    } else if (counts) {
        d->kernels++;
        if (k)
            count_kernel(gpu, k, e->index, e->end_ns - e->begin_ns);
    }
    ana_mix_add(&d->mix, copy ? ANA_GPU_COPY : nccl ? ANA_GPU_COMMUNICATION : ANA_GPU_COMPUTE, from, to);
    if (!gpu->match)
        return;
    ana_lane_spend(&s->lane, e->begin_ns, e->end_ns, e->end_ns - e->begin_ns,
                   copy   ? TRC_CAT_COPY
                   : nccl ? TRC_CAT_NCCL
                          : TRC_CAT_KERNEL);
    if (nccl)
        ana_gpu_match_kernel(job, gpu->match, e->index, s->number, k->name, e->begin_ns, e->end_ns);
}
