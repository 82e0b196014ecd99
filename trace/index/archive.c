#include "trace/index/archive.h"
#include "trace/gpu/device_archive.h"
#include "trace/summary/prices.h"
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>

/* ---- values saved as numbers --------------------------------------------------------------------------------------
 */

/* Calls have the same numbers, since the same files were read in the same order; a difference makes the index invalid.
 */
static void archive_calls(struct ana_job_archive *k)
{
    uint64_t calls = k->members->calls;
    ANA_ARCHIVE(k->archive, calls);
    if (!ana_archive_require(k->archive, calls == k->members->calls))
        return;
    for (size_t i = 0; i < k->members->calls && !k->archive->failed; i++) {
        uint64_t name = ana_hash_text(k->members->call[i].name), own = name;
        ANA_ARCHIVE(k->archive, name);
        ana_archive_require(k->archive, name == own);
    }
}

static void number_comms(struct ana_job_archive *k)
{
    const struct trc_comm *comm;
    for (size_t i = 0; i < k->members->count; i++)
        for (size_t n = 0; (comm = trc_comm_at(k->members->process[i].rank.file, n, &(uint64_t){0})); n++) {
            uint64_t *number = ana_map_add(&k->comms, (uintptr_t)comm, 0, 0);
            k->archive->failed |= !number;
            if (number)
                *number = (uint64_t)i << 32 | n;
        }
}

void ana_comm_archive(struct ana_job_archive *k, const struct trc_comm **comm)
{
    const uint64_t *known = k->archive->loads ? NULL : ana_map_find(&k->comms, (uintptr_t)*comm, 0, 0);
    uint64_t number = known ? *known : UINT64_MAX;
    ANA_ARCHIVE(k->archive, number);
    if (!k->archive->loads)
        return;
    bool is_rank = number >> 32 < k->members->count;
    *comm = is_rank ? trc_comm_at(k->members->process[number >> 32].rank.file, (uint32_t)number, &(uint64_t){0}) : NULL;
    ana_archive_require(k->archive, *comm != NULL);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

ANA_ARCHIVE_STRIP(strip_pair, struct ana_pair_sum, latency)
ANA_ARCHIVE_STRIP(strip_site, struct ana_site_sum, times.counts)
ANA_ARCHIVE_STRIP(strip_latency, struct ana_times_slim, counts)
ANA_ARCHIVE_STRIP(strip_collective, struct ana_collective_sum, comm)

/* Limits of a map's key: the most that each of its integers may be; UINT64_MAX: anything. */
struct bounds {
    const struct ana_map *map;
    uint64_t a, b, c;
};

static bool are_within(const struct bounds *bounds)
{
    for (size_t i = 0; i < bounds->map->count; i++) {
        const uint64_t *key = ana_map_key(bounds->map, i);
        if (key[0] > bounds->a || key[1] > bounds->b || key[2] > bounds->c)
            return false;
    }
    return true;
}

static bool is_wait_sane(const uint64_t key[3], size_t ranks, size_t calls)
{
    const bool pair = key[1] < ranks && key[2] < ranks, waiter = key[1] < ranks && key[2] == ANA_ANY_RANK,
               culprit = key[1] == ANA_ANY_RANK && key[2] < ranks;
    return (pair || ((waiter || culprit) && !(key[0] & ANA_WAIT_ASIDE))) && ana_wait_key_call(key[0]) < calls &&
           ana_wait_key_kind(key[0]) < ANA_WAIT_KINDS;
}

static bool is_tally_sane(const struct ana_tally *t, size_t ranks, size_t calls, size_t places)
{
    const struct bounds all[] = {
        {&t->calls, calls - 1, ANA_TALLY_SIZES - 1, 0},   {&t->threads, ranks - 1, UINT64_MAX, UINT64_MAX},
        {&t->sites, ranks - 1, UINT64_MAX, UINT64_MAX},   {&t->pairs, ranks - 1, ranks - 1, 0},
        {&t->collectives, UINT64_MAX, calls - 1, places}, {&t->last, t->collectives.count - 1, ranks - 1, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!are_within(&all[i]))
            return false;
    if (t->last.count && !t->collectives.count)
        return false;
    for (size_t i = 0; i < t->sites.count; i++) {
        const struct ana_site_sum *site = ana_map_value(&t->sites, i);
        if (site->inside_ns < 0 || site->wait_ns < 0 || (uint32_t)ana_map_key(&t->sites, i)[1] >= calls)
            return false;
    }
    for (size_t i = 0; i < t->waits.count; i++)
        if (!is_wait_sane(ana_map_key(&t->waits, i), ranks, calls))
            return false;
    return true;
}

/* The distributions of times at call sites, and of latencies. */
static void archive_counts(struct ana_job_archive *k)
{
    struct ana_tally *t = &k->analysis->pass.tally;
    struct ana_counts **each = calloc(t->sites.count + t->pairs.count + 1, sizeof *each);
    size_t n = 0;
    k->archive->failed |= !each;
    for (size_t i = 0; each && i < t->sites.count; i++)
        each[n++] = &((struct ana_site_sum *)ana_map_value(&t->sites, i))->times.counts;
    for (size_t i = 0; each && i < t->pairs.count; i++) {
        struct ana_times_slim *latency = ((struct ana_pair_sum *)ana_map_value(&t->pairs, i))->latency;
        if (latency)
            each[n++] = &latency->counts;
    }
    if (each)
        ana_counts_archive(k->archive, each, n);
    free(each);
}

static void archive_tally(struct ana_job_archive *k)
{
    struct ana_tally *t = &k->analysis->pass.tally;
    ana_archive_rows(k->archive, t->rank, t->ranks, sizeof *t->rank, NULL);
    struct ana_map *plain[] = {&t->calls, &t->threads, &t->last, &t->waits};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        ana_archive_map(k->archive, plain[i], NULL);
    ana_archive_map(k->archive, &t->sites, strip_site);
    ana_archive_map(k->archive, &t->pairs, strip_pair);
    ana_archive_owned(k->archive, &t->pairs, offsetof(struct ana_pair_sum, latency), sizeof(struct ana_times_slim),
                      strip_latency);
    archive_counts(k);
    ana_archive_map(k->archive, &t->collectives, strip_collective);
    if (!ana_archive_require(
            k->archive, is_tally_sane(t, k->members->count, k->members->calls, k->analysis->pass.why.places.count)))
        return;
    for (size_t i = 0; i < t->collectives.count && !k->archive->failed; i++)
        ana_comm_archive(k, &((struct ana_collective_sum *)ana_map_value(&t->collectives, i))->comm);
    for (uint32_t i = 0; i < ANA_TALLY_SIZES && !k->archive->failed; i++) {
        uint8_t has = t->size[i] != NULL;
        ANA_ARCHIVE(k->archive, has);
        if (has && k->archive->loads && !k->archive->failed)
            k->archive->failed |= !ana_tally_size_make(t, i);
        if (has && !k->archive->failed)
            ana_archive_rows(k->archive, t->size[i], 1, sizeof *t->size[i], NULL);
    }
    ana_archive_rows(k->archive, &t->other_latency, 1, sizeof t->other_latency, NULL);
    ANA_ARCHIVE(k->archive, t->clock_violations);
}

/* ---- files of MPI-IO -------------------------------------------------------------------------------------------- */

ANA_ARCHIVE_STRIP(strip_access, struct ana_access_sum, name)

/* The name of a file that a rank has opened, by its hash; NULL: there is none. */
static const char *name_of(const struct trc_file *file, uint64_t hash)
{
    const struct trc_comm *comm;
    for (size_t n = 0; (comm = trc_comm_at(file, n, &(uint64_t){0})); n++)
        if (comm->object && comm->object->is_file && comm->object->name && ana_hash_text(comm->object->name) == hash)
            return comm->object->name;
    return NULL;
}

static void archive_accesses(struct ana_job_archive *k)
{
    struct ana_map *of = &k->analysis->pass.accesses.of;
    ana_archive_map(k->archive, of, strip_access);
    for (size_t i = 0; i < of->count && k->archive->loads && !k->archive->failed; i++) {
        struct ana_access_sum *sum = ana_map_value(of, i);
        const uint64_t *key = ana_map_key(of, i);
        if (ana_archive_require(k->archive, sum->index < k->members->count && sum->index == key[1]) && key[0])
            ana_archive_require(k->archive,
                                (sum->name = name_of(k->members->process[sum->index].rank.file, key[0])) != NULL);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void archive_why(struct ana_job_archive *k)
{
    struct ana_job *job = k->job;
    struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    struct ana_path_sums path = {0};
    int64_t saves[ANA_SCENARIOS] = {0};
    if (!k->archive->loads && !ana_path_of_pass(job, &analysis->pass, members->begin_ns, members->end_ns, &path, saves))
        k->archive->failed = true;
    ana_why_archive(k->archive, &analysis->pass.why, members->calls, &path, saves);
    ana_path_sums_free(&path);
    int64_t until_ns = ana_earlier(ana_merge_position(analysis->pass.merge), members->end_ns);
    ana_regions_archive(k->archive, &analysis->pass.regions, until_ns);
    for (size_t i = 0; i < analysis->pass.why.segments.count && !k->archive->failed; i++)
        ana_archive_require(k->archive, ana_segment_at(&analysis->pass.why, (uint32_t)i + 1)->region <=
                                            analysis->pass.regions.names.count);
}

static void archive_clock(struct ana_job_archive *k)
{
    archive_calls(k);
    ana_clock_archive(k->archive, k->members->clock);
}

static void archive_latest(struct ana_job_archive *k)
{
    ana_store_archive(k);
    if (!k->archive->failed)
        ana_devices_archive(k->archive, k->job, k->newest);
}

static void archive_lanes(struct ana_job_archive *k, size_t part)
{
    const size_t n = k->members->count;
    for (size_t i = n * part / ANA_LANE_PARTS; i < n * (part + 1) / ANA_LANE_PARTS && !k->archive->failed; i++)
        ana_lane_archive(k->archive, &k->analysis->lane[i]);
}

static void archive_others(struct ana_job_archive *k)
{
    archive_accesses(k);
    if (!k->archive->failed)
        ana_match_archive(k->archive, k->analysis->match);
}

void ana_job_archive_part(struct ana_job_archive *k, enum ana_part_of_index part)
{
    if (part == ANA_PART_CLOCK)
        archive_clock(k);
    else if (part == ANA_PART_WHY)
        archive_why(k);
    else if (part == ANA_PART_ITERATIONS)
        ana_iter_archive(k->archive, &k->analysis->iter, &k->analysis->pass.why);
    else if (part == ANA_PART_LATEST)
        archive_latest(k);
    else if (part == ANA_PART_SUMS)
        archive_tally(k);
    else if (part == ANA_PART_OTHERS)
        archive_others(k);
    else
        archive_lanes(k, part - ANA_PART_LANES);
}

void ana_job_save(struct ana_job_archive *k)
{
    ana_map_init(&k->comms, sizeof(uint64_t));
    number_comms(k);
    for (enum ana_part_of_index part = 0; part < ANA_PART_LATEST && !k->archive->failed; part++) {
        ana_job_archive_part(k, part);
        ana_archive_part(k->archive);
    }
    k->bytes = k->archive->bytes;
}

bool ana_job_save_latest(struct ana_job_archive *k, size_t newest)
{
    k->newest = newest;
    if (!ana_archive_truncate(k->archive, k->bytes))
        return false;
    ana_job_archive_part(k, ANA_PART_LATEST);
    ana_archive_part(k->archive);
    return !k->archive->failed;
}

void ana_job_save_end(struct ana_job_archive *k)
{
    ana_map_free(&k->comms);
}
