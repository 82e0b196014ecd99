/* Storage of GPU data and NCCL's operations beside the trace. */
#include "trace/gpu/device_data.h"
#include "trace/gpu/device_keep.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/util/hash.h"
#include <stdlib.h>

#define LONGEST_NAME (1u << 20) /* longest kernel name; names of templates are long */
#define SIZE_CLASSES 65

/* Whether the first two parts of a map's keys are below these numbers. */
static bool keys_are_below(const struct ana_map *map, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < map->count; i++)
        if (ana_map_key(map, i)[0] >= a || ana_map_key(map, i)[1] >= b)
            return false;
    return true;
}

/* ---- kernels, GPUs, streams ------------------------------------------------------------------------------------- */

static void strip_kernel(void *row)
{
    ((struct kernel *)row)->name = NULL;
}

static void strip_share(void *row)
{
    ((struct share *)row)->times = NULL;
}

static void strip_device(void *row)
{
    struct device *d = row;
    memset(d->mix.of, 0, sizeof d->mix.of);
}

static void strip_stream(void *row)
{
    memset(&((struct stream *)row)->lane, 0, sizeof(struct ana_lane));
}

/* Keeps a kernel's name, given its known `hash`. */
static void keep_name(struct ana_keep *keep, char **name, uint64_t hash)
{
    uint64_t length = *name ? strlen(*name) : 0;
    if (!keep->loads && !*name)
        keep->failed = true; /* out of memory for the name */
    ANA_KEEP(keep, length);
    if (!ana_keep_holds(keep, length <= LONGEST_NAME) || !ana_keep_charge(keep, length + 1, 1))
        return;
    if (keep->loads && !(*name = calloc(1, (size_t)length + 1)))
        keep->failed = true;
    if (!keep->failed)
        ana_keep_bytes(keep, *name, (size_t)length);
    if (!keep->failed)
        ana_keep_holds(keep, ana_hash_text(*name) == hash);
}

static void keep_kernels(struct ana_keep *keep, struct ana_devices *gpu)
{
    ana_keep_map(keep, &gpu->kernels, strip_kernel);
    for (size_t i = 0; i < gpu->kernels.count && !keep->failed; i++) {
        struct kernel *k = ana_map_value(&gpu->kernels, i);
        keep_name(keep, &k->name, ana_map_key(&gpu->kernels, i)[0]);
        ana_keep_holds(keep, ana_keep_is_bool(&k->nccl));
    }
    ana_keep_map(keep, &gpu->ran, strip_share);
    if (ana_keep_holds(keep, keys_are_below(&gpu->ran, gpu->kernels.count, gpu->ranks)))
        ana_keep_owned(keep, &gpu->ran, offsetof(struct share, times), sizeof(struct ana_times_small), NULL);
}

static void keep_devices(struct ana_keep *keep, struct ana_devices *gpu)
{
    ana_keep_map(keep, &gpu->devices, strip_device);
    ana_keep_holds(keep, keys_are_below(&gpu->devices, gpu->ranks, UINT64_MAX));
    for (size_t i = 0; i < gpu->devices.count && !keep->failed; i++) {
        struct device *d = ana_map_value(&gpu->devices, i);
        if (ana_keep_holds(keep, d->mix.max == ana_device_spans(gpu->ranks)))
            ana_mix_keep(keep, &d->mix);
    }
}

static void keep_streams(struct ana_keep *keep, struct ana_devices *gpu)
{
    ana_keep_map(keep, &gpu->streams, strip_stream);
    ana_keep_holds(keep, keys_are_below(&gpu->streams, gpu->ranks, TRC_MAX_THREADS));
    for (size_t i = 0; i < gpu->streams.count && !keep->failed; i++) {
        struct stream *s = ana_map_value(&gpu->streams, i);
        const uint64_t *key = ana_map_key(&gpu->streams, i);
        if (!ana_keep_holds(keep, s->of.index == key[0] && s->thread == key[1] && ana_keep_is_bool(&s->known)))
            return;
        if (keep->loads)
            ana_lane_init(&s->lane, 0, ANA_STREAM_WIDTH_NS, ana_stream_buckets(gpu->ranks));
        ana_lane_keep(keep, &s->lane);
    }
}

void ana_devices_keep(struct ana_keep *keep, struct ana_job *job, size_t newest)
{
    struct ana_devices *gpu = ana_job_analysis(job)->gpu;
    keep_kernels(keep, gpu);
    if (!keep->failed)
        keep_devices(keep, gpu);
    if (!keep->failed)
        keep_streams(keep, gpu);
    if (!keep->failed)
        ana_gpu_match_keep(keep, job, gpu->match, newest);
}

/* ---- NCCL's operations ------------------------------------------------------------------------------------------- */

/* The communicator that gives a row its name; NULL: none does. */
static const struct trc_comm *comm_of(const struct ana_job *job, const struct row *row)
{
    return row->comm ? trc_comm(ana_job_members(job)->process[row->rank].rank.file, row->comm) : NULL;
}

static bool is_row_sane(const struct ana_job *job, const struct ana_nccl_rows *rows, size_t i)
{
    const struct ana_members *members = ana_job_members(job);
    const struct row *row = ana_map_value(&rows->rows, i);
    const uint64_t *key = ana_map_key(&rows->rows, i);
    return row->call == key[1] && row->call < members->calls && row->size_class == key[2] &&
           row->size_class < SIZE_CLASSES && row->rank < members->count && ana_keep_is_bool(&row->sum.unknown_bytes) &&
           (comm_of(job, row) || !row->comm);
}

/* Ordered by first naming, as their numbers follow from it. */
void ana_devices_name(struct ana_job *job)
{
    const struct ana_nccl_rows *rows = ana_job_analysis(job)->gpu->match->rows;
    for (size_t i = 0; i < rows->rows.count; i++) {
        const struct trc_comm *comm = comm_of(job, ana_map_value(&rows->rows, i));
        if (comm)
            ana_comm_name(job, ana_map_key(&rows->rows, i)[0], comm);
    }
}

static bool is_pair_sane(const struct ana_job *job, const struct ana_nccl_pair *pair)
{
    const struct ana_members *members = ana_job_members(job);
    return (pair->source < members->count || pair->source == SIZE_MAX) &&
           (pair->destination < members->count || pair->destination == SIZE_MAX);
}

static bool is_part_sane(const struct ana_job *job, const struct ana_nccl_rows *rows, const struct part *part)
{
    return part->row < rows->rows.count && part->index < ana_job_members(job)->count &&
           (unsigned)part->kind <= PART_INSTANCE && ana_keep_is_time(part->at_ns) && ana_keep_is_time(part->ns) &&
           ana_keep_is_time(part->skew_ns);
}

/* Keeps the newest parts, oldest first; job->kept_since_ns tells how far back they reach. */
static void keep_parts(struct ana_keep *keep, struct ana_job *job, struct ana_nccl_rows *rows, size_t newest)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    size_t left_out = newest < ANA_STORE_MESSAGES && rows->parts > newest ? rows->parts - newest : 0;
    size_t n = rows->parts - left_out;
    int64_t since_ns = INT64_MIN;
    struct part *part = keep->loads ? NULL : calloc(n + 1, sizeof *part);
    keep->failed |= !keep->loads && !part;
    for (size_t i = 0; part && i < rows->parts; i++) {
        const struct part *p = &rows->part[(rows->next + i) % rows->parts];
        if (i >= left_out)
            part[i - left_out] = *p;
        else
            since_ns = p->at_ns > since_ns ? p->at_ns : since_ns;
    }
    void *list = part;
    ana_keep_array(keep, &list, &n, sizeof *part, ANA_NCCL_NEWEST);
    ANA_KEEP(keep, since_ns);
    ANA_KEEP(keep, rows->forgotten_ns);
    analysis->kept_since_ns = since_ns > analysis->kept_since_ns ? since_ns : analysis->kept_since_ns;
    if (!keep->loads) {
        free(part);
        return;
    }
    rows->part = list;
    rows->parts = rows->room = n;
    for (size_t i = 0; i < n && !keep->failed; i++)
        ana_keep_holds(keep, is_part_sane(job, rows, &rows->part[i]));
}

void ana_nccl_rows_keep(struct ana_keep *keep, struct ana_job *job, struct ana_nccl_rows *rows, size_t newest)
{
    ana_keep_map(keep, &rows->rows, NULL);
    for (size_t i = 0; i < rows->rows.count && !keep->failed; i++)
        ana_keep_holds(keep, is_row_sane(job, rows, i));
    ana_keep_map(keep, &rows->by_rank, NULL);
    if (!ana_keep_holds(keep, keys_are_below(&rows->by_rank, rows->rows.count, ana_job_members(job)->count)))
        return;
    ana_keep_map(keep, &rows->pairs, NULL);
    for (size_t i = 0; i < rows->pairs.count && !keep->failed; i++)
        ana_keep_holds(keep, is_pair_sane(job, ana_map_value(&rows->pairs, i)));
    if (!keep->failed)
        keep_parts(keep, job, rows, newest);
}
