#include "trace/index/keep.h"
#include "trace/gpu/device_keep.h"
#include "trace/summary/prices.h"
#include "trace/cause/path.h"
#include "trace/cause/replay.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>

/* ---- values told by numbers -------------------------------------------------------------------------------------- */

/* Calls have the same numbers, since the same files were read in the same order; the index is told wrong where not. */
static void keep_calls(struct ana_job_keep *k)
{
    uint64_t calls = k->members->calls;
    ANA_KEEP(k->keep, calls);
    if (!ana_keep_holds(k->keep, calls == k->members->calls))
        return;
    for (size_t i = 0; i < k->members->calls && !k->keep->failed; i++) {
        uint64_t name = ana_hash_text(k->members->call[i].name), own = name;
        ANA_KEEP(k->keep, name);
        ana_keep_holds(k->keep, name == own);
    }
}

static void number_comms(struct ana_job_keep *k)
{
    const struct trc_comm *comm;
    for (size_t i = 0; i < k->members->count; i++)
        for (size_t n = 0; (comm = trc_comm_at(k->members->process[i].rank.file, n, &(uint64_t){0})); n++) {
            uint64_t *number = ana_map_add(&k->comms, (uintptr_t)comm, 0, 0);
            k->keep->failed |= !number;
            if (number)
                *number = (uint64_t)i << 32 | n;
        }
}

void ana_comm_keep(struct ana_job_keep *k, const struct trc_comm **comm)
{
    const uint64_t *known = k->keep->loads ? NULL : ana_map_find(&k->comms, (uintptr_t)*comm, 0, 0);
    uint64_t number = known ? *known : UINT64_MAX;
    ANA_KEEP(k->keep, number);
    if (!k->keep->loads)
        return;
    bool is_rank = number >> 32 < k->members->count;
    *comm = is_rank ? trc_comm_at(k->members->process[number >> 32].rank.file, (uint32_t)number, &(uint64_t){0}) : NULL;
    ana_keep_holds(k->keep, *comm != NULL);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

static void strip_pair(void *row)
{
    ((struct ana_pair_sum *)row)->latency = NULL;
}

static void strip_site(void *row)
{
    ((struct ana_site_sum *)row)->times.counts = (struct ana_counts){0};
}

static void strip_latency(void *row)
{
    ((struct ana_times_slim *)row)->counts = (struct ana_counts){0};
}

static void strip_collective(void *row)
{
    ((struct ana_collective_sum *)row)->comm = NULL;
}

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

static bool is_tally_sane(const struct ana_tally *t, size_t ranks, size_t calls, size_t places)
{
    const struct bounds all[] = {
        {&t->calls, calls - 1, ANA_TALLY_SIZES - 1, 0},   {&t->threads, ranks - 1, UINT64_MAX, UINT64_MAX},
        {&t->sites, ranks - 1, UINT64_MAX, UINT64_MAX},   {&t->pairs, ranks - 1, ranks - 1, 0},
        {&t->collectives, UINT64_MAX, calls - 1, places}, {&t->last, t->collectives.count - 1, ranks - 1, 0},
        {&t->waits, UINT64_MAX, ranks - 1, ranks - 1},
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
        if (ana_wait_key_call(ana_map_key(&t->waits, i)[0]) >= calls ||
            ana_wait_key_kind(ana_map_key(&t->waits, i)[0]) >= ANA_WAIT_KINDS)
            return false;
    return true;
}

/* The distributions of times at call sites, and of latencies. */
static void keep_counts(struct ana_job_keep *k)
{
    struct ana_tally *t = &k->analysis->pass.tally;
    struct ana_counts **each = calloc(t->sites.count + t->pairs.count + 1, sizeof *each);
    size_t n = 0;
    k->keep->failed |= !each;
    for (size_t i = 0; each && i < t->sites.count; i++)
        each[n++] = &((struct ana_site_sum *)ana_map_value(&t->sites, i))->times.counts;
    for (size_t i = 0; each && i < t->pairs.count; i++) {
        struct ana_times_slim *latency = ((struct ana_pair_sum *)ana_map_value(&t->pairs, i))->latency;
        if (latency)
            each[n++] = &latency->counts;
    }
    if (each)
        ana_counts_keep(k->keep, each, n);
    free(each);
}

static void keep_tally(struct ana_job_keep *k)
{
    struct ana_tally *t = &k->analysis->pass.tally;
    ana_keep_rows(k->keep, t->rank, t->ranks, sizeof *t->rank, NULL);
    struct ana_map *plain[] = {&t->calls, &t->threads, &t->last, &t->waits};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        ana_keep_map(k->keep, plain[i], NULL);
    ana_keep_map(k->keep, &t->sites, strip_site);
    ana_keep_map(k->keep, &t->pairs, strip_pair);
    ana_keep_owned(k->keep, &t->pairs, offsetof(struct ana_pair_sum, latency), sizeof(struct ana_times_slim),
                   strip_latency);
    keep_counts(k);
    ana_keep_map(k->keep, &t->collectives, strip_collective);
    if (!ana_keep_holds(k->keep,
                        is_tally_sane(t, k->members->count, k->members->calls, k->analysis->pass.why.places.count)))
        return;
    for (size_t i = 0; i < t->collectives.count && !k->keep->failed; i++)
        ana_comm_keep(k, &((struct ana_collective_sum *)ana_map_value(&t->collectives, i))->comm);
    for (uint32_t i = 0; i < ANA_TALLY_SIZES && !k->keep->failed; i++) {
        uint8_t has = t->size[i] != NULL;
        ANA_KEEP(k->keep, has);
        if (has && k->keep->loads && !k->keep->failed)
            k->keep->failed |= !ana_tally_size_make(t, i);
        if (has && !k->keep->failed)
            ana_keep_rows(k->keep, t->size[i], 1, sizeof *t->size[i], NULL);
    }
    ana_keep_rows(k->keep, &t->other_latency, 1, sizeof t->other_latency, NULL);
    ANA_KEEP(k->keep, t->clock_violations);
}

/* ---- files of MPI-IO -------------------------------------------------------------------------------------------- */

static void strip_access(void *row)
{
    ((struct ana_access_sum *)row)->name = NULL;
}

/* The name of a file that a rank has opened, by its hash; NULL: there is none. */
static const char *name_of(const struct trc_file *file, uint64_t hash)
{
    const struct trc_comm *comm;
    for (size_t n = 0; (comm = trc_comm_at(file, n, &(uint64_t){0})); n++)
        if (comm->object && comm->object->is_file && comm->object->name && ana_hash_text(comm->object->name) == hash)
            return comm->object->name;
    return NULL;
}

static void keep_accesses(struct ana_job_keep *k)
{
    struct ana_map *of = &k->analysis->pass.accesses.of;
    ana_keep_map(k->keep, of, strip_access);
    for (size_t i = 0; i < of->count && k->keep->loads && !k->keep->failed; i++) {
        struct ana_access_sum *sum = ana_map_value(of, i);
        const uint64_t *key = ana_map_key(of, i);
        if (ana_keep_holds(k->keep, sum->index < k->members->count && sum->index == key[1]) && key[0])
            ana_keep_holds(k->keep, (sum->name = name_of(k->members->process[sum->index].rank.file, key[0])) != NULL);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void keep_why(struct ana_job_keep *k)
{
    struct ana_job *job = k->job;
    struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    struct ana_path_sums path = {0};
    int64_t saves[ANA_SHADOWS] = {0};
    if (!k->keep->loads && !ana_path_of_pass(job, &analysis->pass, members->begin_ns, members->end_ns, &path, saves))
        k->keep->failed = true;
    ana_why_keep(k->keep, &analysis->pass.why, members->calls, &path, saves);
    ana_path_sums_free(&path);
    int64_t until_ns = ana_earlier(ana_merge_position(analysis->pass.merge), members->end_ns);
    ana_regions_keep(k->keep, &analysis->pass.regions, until_ns);
    for (size_t i = 0; i < analysis->pass.why.segments.count && !k->keep->failed; i++)
        ana_keep_holds(k->keep, ana_segment_at(&analysis->pass.why, (uint32_t)i + 1)->region <=
                                    analysis->pass.regions.names.count);
}

static void keep_clock(struct ana_job_keep *k)
{
    keep_calls(k);
    ana_clock_keep(k->keep, k->members->clock);
}

static void keep_latest(struct ana_job_keep *k)
{
    ana_store_keep(k);
    if (!k->keep->failed)
        ana_devices_keep(k->keep, k->job, k->newest);
}

static void keep_lanes(struct ana_job_keep *k, size_t part)
{
    const size_t n = k->members->count;
    for (size_t i = n * part / ANA_LANE_PARTS; i < n * (part + 1) / ANA_LANE_PARTS && !k->keep->failed; i++)
        ana_lane_keep(k->keep, &k->analysis->lane[i]);
}

static void keep_others(struct ana_job_keep *k)
{
    keep_accesses(k);
    if (!k->keep->failed)
        ana_match_keep(k->keep, k->analysis->match);
}

void ana_job_keep_part(struct ana_job_keep *k, enum ana_part_of_index part)
{
    if (part == ANA_PART_CLOCK)
        keep_clock(k);
    else if (part == ANA_PART_WHY)
        keep_why(k);
    else if (part == ANA_PART_ITERATIONS)
        ana_iter_keep(k->keep, &k->analysis->iter, &k->analysis->pass.why);
    else if (part == ANA_PART_LATEST)
        keep_latest(k);
    else if (part == ANA_PART_SUMS)
        keep_tally(k);
    else if (part == ANA_PART_OTHERS)
        keep_others(k);
    else
        keep_lanes(k, part - ANA_PART_LANES);
}

void ana_job_save(struct ana_job_keep *k)
{
    ana_map_init(&k->comms, sizeof(uint64_t));
    number_comms(k);
    for (enum ana_part_of_index part = 0; part < ANA_PART_LATEST && !k->keep->failed; part++) {
        ana_job_keep_part(k, part);
        ana_keep_part(k->keep);
    }
    k->bytes = k->keep->bytes;
}

bool ana_job_save_latest(struct ana_job_keep *k, size_t newest)
{
    k->newest = newest;
    if (!ana_keep_back(k->keep, k->bytes))
        return false;
    ana_job_keep_part(k, ANA_PART_LATEST);
    ana_keep_part(k->keep);
    return !k->keep->failed;
}

void ana_job_save_end(struct ana_job_keep *k)
{
    ana_map_free(&k->comms);
}
