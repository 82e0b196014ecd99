/* Results for the views: kernels by name, ranks, NCCL's operations; over all time or a time range, all ranks or
 * some. */
#include "trace/gpu/device_data.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/upper.h"
#include "trace/summary/summary.h"
#include "trace/job/window.h"
#include "trace/util/sort.h"

double ana_gpu_overlap(const struct ana_gpu_rank *rank)
{
    return rank->communication_ns > 0 ? (double)rank->overlap_ns / (double)rank->communication_ns : NAN;
}

ANA_COMPARE(by_time, struct ana_kernel_stat, ANA_ORDER(y->times.total_ns, x->times.total_ns), strcmp(x->name, y->name))
ANA_COMPARE(by_index, struct ana_gpu_rank, ANA_ORDER(x->index, y->index))

static void add_device(const struct ana_job *job, const struct ana_devices *gpu, const struct device *d,
                       struct ana_gpu_rank *r)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_process *p = &ana_job_members(job)->process[r->index];
    int64_t ns[ANA_GPU_MIXES];
    ana_mix_sum(&d->mix, ns);
    r->devices++;
    r->kernels += d->kernels;
    r->copies += d->copies;
    r->to_device += d->to_device;
    r->from_device += d->from_device;
    r->other_bytes += d->other;
    for (unsigned mix = 1; mix < ANA_GPU_MIXES; mix++) {
        bool compute = mix & 1u << ANA_GPU_COMPUTE, communication = mix & 1u << ANA_GPU_COMMUNICATION;
        r->busy_ns = ana_plus(r->busy_ns, ns[mix]);
        r->compute_ns = ana_plus(r->compute_ns, compute ? ns[mix] : 0);
        r->communication_ns = ana_plus(r->communication_ns, communication ? ns[mix] : 0);
        r->overlap_ns = ana_plus(r->overlap_ns, compute && communication ? ns[mix] : 0);
        r->copy_ns = ana_plus(r->copy_ns, mix & 1u << ANA_GPU_COPY ? ns[mix] : 0);
    }
    struct ana_span run = {p->run_begin_ns, p->run_end_ns}, seen = {gpu->begin_ns, gpu->end_ns};
    struct ana_span known = ana_known_time(job, r->index);
    int64_t until_ns = gpu == analysis->gpu ? known.end_ns : ana_time_range_until(job);
    seen.begin_ns = gpu == analysis->gpu && known.begin_ns > seen.begin_ns ? known.begin_ns : seen.begin_ns;
    seen.end_ns = until_ns < seen.end_ns ? until_ns : seen.end_ns;
    r->wall_ns = ana_plus(r->wall_ns, ana_span_overlap(run, seen));
}

/* Returns the longest time that kernels of NCCL's ran on one GPU beside no other, in ns, over all time; *index: the
 * rank whose it is.  0: none is known. */
static int64_t exposed(const struct ana_job *job, size_t *index)
{
    const struct ana_devices *gpu = ana_job_analysis(job)->gpu;
    int64_t most = 0;
    for (size_t i = 0; i < gpu->devices.count; i++) {
        int64_t ns[ANA_GPU_MIXES], exposed = 0;
        ana_mix_sum(&((const struct device *)ana_map_value(&gpu->devices, i))->mix, ns);
        for (unsigned mix = 1; mix < ANA_GPU_MIXES; mix++)
            if (mix & 1u << ANA_GPU_COMMUNICATION && !(mix & 1u << ANA_GPU_COMPUTE))
                exposed = ana_plus(exposed, ns[mix]);
        if (exposed > most) {
            most = exposed;
            *index = (size_t)ana_map_key(&gpu->devices, i)[0];
        }
    }
    return most;
}

/* The kernels as selected ranks ran them, in the order of gpu->kernels; NULL: out of memory. */
static struct kernel *kernels_of(const struct ana_devices *gpu, const uint8_t *ranks, bool *partial)
{
    struct kernel *made = calloc(gpu->kernels.count + 1, sizeof *made);
    for (size_t i = 0; made && i < gpu->ran.count; i++) {
        const uint64_t *key = ana_map_key(&gpu->ran, i);
        const struct share *own = ana_map_value(&gpu->ran, i);
        if (!ranks[key[1]])
            continue;
        struct ana_times_small bare = {
            .calls = own->calls, .total_ns = own->total_ns, .min_ns = own->min_ns, .max_ns = own->max_ns};
        ana_small_merge(&made[key[0]].times, own->times ? own->times : &bare);
        made[key[0]].ranks++;
        partial[key[0]] |= !own->times;
    }
    return made;
}

static bool look_at_kernels(const struct ana_devices *gpu, const uint8_t *ranks, struct ana_gpu_summary *out)
{
    bool chosen = ranks && gpu->match; /* a range holds only chosen ranks */
    bool *partial = calloc(gpu->kernels.count + 1, sizeof *partial);
    struct kernel *made = chosen && partial ? kernels_of(gpu, ranks, partial) : NULL;
    bool ok = partial && (made || !chosen);
    for (size_t i = 0; ok && i < gpu->kernels.count; i++) {
        const struct kernel *k = ana_map_value(&gpu->kernels, i), *of = chosen ? &made[i] : k;
        if (!k->name || !of->times.calls)
            continue;
        struct ana_times times = ana_small_of(&of->times);
        if (partial[i])
            times.p50_ns = times.p90_ns = times.p99_ns = NAN;
        out->kernels[out->kernel_count++] = (struct ana_kernel_stat){k->name, k->nccl, times, of->ranks};
    }
    free(made);
    free(partial);
    ana_sort(out->kernels, out->kernel_count, sizeof *out->kernels, by_time);
    return ok;
}

static bool look_at_devices(const struct ana_job *job, const struct ana_devices *gpu, const uint8_t *ranks,
                            struct ana_gpu_summary *out)
{
    out->kernels = calloc(gpu->kernels.count + 1, sizeof *out->kernels);
    out->ranks = calloc(gpu->devices.count + 1, sizeof *out->ranks);
    if (!out->kernels || !out->ranks || !look_at_kernels(gpu, ranks, out))
        return false;
    for (size_t i = 0; i < gpu->devices.count; i++) {
        size_t index = (size_t)ana_map_key(&gpu->devices, i)[0], at = 0;
        if (!ana_selected(ranks, index))
            continue;
        while (at < out->rank_count && out->ranks[at].index != index)
            at++;
        if (at == out->rank_count)
            out->ranks[out->rank_count++].index = index;
        add_device(job, gpu, ana_map_value(&gpu->devices, i), &out->ranks[at]);
    }
    ana_sort(out->ranks, out->rank_count, sizeof *out->ranks, by_index);
    for (size_t i = 0; i < out->rank_count; i++) {
        out->copies += out->ranks[i].copies;
        out->copied += out->ranks[i].to_device + out->ranks[i].from_device + out->ranks[i].other_bytes;
    }
    return true;
}

static bool add_sums(const struct ana_job *job, const struct ana_devices *gpu, const struct ana_selection *selection,
                     struct ana_gpu_summary *out)
{
    if (look_at_devices(job, gpu, selection->ranks, out) &&
        ana_gpu_match_summarize(job, ana_job_analysis(job)->gpu->match, selection, out))
        return true;
    ana_gpu_summary_free(out);
    return false;
}

bool ana_gpu_summarize_all(const struct ana_job *job, struct ana_gpu_summary *out)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    *out = (struct ana_gpu_summary){.analysed = ana_analysis_share(job), .known = ana_devices_any(analysis->gpu)};
    ana_gpu_explain(job, NULL, out);
    return !analysis->gpu ||
           add_sums(job, analysis->gpu, &(struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, out);
}

bool ana_gpu_summarize(struct ana_job *job, struct ana_selection selection, struct ana_gpu_summary *out)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    bool part = selection.begin_ns > 0 || selection.end_ns != INT64_MAX, nothing = !ana_devices_any(analysis->gpu);
    if (!part && !ana_has_filter(&selection))
        ana_time_range_release(job);
    if (!analysis->gpu || (!part && !selection.ranks))
        return ana_gpu_summarize_all(job, out);
    *out = (struct ana_gpu_summary){.analysed = ana_analysis_share(job), .known = !nothing};
    ana_gpu_explain(job, selection.ranks, out);
    if (!part || nothing)
        return add_sums(job, analysis->gpu, &selection, out);
    double share = ana_time_range_select(job, &selection); /* a pass over its events */
    if (share < 0)
        return false;
    out->analysed = share < out->analysed ? share : out->analysed;
    return add_sums(job, ana_job_range(job)->gpu, &selection, out);
}

void ana_gpu_enter(struct ana_upper *upper)
{
    upper->devices_new = ana_devices_new;
    upper->devices_new_range = ana_devices_new_range;
    upper->devices_free = ana_devices_free;
    upper->device_event = ana_gpu_device_event;
    upper->nccl_call = ana_gpu_call;
    upper->exposed = exposed;
}

void ana_gpu_summary_free(struct ana_gpu_summary *look)
{
    free(look->kernels);
    free(look->ranks);
    free(look->nccl);
    free(look->nccl_pairs);
    *look = (struct ana_gpu_summary){0};
}

void ana_gpu_carried(const struct ana_summary *s, const struct ana_gpu_summary *look,
                     struct ana_carried out[ANA_LIBRARIES])
{
    out[ANA_LIBRARY_MPI] = (struct ana_carried){.name = "MPI", .known = true};
    out[ANA_LIBRARY_NCCL] = (struct ana_carried){.name = "NCCL", .known = true};
    out[ANA_LIBRARY_COPIES] =
        (struct ana_carried){"copies", look->known || !look->why_not[0], look->copies, look->copied, look->copied, 0};
    for (size_t i = 0; i < s->call_count; i++) {
        const struct ana_call_stat *c = &s->calls[i];
        bool nccl = trc_opclass_category(c->opclass) == TRC_CAT_NCCL;
        struct ana_carried *of = &out[nccl ? ANA_LIBRARY_NCCL : ANA_LIBRARY_MPI];
        of->calls += c->times.count;
        of->sent += c->sent;
        of->received += c->received;
        of->unknown += c->unknown;
    }
}
