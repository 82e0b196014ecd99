/* Summaries of collectives, by communicator and by the place in the program that calls. */
#include "trace/summary/summary_impl.h"
#include "trace/util/hash.h"
#include "trace/util/hash_map.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row in the making: one communicator, call and place of one source line. */
struct row {
    const struct trc_comm *comm;
    struct ana_times_small skew;
    int64_t lost_ns;
    uint64_t last, last_index; /* largest number of times that a rank came last, and that rank */
};

/* A call on a communicator, in all places. */
struct call {
    size_t rows;
    int64_t lost_ns;
};

struct rows {
    uint32_t *place;         /* place of trace/why -> first of its name, + 1 */
    uint32_t *row;           /* sum of the tally -> index in `by_place` */
    struct ana_map by_place; /* struct row by identity, call number, place + 1 */
    struct ana_map last;     /* struct ana_count_sum by index in `by_place`, rank */
    struct ana_map lost;     /* collectives without a complete instance, also by identity, call number */
    struct ana_map calls;    /* struct call by identity, call number */
    struct ana_map files;    /* uint64_t: identity of the first handle of a file, by hash of its name */
};

ANA_COMPARE(by_lost, struct ana_collective, ANA_ORDER(y->lost_ns, x->lost_ns), ANA_ORDER(y->instances, x->instances),
            strcmp(x->place, y->place))

/* Returns the identity that a communicator has rows under: for a file its first handle's, since a program may open it a
 * thousand times. */
static uint64_t identity_of(struct rows *rows, uint64_t identity, const struct trc_comm *comm)
{
    const bool file = comm && comm->object && comm->object->is_file && comm->object->name;
    uint64_t *first = file ? ana_map_add(&rows->files, ana_hash_text(comm->object->name), 0, 0) : NULL;
    if (!first)
        return identity;
    *first = *first ? *first : identity;
    return *first;
}

/* Counts instances that not all ranks came to, by communicator and call. */
static bool count_open(struct ana_job *job, struct rows *rows)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    for (size_t i = 0; i < ana_match_open_instances(analysis->match); i++) {
        struct ana_instance open;
        if (!ana_match_open_instance(analysis->match, i, &open))
            continue;
        const uint64_t identity = identity_of(rows, open.comm_identity, open.comm);
        struct ana_count_sum *n =
            ana_map_add(&rows->lost, identity, ana_call_number(ana_job_members(job), open.call), 0);
        if (!n)
            return false;
        if (n->count++ == 0)
            ana_comm_name(job, identity, open.comm);
    }
    return true;
}

/* Joins the sums of one source line. */
static bool join_sums(struct rows *rows, const struct ana_tally *t)
{
    for (size_t i = 0; i < t->collectives.count; i++) {
        const uint64_t *key = ana_map_key(&t->collectives, i);
        struct ana_collective_sum *sum = ana_map_value(&t->collectives, i);
        const uint64_t identity = identity_of(rows, key[0], sum->comm);
        size_t before = rows->by_place.count;
        struct row *row = ana_map_add(&rows->by_place, identity, key[1], key[2] ? rows->place[key[2] - 1] : 0);
        struct call *call = row ? ana_map_add(&rows->calls, identity, key[1], 0) : NULL;
        if (!call)
            return false;
        call->rows += rows->by_place.count > before;
        call->lost_ns = ana_plus(call->lost_ns, sum->lost_ns);
        row->comm = sum->comm;
        row->lost_ns = ana_plus(row->lost_ns, sum->lost_ns);
        ana_small_merge(&row->skew, &sum->skew);
        rows->row[i] = (uint32_t)(row - (struct row *)rows->by_place.values);
    }
    return true;
}

/* Finds the rank that came last most often; of two, the one with the lower index. */
static bool find_last(struct rows *rows, const struct ana_tally *t)
{
    for (size_t i = 0; i < t->last.count; i++) {
        const uint64_t *key = ana_map_key(&t->last, i);
        const struct ana_count_sum *one = ana_map_value(&t->last, i);
        struct ana_count_sum *sum = ana_map_add(&rows->last, rows->row[key[0]], key[1], 0);
        if (!sum)
            return false;
        sum->count += one->count;
    }
    for (size_t i = 0; i < rows->last.count; i++) {
        const uint64_t *key = ana_map_key(&rows->last, i);
        struct row *row = ana_map_value(&rows->by_place, key[0]);
        uint64_t count = ((const struct ana_count_sum *)ana_map_value(&rows->last, i))->count;
        if (count > row->last || (count == row->last && key[1] < row->last_index)) {
            row->last = count;
            row->last_index = key[1];
        }
    }
    return true;
}

/* Adds collectives with complete instances.  Incomplete ones are counted if there is no doubt about their place. */
static void add_complete(struct ana_job *job, struct ana_summary *s, struct rows *rows, size_t i)
{
    const struct ana_members *members = ana_job_members(job);
    const uint64_t *key = ana_map_key(&rows->by_place, i);
    const struct row *row = ana_map_value(&rows->by_place, i);
    struct ana_count_sum *missing = ana_map_find(&rows->lost, key[0], key[1], 0);
    const struct call *call = ana_map_find(&rows->calls, key[0], key[1], 0);
    bool here = missing && call->rows == 1, waits = trc_opclass_has_wait_states(members->call[key[1]].opclass);
    struct ana_times skew = ana_small_of(&row->skew);
    struct ana_collective *out = &s->collectives[s->collective_count++];
    *out = (struct ana_collective){
        .name = members->call[key[1]].name,
        .comm_identity = key[0],
        .comm_name = ana_comm_name(job, key[0], row->comm),
        .instances = row->skew.calls,
        .incomplete = here ? missing->count : 0,
        .skew_p50_ns = skew.p50_ns,
        .skew_p99_ns = skew.p99_ns,
        .skew_max_ns = skew.max_ns,
        .lost_ns = waits ? row->lost_ns : -1,
        .last_index = (size_t)row->last_index,
        .last_share = (double)row->last / (double)row->skew.calls,
        .places = call->rows,
        .call_lost_ns = waits ? call->lost_ns : 0,
    };
    if (here)
        missing->count = 0;
    if (!key[2])
        return;
    const struct ana_why *why = &ana_job_analysis(job)->pass.why;
    const struct ana_why_place *at = ana_map_value(&why->places, key[2] - 1);
    struct ana_segment_end end = {0};
    ana_segment_end_of(job, why, (uint32_t)key[2], &end);
    memcpy(out->place, end.place, sizeof out->place);
    out->identity = ana_site_identity(job, at->index, at->call, at->address);
}

static void add_incomplete(const struct ana_job *job, struct ana_summary *s, const struct ana_map *lost)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < lost->count; i++) {
        const uint64_t *key = ana_map_key(lost, i);
        const struct ana_count_sum *n = ana_map_value(lost, i);
        char **name = ana_map_find(&members->comm_names, key[0], 0, 0);
        if (n->count)
            s->collectives[s->collective_count++] = (struct ana_collective){
                .name = members->call[key[1]].name,
                .comm_identity = key[0],
                .comm_name = name && *name ? *name : "?",
                .incomplete = n->count,
                .skew_p50_ns = NAN,
                .skew_p99_ns = NAN,
                .skew_max_ns = NAN,
                .last_index = SIZE_MAX,
                .last_share = NAN,
            };
    }
}

bool ana_summary_collectives(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    const struct ana_why *why = &ana_job_analysis(job)->pass.why;
    struct rows rows = {.place = calloc(why->places.count + 1, sizeof *rows.place),
                        .row = calloc(t->collectives.count + 1, sizeof *rows.row)};
    ana_map_init(&rows.by_place, sizeof(struct row));
    ana_map_init(&rows.last, sizeof(struct ana_count_sum));
    ana_map_init(&rows.lost, sizeof(struct ana_count_sum));
    ana_map_init(&rows.calls, sizeof(struct call));
    ana_map_init(&rows.files, sizeof(uint64_t));
    bool ok = rows.place && rows.row && (!s->exact || count_open(job, &rows)) &&
              ana_places_join(job, why, true, rows.place) && join_sums(&rows, t) && find_last(&rows, t);
    s->collectives = ok ? calloc(rows.by_place.count + rows.lost.count + 1, sizeof *s->collectives) : NULL;
    for (size_t i = 0; s->collectives && i < rows.by_place.count; i++)
        add_complete(job, s, &rows, i);
    if (s->collectives) {
        add_incomplete(job, s, &rows.lost);
        ana_sort(s->collectives, s->collective_count, sizeof *s->collectives, by_lost);
    }
    free(rows.place);
    free(rows.row);
    struct ana_map *map[] = {&rows.by_place, &rows.last, &rows.lost, &rows.calls, &rows.files};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        ana_map_free(map[i]);
    return s->collectives != NULL;
}
