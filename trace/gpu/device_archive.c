/* Storage of GPU data and NCCL's operations in an index. */
#include "trace/gpu/device_data.h"
#include "trace/gpu/device_archive.h"
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

ANA_ARCHIVE_STRIP(strip_kernel, struct kernel, name)
ANA_ARCHIVE_STRIP(strip_share, struct share, times)
ANA_ARCHIVE_STRIP(strip_device, struct device, mix.of)
ANA_ARCHIVE_STRIP(strip_stream, struct stream, lane)

/* Saves a kernel's name, given its known `hash`. */
static void archive_name(struct ana_archive *archive, char **name, uint64_t hash)
{
    uint64_t length = *name ? strlen(*name) : 0;
    if (!archive->loads && !*name)
        archive->failed = true; /* out of memory for the name */
    ANA_ARCHIVE(archive, length);
    if (!ana_archive_require(archive, length <= LONGEST_NAME) || !ana_archive_charge(archive, length + 1, 1))
        return;
    if (archive->loads && !(*name = calloc(1, (size_t)length + 1)))
        archive->failed = true;
    if (!archive->failed)
        ana_archive_bytes(archive, *name, (size_t)length);
    if (!archive->failed)
        ana_archive_require(archive, ana_hash_text(*name) == hash);
}

static void archive_kernels(struct ana_archive *archive, struct ana_devices *gpu)
{
    ana_archive_map(archive, &gpu->kernels, strip_kernel);
    for (size_t i = 0; i < gpu->kernels.count && !archive->failed; i++) {
        struct kernel *k = ana_map_value(&gpu->kernels, i);
        archive_name(archive, &k->name, ana_map_key(&gpu->kernels, i)[0]);
        ana_archive_require(archive, ana_archive_is_bool(&k->nccl));
    }
    ana_archive_map(archive, &gpu->ran, strip_share);
    if (ana_archive_require(archive, keys_are_below(&gpu->ran, gpu->kernels.count, gpu->ranks)))
        ana_archive_owned(archive, &gpu->ran, offsetof(struct share, times), sizeof(struct ana_times_small), NULL);
}

static void archive_devices(struct ana_archive *archive, struct ana_devices *gpu)
{
    ana_archive_map(archive, &gpu->devices, strip_device);
    ana_archive_require(archive, keys_are_below(&gpu->devices, gpu->ranks, UINT64_MAX));
    for (size_t i = 0; i < gpu->devices.count && !archive->failed; i++) {
        struct device *d = ana_map_value(&gpu->devices, i);
        if (ana_archive_require(archive, d->mix.max == ana_device_spans(gpu->ranks)))
            ana_mix_archive(archive, &d->mix);
    }
}

static void archive_streams(struct ana_archive *archive, struct ana_devices *gpu)
{
    ana_archive_map(archive, &gpu->streams, strip_stream);
    ana_archive_require(archive, keys_are_below(&gpu->streams, gpu->ranks, TRC_MAX_THREADS));
    for (size_t i = 0; i < gpu->streams.count && !archive->failed; i++) {
        struct stream *s = ana_map_value(&gpu->streams, i);
        const uint64_t *key = ana_map_key(&gpu->streams, i);
        if (!ana_archive_require(archive,
                                 s->of.index == key[0] && s->thread == key[1] && ana_archive_is_bool(&s->known)))
            return;
        if (archive->loads)
            ana_lane_init(&s->lane, 0, ANA_STREAM_WIDTH_NS, ana_stream_buckets(gpu->ranks));
        ana_lane_archive(archive, &s->lane);
    }
}

void ana_devices_archive(struct ana_archive *archive, struct ana_job *job, size_t newest)
{
    struct ana_devices *gpu = ana_job_analysis(job)->gpu;
    archive_kernels(archive, gpu);
    if (!archive->failed)
        archive_devices(archive, gpu);
    if (!archive->failed)
        archive_streams(archive, gpu);
    if (!archive->failed)
        ana_gpu_match_archive(archive, job, gpu->match, newest);
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
           row->size_class < SIZE_CLASSES && row->rank < members->count &&
           ana_archive_is_bool(&row->sum.unknown_bytes) && (comm_of(job, row) || !row->comm);
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
           (unsigned)part->kind <= PART_INSTANCE && ana_archive_is_time(part->at_ns) && ana_archive_is_time(part->ns) &&
           ana_archive_is_time(part->skew_ns);
}

/* Saves the newest parts, oldest first; job->kept_since_ns tells how far back they reach. */
static void archive_parts(struct ana_archive *archive, struct ana_job *job, struct ana_nccl_rows *rows, size_t newest)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    size_t left_out = newest < ANA_STORE_MESSAGES && rows->parts > newest ? rows->parts - newest : 0;
    size_t n = rows->parts - left_out;
    int64_t since_ns = INT64_MIN;
    struct part *part = archive->loads ? NULL : calloc(n + 1, sizeof *part);
    archive->failed |= !archive->loads && !part;
    for (size_t i = 0; part && i < rows->parts; i++) {
        const struct part *p = &rows->part[(rows->next + i) % rows->parts];
        if (i >= left_out)
            part[i - left_out] = *p;
        else
            since_ns = p->at_ns > since_ns ? p->at_ns : since_ns;
    }
    void *list = part;
    ana_archive_array(archive, &list, &n, sizeof *part, ANA_NCCL_NEWEST);
    ANA_ARCHIVE(archive, since_ns);
    ANA_ARCHIVE(archive, rows->forgotten_ns);
    analysis->kept_since_ns = since_ns > analysis->kept_since_ns ? since_ns : analysis->kept_since_ns;
    if (!archive->loads) {
        free(part);
        return;
    }
    rows->part = list;
    rows->parts = rows->room = n;
    for (size_t i = 0; i < n && !archive->failed; i++)
        ana_archive_require(archive, is_part_sane(job, rows, &rows->part[i]));
}

void ana_nccl_rows_archive(struct ana_archive *archive, struct ana_job *job, struct ana_nccl_rows *rows, size_t newest)
{
    ana_archive_map(archive, &rows->rows, NULL);
    for (size_t i = 0; i < rows->rows.count && !archive->failed; i++)
        ana_archive_require(archive, is_row_sane(job, rows, i));
    ana_archive_map(archive, &rows->by_rank, NULL);
    if (!ana_archive_require(archive, keys_are_below(&rows->by_rank, rows->rows.count, ana_job_members(job)->count)))
        return;
    ana_archive_map(archive, &rows->pairs, NULL);
    for (size_t i = 0; i < rows->pairs.count && !archive->failed; i++)
        ana_archive_require(archive, is_pair_sane(job, ana_map_value(&rows->pairs, i)));
    if (!archive->failed)
        archive_parts(archive, job, rows, newest);
}
