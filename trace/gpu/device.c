/* Kernels and copies: by name, by rank, over time. */
#include "trace/gpu/device_impl.h"
#include "trace/job/job_impl.h"
#include "trace/gpu/nccl_bandwidth.h"
#include "trace/util/hash.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPANS         1048576 /* kept of all GPUs, about */
#define LANE_WIDTH_NS 65536   /* as of ranks */
#define LANE_BUCKETS  8192
#define LANES_BUCKETS 1048576
#define DISTRIBUTIONS 16384 /* of one kernel on one rank, a KiB each */

/* Over all ranks, by its name. */
struct kernel {
    char *name;
    bool nccl;
    size_t ranks, last_index;
    struct ana_times_small times;
};
/* Of one rank. */
struct share {
    uint64_t calls;
    int64_t total_ns, min_ns, max_ns;
    struct ana_times_small *times; /* NULL: beyond DISTRIBUTIONS, or of a time range */
};
struct device {
    struct ana_mix mix;
    uint64_t kernels, copies, to_device, from_device, other;
};
struct stream {
    struct ana_stream of;
    uint32_t thread, number;
    bool known;
    struct ana_lane lane; /* none of a range's */
};

struct ana_devices {
    size_t ranks;
    struct ana_map kernels;    /* hash of the name */
    struct ana_map kernel_ids; /* rank index, id in its file -> uint32_t into kernels, + 1 */
    struct ana_map ran;        /* kernel, rank index: struct share */
    struct ana_map devices;    /* rank index, device */
    struct ana_map streams;    /* rank index, thread */
    uint64_t *order;           /* of streams: rank index, thread */
    size_t ordered;
    struct ana_gpu_match *match; /* NULL: of a time range */
    int64_t begin_ns, end_ns;    /* of the range */
};

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

/* ---- events --------------------------------------------------------------------------------------------------------
 */

/* The kernel of an event; NULL: out of memory.  Names belong to the devices of all time, and outlive time ranges. */
static struct kernel *kernel_of(const struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    uint32_t *known = ana_map_add(&gpu->kernel_ids, e->index, e->sig->object, 0);
    if (!known)
        return NULL;
    if (*known)
        return ana_map_value(&gpu->kernels, *known - 1);
    const char *name = trc_kernel(job->process[e->index].rank.file, e->sig->object);
    name = name ? name : "?";
    struct kernel *k = ana_map_add(&gpu->kernels, ana_hash_text(name), 0, 0);
    if (!k)
        return NULL;
    if (!k->name && gpu->match) {
        k->name = strdup(name);
    } else if (!k->name) {
        const struct kernel *same = kernel_of(job, job->gpu, e);
        k->name = same ? same->name : NULL;
    }
    if (!k->name)
        return NULL;
    k->nccl = ana_nccl_kernel(name);
    *known = (uint32_t)(k - (struct kernel *)gpu->kernels.values) + 1;
    return k;
}

static size_t bounded(size_t most, size_t all, size_t shares)
{
    while (most > 256 && most * shares > all)
        most /= 2;
    return most;
}

static struct stream *stream_of(const struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    struct stream *s = ana_map_add(&gpu->streams, e->index, e->thread, 0);
    if (!s || s->known)
        return s;
    const struct trc_device_stream *page = trc_device_stream(job->process[e->index].rank.file, e->thread);
    int64_t start = job->process[e->index].rank.begin_ns;
    s->of = (struct ana_stream){e->index, page->device, page->context, page->stream};
    s->thread = e->thread;
    s->number = page->number;
    s->known = true;
    if (gpu->match)
        ana_lane_init(&s->lane, start < e->begin_ns ? start : e->begin_ns, LANE_WIDTH_NS,
                      bounded(LANE_BUCKETS, LANES_BUCKETS, gpu->ranks * 4));
    return s;
}

static void count_copy(struct device *d, const struct ana_event *e)
{
    uint64_t bytes = e->sig->sent == TRC_BYTES_UNKNOWN ? 0 : e->sig->sent;
    const char *name = e->call->name;
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
        d->mix.max = bounded(65536, SPANS, gpu->ranks);
    bool copy = e->call->opclass == TRC_OP_COPY, counts = e->end_ns >= gpu->begin_ns && e->end_ns < gpu->end_ns;
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
        ana_gpu_match_kernel(gpu->match, e->index, s->number, k->name, e->begin_ns, e->end_ns);
}

void ana_gpu_call(struct ana_job *job, struct ana_devices *gpu, const struct ana_event *e)
{
    ana_gpu_match_call(job, gpu->match, e);
}

/* ---- a look --------------------------------------------------------------------------------------------------------
 */

double ana_gpu_overlap(const struct ana_gpu_rank *rank)
{
    return rank->communication_ns > 0 ? (double)rank->overlap_ns / (double)rank->communication_ns : NAN;
}

static int by_time(const void *a, const void *b)
{
    const struct ana_kernel_stat *x = a, *y = b;
    if (x->times.total_ns != y->times.total_ns)
        return x->times.total_ns > y->times.total_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}
static int by_index(const void *a, const void *b)
{
    const struct ana_gpu_rank *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void add_device(const struct ana_job *job, const struct ana_devices *gpu, const struct device *d,
                       struct ana_gpu_rank *r)
{
    const struct ana_process *p = &job->process[r->index];
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
    int64_t until_ns = gpu == job->gpu ? known.end_ns : ana_time_range_until(job);
    seen.begin_ns = gpu == job->gpu && known.begin_ns > seen.begin_ns ? known.begin_ns : seen.begin_ns;
    seen.end_ns = until_ns < seen.end_ns ? until_ns : seen.end_ns;
    r->wall_ns = ana_plus(r->wall_ns, ana_span_overlap(run, seen));
}

/* What the ranks whose kernels are timed could not tell of all of them. */
static void not_all(const struct ana_job *job, const uint8_t *ranks, struct ana_gpu_look *look)
{
    size_t with = 0;
    const char *first = NULL;
    for (size_t i = 0; i < job->count; i++) {
        const char *missing = ana_selected(ranks, i) ? trc_fact(job->process[i].rank.file, "gpu.missing") : NULL;
        first = first ? first : missing;
        with += missing != NULL;
    }
    if (with)
        snprintf(look->why_not, sizeof look->why_not, "of %zu rank%s not there: kernels or copies: %s", with,
                 with == 1 ? "" : "s", first);
}

/* Why kernels of NCCL's calls, or any, have no times. */
static void why_not(const struct ana_job *job, const uint8_t *ranks, struct ana_gpu_look *look)
{
    size_t without = 0, first = 0, all = 0;
    for (size_t i = 0; i < job->count; i++) {
        if (!ana_selected(ranks, i))
            continue;
        const char *told = trc_fact(job->process[i].rank.file, "gpu.kernels");
        bool timed = told && strncmp(told, "timed by", 8) == 0;
        all++;
        if (!timed && (told || trc_fact(job->process[i].rank.file, "nccl")) && without++ == 0)
            first = i;
    }
    if (without == 0) {
        not_all(job, ranks, look);
        return;
    }
    const char *told = trc_fact(job->process[first].rank.file, "gpu.kernels");
    const char *reason = told ? told : "not timed: CUDA's driver was not seen";
    if (without == all)
        snprintf(look->why_not, sizeof look->why_not, "kernels are %s", reason);
    else
        snprintf(look->why_not, sizeof look->why_not, "kernels of %zu of %zu ranks are %s", without, all, reason);
}

bool ana_gpu_is_here(const struct ana_job *job)
{
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f && fgets(boot, sizeof boot, f))
        boot[strcspn(boot, "\n")] = 0;
    if (f)
        fclose(f);
    for (size_t i = 0; boot[0] && i < job->count; i++) {
        const struct trc_file *file = job->process[i].rank.file;
        if (job->process[i].alive && strcmp(trc_head(file)->boot_id, boot) == 0 &&
            (trc_fact(file, "nccl") || trc_fact(file, "gpu.kernels")))
            return true;
    }
    return false;
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

static bool look_at_kernels(const struct ana_devices *gpu, const uint8_t *ranks, struct ana_gpu_look *out)
{
    bool chosen = ranks && gpu->match; /* of a range there are only theirs */
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
    qsort(out->kernels, out->kernel_count, sizeof *out->kernels, by_time);
    return ok;
}

bool ana_gpu_could_be(const struct ana_job *job, size_t processes)
{
    size_t least = 0, most = job->count > job->world_size ? job->count : job->world_size;
    for (size_t i = 0; i < job->count; i++)
        least += job->process[i].alive && trc_fact(job->process[i].rank.file, "nccl");
    return processes > 0 && processes >= least && processes <= most;
}

static bool look_at_devices(const struct ana_job *job, const struct ana_devices *gpu, const uint8_t *ranks,
                            struct ana_gpu_look *out)
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
    qsort(out->ranks, out->rank_count, sizeof *out->ranks, by_index);
    for (size_t i = 0; i < out->rank_count; i++) {
        out->copies += out->ranks[i].copies;
        out->copied += out->ranks[i].to_device + out->ranks[i].from_device + out->ranks[i].other_bytes;
    }
    return true;
}

static bool take(const struct ana_job *job, const struct ana_devices *gpu, const struct ana_selection *selection,
                 struct ana_gpu_look *out)
{
    if (look_at_devices(job, gpu, selection->ranks, out) && ana_gpu_match_look(job, job->gpu->match, selection, out))
        return true;
    ana_gpu_look_free(out);
    return false;
}

bool ana_gpu_take_whole(const struct ana_job *job, struct ana_gpu_look *out)
{
    *out = (struct ana_gpu_look){.analysed = ana_analysis_share(job), .known = ana_devices_any(job->gpu)};
    why_not(job, NULL, out);
    return !job->gpu || take(job, job->gpu, &(struct ana_selection){0, INT64_MAX, NULL}, out);
}

bool ana_gpu_take_look(struct ana_job *job, struct ana_selection selection, struct ana_gpu_look *out)
{
    bool range = selection.begin_ns > 0 || selection.end_ns != INT64_MAX, nothing = !ana_devices_any(job->gpu);
    if (!range)
        ana_time_range_release(job);
    if (!job->gpu || (!range && !selection.ranks))
        return ana_gpu_take_whole(job, out);
    *out = (struct ana_gpu_look){.analysed = ana_analysis_share(job), .known = !nothing};
    why_not(job, selection.ranks, out);
    if (!range || nothing)
        return take(job, job->gpu, &selection, out);
    double share = ana_time_range_select(job, &selection); /* a pass over its events */
    if (share < 0)
        return false;
    out->analysed = share < out->analysed ? share : out->analysed;
    return take(job, job->range.gpu, &selection, out);
}

void ana_gpu_look_free(struct ana_gpu_look *look)
{
    free(look->kernels);
    free(look->ranks);
    free(look->nccl);
    free(look->nccl_pairs);
    *look = (struct ana_gpu_look){0};
}

void ana_gpu_carried(const struct ana_summary *s, const struct ana_gpu_look *look,
                     struct ana_carried out[ANA_LIBRARIES])
{
    out[ANA_LIBRARY_MPI] = (struct ana_carried){.name = "MPI", .known = true};
    out[ANA_LIBRARY_NCCL] = (struct ana_carried){.name = "NCCL", .known = true};
    out[ANA_LIBRARY_COPIES] =
        (struct ana_carried){"copies", look->known || !look->why_not[0], look->copies, look->copied, look->copied};
    for (size_t i = 0; i < s->call_count; i++) {
        const struct ana_call_stat *c = &s->calls[i];
        bool nccl = trc_opclass_category(c->opclass) == TRC_CAT_NCCL;
        struct ana_carried *of = &out[nccl ? ANA_LIBRARY_NCCL : ANA_LIBRARY_MPI];
        of->calls += c->times.count;
        of->sent += c->sent;
        of->received += c->received;
    }
}

/* ---- names ---------------------------------------------------------------------------------------------------------
 */

/* Of the Itanium ABI's names: lengths and identifiers; what stands between is stepped over, templates end it. */
void ana_kernel_words(const char *name, char *out, size_t size)
{
    size_t used = 0;
    const char *at = name;
    if (size == 0)
        return;
    out[0] = 0;
    if (strncmp(at, "_Z", 2) == 0) {
        at += 2;
        bool nested = *at == 'N';
        for (at += nested; *at;) {
            if (strncmp(at, "St", 2) == 0) {
                at += 2;
                continue;
            }
            if (!isdigit((unsigned char)*at)) {
                if (nested && strchr("KVrL", *at)) {
                    at++;
                    continue;
                }
                break;
            }
            size_t n = strtoul(at, (char **)(uintptr_t)&at, 10);
            if (n > strlen(at))
                break;
            bool anonymous = n >= 11 && strncmp(at, "_GLOBAL__N_", 11) == 0;
            if (!anonymous && used < size)
                used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "::" : "", (int)n, at);
            at += n;
            if (!nested)
                break;
        }
    }
    if (used == 0)
        snprintf(out, size, "%s", name);
}

/* ---- streams over time ----------------------------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Streams in the order of ranks and threads; made anew when there are more. */
static struct stream *stream_at(const struct ana_job *job, size_t i)
{
    struct ana_devices *gpu = job->gpu;
    if (!gpu || i >= gpu->streams.count)
        return NULL;
    if (gpu->ordered != gpu->streams.count) {
        uint64_t *grown = realloc(gpu->order, gpu->streams.count * sizeof *grown);
        if (!grown)
            return NULL;
        gpu->order = grown;
        gpu->ordered = gpu->streams.count;
        for (size_t k = 0; k < gpu->ordered; k++)
            grown[k] = ana_map_key(&gpu->streams, k)[0] << 16 | ana_map_key(&gpu->streams, k)[1];
        qsort(grown, gpu->ordered, sizeof *grown, by_number);
    }
    return ana_map_find(&gpu->streams, gpu->order[i] >> 16, gpu->order[i] & 0xffff, 0);
}

size_t ana_streams(const struct ana_job *job)
{
    return job->gpu ? job->gpu->streams.count : 0;
}

struct ana_stream ana_stream(const struct ana_job *job, size_t i)
{
    const struct stream *s = stream_at(job, i);
    return s ? s->of : (struct ana_stream){0};
}

void ana_stream_timeline(struct ana_job *job, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                         struct ana_timeline_cell *out)
{
    memset(out, 0, n * sizeof *out);
    struct stream *s = stream_at(job, i);
    if (!s || n == 0 || end_ns <= begin_ns)
        return;
    int64_t from = job->process[s->of.index].rank.begin_ns, to = job->process[s->of.index].rank.end_ns;
    for (size_t c = 0; c < n; c++) {
        int64_t begin = begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)c / (double)n);
        int64_t end = begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)(c + 1) / (double)n);
        int64_t known_from = begin > from ? begin : from, known_to = end < to ? end : to;
        if (known_to <= known_from)
            continue;
        struct ana_lane_sum sum = {0};
        double whole = (double)(known_to - known_from), busy = 0;
        ana_lane_add(&s->lane, begin, end, &sum);
        for (int k = 0; k < TRC_CATEGORIES; k++)
            busy += sum.ns[k];
        whole = busy > whole ? busy : whole;
        for (int k = 0; k < TRC_CATEGORIES; k++)
            out[c].share[k] = (float)(sum.ns[k] / whole);
        out[c].share[TRC_CAT_COMPUTE] = (float)((whole - busy) / whole);
    }
}
