/* NCCL's operations by communicator, call and size: calls and bytes, times of kernels, waiting ranks.  Sums over all
 * time; by rank; and their newest parts, for time ranges. */
#include "trace/gpu/device_data.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/window.h"
#include "trace/gpu/nccl_bandwidth.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"

#define INSTANCES 16384u  /* operations that still wait for some ranks' kernels */
#define SLACK_NS  20000   /* two GPUs' clocks on one host may seem so far apart */
#define ARRIVALS  1048576 /* arrivals of ranks kept for such operations in all */

struct ana_nccl_rows *ana_nccl_rows_new(void)
{
    struct ana_nccl_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return NULL;
    rows->forgotten_ns = INT64_MIN;
    ana_map_init(&rows->rows, sizeof(struct row));
    ana_map_init(&rows->by_rank, sizeof(struct sums));
    ana_map_init(&rows->pairs, sizeof(struct ana_nccl_pair));
    return rows;
}

void ana_nccl_rows_free(struct ana_nccl_rows *rows)
{
    if (!rows)
        return;
    ana_map_free(&rows->rows);
    ana_map_free(&rows->by_rank);
    ana_map_free(&rows->pairs);
    ana_map_free(&rows->hows.how);
    for (size_t i = 0; rows->instance && i < INSTANCES; i++)
        free(rows->instance[i].arrival);
    free(rows->instance);
    free(rows->part);
    free(rows);
}

static struct row *row_of(struct ana_nccl_rows *rows, uint64_t identity, uint32_t call, uint16_t size_class,
                          int32_t size)
{
    struct row *row = ana_map_add(&rows->rows, identity, call, size_class);
    if (row) {
        row->call = call;
        row->size_class = size_class;
        row->size = size;
    }
    return row;
}

static uint32_t number_of(const struct ana_nccl_rows *rows, const struct row *row)
{
    return (uint32_t)(row - (const struct row *)rows->rows.values);
}

static void store_part(struct ana_nccl_rows *rows, struct part part)
{
    if (rows->parts < ANA_NCCL_NEWEST && ana_grow(&rows->part, rows->parts, &rows->room, sizeof part)) {
        rows->part[rows->parts++] = part;
        return;
    }
    if (rows->room == 0)
        return;
    struct part *oldest = &rows->part[rows->next];
    rows->next = (rows->next + 1) % rows->parts;
    rows->forgotten_ns = oldest->at_ns > rows->forgotten_ns ? oldest->at_ns : rows->forgotten_ns;
    *oldest = part;
}

/* ---- arrivals --------------------------------------------------------------------------------------------------- */

static void count_part(struct sums *s, enum part_kind kind, uint64_t bytes, int64_t ns)
{
    uint64_t known = bytes == UINT64_MAX ? 0 : bytes;
    if (kind == PART_CALL) {
        s->calls++;
        s->unknown_bytes |= bytes == UINT64_MAX;
        s->bytes += known;
        return;
    }
    if (kind == PART_KERNEL || kind == PART_MESSAGE)
        s->kernel_ns = ana_plus(s->kernel_ns, ns);
    if (kind == PART_KERNEL)
        return;
    s->timed++;
    s->timed_bytes += known;
    s->transfer_ns = ana_plus(s->transfer_ns, ns);
}

static void add_part(struct ana_nccl_rows *rows, struct row *row, size_t index, struct part part)
{
    part.row = number_of(rows, row);
    part.index = (uint32_t)index;
    count_part(&row->sum, part.kind, part.bytes, part.ns);
    if (part.kind == PART_MESSAGE || part.kind == PART_INSTANCE)
        ana_small_add(&row->transfer, part.ns, 1);
    if (part.kind == PART_INSTANCE)
        ana_small_add(&row->skew, part.skew_ns, 1);
    struct sums *own = part.kind == PART_INSTANCE ? NULL : ana_map_add(&rows->by_rank, part.row, index, 0);
    if (own)
        count_part(own, part.kind, part.bytes, part.ns);
    store_part(rows, part);
}

static void add_to_pair(struct ana_nccl_rows *rows, const struct ana_nccl_call *c)
{
    size_t source = c->sends ? c->index : c->peer, destination = c->sends ? c->peer : c->index;
    struct ana_nccl_pair *pair = ana_map_add(&rows->pairs, source, destination, 0);
    uint64_t bytes = c->bytes == UINT64_MAX ? 0 : c->bytes;
    if (!pair)
        return;
    pair->source = source;
    pair->destination = destination;
    *(c->sends ? &pair->sends : &pair->receives) += 1;
    *(c->sends ? &pair->bytes_sent : &pair->bytes_received) += bytes;
}

void ana_nccl_rows_call(struct ana_job *job, struct ana_nccl_rows *rows, const struct ana_nccl_call *c,
                        const struct trc_comm *comm)
{
    struct row *row = row_of(rows, c->identity, c->call, c->size_class, c->size);
    if (row && row->sum.calls == 0 && comm) {
        ana_comm_name(job, c->identity, comm);
        row->rank = (uint32_t)c->index;
        row->comm = comm->id;
    }
    if (c->p2p)
        add_to_pair(rows, c);
    if (row)
        add_part(rows, row, c->index, (struct part){.at_ns = c->begin_ns, .bytes = c->bytes, .kind = PART_CALL});
}

static struct instance *instance_at(struct ana_nccl_rows *rows, const struct ana_nccl_call *c)
{
    if (!rows->instance && !(rows->instance = calloc(INSTANCES, sizeof *rows->instance)))
        return NULL;
    return &rows->instance[(c->identity * 0x9e3779b97f4a7c15u + c->sequence) % INSTANCES];
}

bool ana_nccl_rows_fits(struct ana_nccl_rows *rows, const struct ana_nccl_call *c, int64_t begin_ns)
{
    const struct instance *o = c->together ? instance_at(rows, c) : NULL;
    if (!o || o->arrivals == 0 || o->identity != c->identity || o->sequence != c->sequence)
        return true;
    return begin_ns <= o->first_end_ns + SLACK_NS;
}

static void forget_arrivals(struct ana_nccl_rows *rows, struct instance *o)
{
    rows->arrivals -= o->arrival ? (size_t)o->size : 0;
    free(o->arrival);
    o->arrival = NULL;
    o->arrivals = 0;
}

static struct ana_nccl_arrival *room_for_arrivals(struct ana_nccl_rows *rows, int32_t size)
{
    if (size <= 0 || rows->arrivals + (size_t)size > ARRIVALS)
        return NULL;
    struct ana_nccl_arrival *arrival = malloc((size_t)size * sizeof *arrival);
    rows->arrivals += arrival ? (size_t)size : 0;
    return arrival;
}

/* Adds one rank's kernel of a collective.  When the last one is there, it is known who waited. */
static void add_kernel(struct ana_job *job, struct ana_nccl_rows *rows, const struct ana_nccl_call *c, int64_t begin_ns,
                       int64_t end_ns)
{
    struct instance *o = instance_at(rows, c);
    int64_t ns = end_ns - begin_ns;
    if (!o)
        return;
    if (o->arrivals && (o->identity != c->identity || o->sequence != c->sequence))
        forget_arrivals(rows, o); /* long ago: the other ranks' kernels did not come */
    if (o->arrivals == 0)
        *o = (struct instance){.identity = c->identity,
                               .sequence = c->sequence,
                               .bytes = c->bytes,
                               .call = c->call,
                               .size_class = c->size_class,
                               .size = c->size,
                               .shortest_ns = ns,
                               .longest_ns = ns,
                               .first_end_ns = end_ns,
                               .arrival = room_for_arrivals(rows, c->size)};
    if (o->arrival)
        o->arrival[o->arrivals] = (struct ana_nccl_arrival){begin_ns, end_ns, c->begin_ns, (uint32_t)c->index, c->step};
    o->arrivals++;
    o->shortest_ns = ns < o->shortest_ns ? ns : o->shortest_ns;
    o->longest_ns = ns > o->longest_ns ? ns : o->longest_ns;
    o->first_end_ns = end_ns < o->first_end_ns ? end_ns : o->first_end_ns;
    if (c->bytes > o->bytes)
        o->size_class = c->size_class;
    o->bytes = c->bytes > o->bytes ? c->bytes : o->bytes;
    if (o->arrivals < (uint32_t)o->size)
        return;
    struct row *row = row_of(rows, o->identity, o->call, o->size_class, o->size);
    if (row)
        add_part(rows, row, c->index,
                 (struct part){.at_ns = end_ns,
                               .ns = o->shortest_ns,
                               .skew_ns = o->longest_ns - o->shortest_ns,
                               .bytes = o->bytes,
                               .kind = PART_INSTANCE});
    if (o->arrival && c->together)
        ana_nccl_late(job, c, o->arrival, o->arrivals);
    forget_arrivals(rows, o);
}

void ana_nccl_rows_kernel(struct ana_job *job, struct ana_nccl_rows *rows, const struct ana_nccl_call *c,
                          int64_t begin_ns, int64_t end_ns, enum ana_nccl_share share)
{
    struct row *row = row_of(rows, c->identity, c->call, c->size_class, c->size);
    if (!row)
        return;
    enum part_kind kind = c->p2p && share != ANA_NCCL_SHARED ? PART_MESSAGE : PART_KERNEL;
    struct part part = {.at_ns = end_ns, .ns = end_ns - begin_ns, .bytes = c->bytes, .kind = kind};
    add_part(rows, row, c->index, part);
    if (kind == PART_KERNEL && share == ANA_NCCL_ALONE)
        add_kernel(job, rows, c, begin_ns, end_ns);
}

/* ---- a look ----------------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_name, struct ana_nccl_stat,
            (x->comm_identity == y->comm_identity ? 0 : strcmp(x->comm_name, y->comm_name)),
            ANA_ORDER(x->comm_identity, y->comm_identity), strcmp(x->call, y->call),
            ANA_ORDER(x->size_class, y->size_class))

static void add_stat(const struct ana_job *job, const struct ana_nccl_rows *rows, size_t i, const struct row *r,
                     struct ana_gpu_summary *out)
{
    const struct ana_members *members = ana_job_members(job);
    uint64_t identity = ana_map_key(&rows->rows, i)[0];
    char *const *name = ana_map_find(&members->comm_names, identity, 0, 0);
    if (r->sum.calls == 0 && r->sum.kernel_ns == 0)
        return; /* a class that only one rank's view of it gave */
    struct ana_nccl_stat *s = &out->nccl[out->nccl_count++];
    *s = (struct ana_nccl_stat){.call = members->call[r->call].name,
                                .comm_identity = identity,
                                .comm_name = name && *name ? *name : "?",
                                .size = r->size,
                                .size_class = r->size_class,
                                .calls = r->sum.calls,
                                .bytes = r->sum.unknown_bytes ? UINT64_MAX : r->sum.bytes,
                                .timed = r->sum.timed,
                                .algbw = NAN,
                                .busbw = NAN,
                                .transfer_p50_ns = ana_small_of(&r->transfer).p50_ns,
                                .skew_p50_ns = ana_small_of(&r->skew).p50_ns,
                                .skew_p99_ns = ana_small_of(&r->skew).p99_ns,
                                .kernel_ns = r->sum.kernel_ns};
    if (r->sum.timed_bytes && r->sum.transfer_ns > 0 && !r->sum.unknown_bytes)
        s->algbw = (double)r->sum.timed_bytes / ((double)r->sum.transfer_ns / 1e9);
    s->busbw = s->algbw * ana_nccl_bus_factor(s->call, s->size);
    ana_nccl_how(&rows->hows, s);
}

/* The row of selected ranks: their calls and kernels.  Times belong to the operations, over all ranks that took
 * part. */
static struct row of_ranks(const struct ana_nccl_rows *rows, size_t i, const uint8_t *ranks, size_t count)
{
    struct row row = *(const struct row *)ana_map_value(&rows->rows, i);
    struct sums all = row.sum;
    row.sum = (struct sums){.unknown_bytes = all.unknown_bytes};
    for (size_t index = 0; index < count; index++) {
        const struct sums *own = ranks[index] ? ana_map_find(&rows->by_rank, i, index, 0) : NULL;
        if (!own)
            continue;
        row.sum.calls += own->calls;
        row.sum.bytes += own->bytes;
        row.sum.kernel_ns = ana_plus(row.sum.kernel_ns, own->kernel_ns);
    }
    if (row.sum.calls) {
        row.sum.timed = all.timed;
        row.sum.timed_bytes = all.timed_bytes;
        row.sum.transfer_ns = all.transfer_ns;
    }
    return row;
}

/* Makes the rows of a time range from the kept parts; NULL: out of memory. */
static struct row *of_range(const struct ana_nccl_rows *rows, const struct ana_selection *selection)
{
    struct row *made = calloc(rows->rows.count + 1, sizeof *made);
    for (size_t i = 0; made && i < rows->rows.count; i++) {
        const struct row *row = ana_map_value(&rows->rows, i);
        made[i] = (struct row){.call = row->call, .size_class = row->size_class, .size = row->size};
    }
    for (size_t i = 0; made && i < rows->parts; i++) {
        const struct part *p = &rows->part[i];
        struct row *row = &made[p->row];
        bool own = p->kind != PART_INSTANCE;
        if (p->at_ns < selection->begin_ns || p->at_ns >= selection->end_ns ||
            (own && !ana_selected(selection->ranks, p->index)))
            continue;
        count_part(&row->sum, p->kind, p->bytes, p->ns);
        if (p->kind == PART_MESSAGE || p->kind == PART_INSTANCE)
            ana_small_add(&row->transfer, p->ns, 1);
        if (p->kind == PART_INSTANCE)
            ana_small_add(&row->skew, p->skew_ns, 1);
    }
    return made;
}

ANA_COMPARE(by_ranks, struct ana_nccl_pair, ANA_ORDER(x->source, y->source), ANA_ORDER(x->destination, y->destination))

static bool look_at_pairs(const struct ana_nccl_rows *rows, const uint8_t *ranks, struct ana_gpu_summary *out)
{
    out->nccl_pairs = calloc(rows->pairs.count + 1, sizeof *out->nccl_pairs);
    for (size_t i = 0; out->nccl_pairs && i < rows->pairs.count; i++) {
        const struct ana_nccl_pair *pair = ana_map_value(&rows->pairs, i);
        bool source = pair->source != SIZE_MAX && ana_selected(ranks, pair->source);
        if (source || (pair->destination != SIZE_MAX && ana_selected(ranks, pair->destination)))
            out->nccl_pairs[out->nccl_pair_count++] = *pair;
    }
    if (out->nccl_pairs)
        ana_sort(out->nccl_pairs, out->nccl_pair_count, sizeof *out->nccl_pairs, by_ranks);
    return out->nccl_pairs != NULL;
}

bool ana_nccl_rows_summarize(const struct ana_job *job, struct ana_nccl_rows *rows,
                             const struct ana_selection *selection, struct ana_gpu_summary *out)
{
    bool range = selection->begin_ns > 0 || selection->end_ns != INT64_MAX;
    struct row *made = range ? of_range(rows, selection) : NULL;
    out->nccl = calloc(rows->rows.count + 1, sizeof *out->nccl);
    out->nccl_forgotten = range && rows->forgotten_ns > selection->begin_ns;
    ana_nccl_hows_read(&rows->hows, job);
    bool ok = out->nccl && (made || !range) && (range || look_at_pairs(rows, selection->ranks, out));
    for (size_t i = 0; ok && i < rows->rows.count; i++) {
        if (range) {
            add_stat(job, rows, i, &made[i], out);
        } else if (selection->ranks) {
            struct row row = of_ranks(rows, i, selection->ranks, ana_job_members(job)->count);
            add_stat(job, rows, i, &row, out);
        } else {
            add_stat(job, rows, i, ana_map_value(&rows->rows, i), out);
        }
    }
    free(made);
    if (ok)
        ana_sort(out->nccl, out->nccl_count, sizeof *out->nccl, by_name);
    return ok;
}
