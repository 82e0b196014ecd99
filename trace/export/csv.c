/* Comma-separated values: a file a table in one folder.  Events, messages and collectives as the walk comes along them,
 * the sums as in the report's JSON. */
#include "trace/export/export_impl.h"
#include "trace/metric/csv.h"
#include "trace/util/rows.h"
#include <errno.h>
#include <stdlib.h>

struct csv {
    struct ana_out *events, *messages, *collectives;
    uint64_t instances;
};

/* Room for the path of a table. */
struct path {
    char text[4200];
};
static struct path path_of(const struct ana_exporting *x, const char *table)
{
    struct path path;
    snprintf(path.text, sizeof path.text, "%s/%s.csv", x->path, table);
    return path;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void write_rows(struct ana_exporting *x, const char *table, enum ana_metric_kind kind, const void *rows,
                       size_t size, size_t count)
{
    struct ana_whole whole = ana_whole_of(x->job, x->summary, NULL);
    struct path path = path_of(x, table);
    FILE *out = fopen(path.text, "w");
    if (out)
        ana_csv_rows(out, kind, rows, size, count, &whole);
    bool failed = !out || ferror(out);
    if ((out && fclose(out) != 0) || failed)
        ana_export_fail(x, "cannot write %s: %s", path.text, strerror(errno));
}

static void write_ranks(struct ana_exporting *x)
{
    const struct ana_summary *s = x->summary;
    struct ana_rank_row *rows = calloc(s->rank_count + 1, sizeof *rows);
    if (!rows) {
        ana_export_fail(x, "out of memory");
        return;
    }
    for (size_t i = 0; i < s->rank_count; i++)
        rows[i] = (struct ana_rank_row){.rank = ana_job_rank(x->job, s->ranks[i].index), .stat = &s->ranks[i]};
    write_rows(x, "ranks", ANA_KIND_RANK, rows, sizeof *rows, s->rank_count);
    free(rows);
}

static void close_table(struct ana_exporting *x, struct ana_out *out)
{
    int error = ana_out_close(out);
    if (error)
        ana_export_fail(x, "cannot write a table in %s: %s", x->path, strerror(error));
}

static struct ana_out *open_table(struct ana_exporting *x, const char *table, const char *columns)
{
    struct ana_out *out = ana_out_open(path_of(x, table).text);
    if (!out)
        ana_export_fail(x, "out of memory");
    else
        ana_out_text(out, columns);
    return out;
}

/* Adds what a rank is: its number and world; both empty for one that is not known. */
static void put_rank(struct ana_exporting *x, struct ana_out *out, size_t index)
{
    const struct ana_rank *rank = index < ana_job_ranks(x->job) ? ana_job_rank(x->job, index) : NULL;
    if (rank && rank->rank >= 0)
        ana_out_signed(out, rank->rank);
    ana_out_text(out, ",");
    if (rank)
        ana_out_integer(out, rank->world);
    ana_out_text(out, ",");
}

/* Adds a time in seconds, nothing for INT64_MIN, and a comma. */
static void put_seconds(struct ana_out *out, int64_t ns)
{
    if (ns != INT64_MIN)
        ana_out_seconds(out, ns);
    ana_out_text(out, ",");
}

/* One row: what the rest must be read with, the uncertainty of its times above all. */
static void write_job(struct ana_exporting *x)
{
    struct ana_job_info info = ana_job_info(x->job);
    struct ana_out *out = open_table(x, "job",
                                     "name,state,ranks,world_size,mpi,command,start_unix_s,elapsed_s,from_s,to_s,"
                                     "clock_error_s,lost_records,recycled_records\r\n");
    char text[64];
    if (!out)
        return;
    ana_out_format(out, "%c,%c,%u,%u,%c,%c,", info.name, ana_state_name(info.state), (uint64_t)info.ranks,
                   (uint64_t)info.world_size, info.mpi, info.command);
    const int64_t times[] = {info.start_realtime_ns, info.elapsed_ns, x->summary->begin_ns, x->summary->end_ns};
    for (int i = 0; i < 4; i++)
        put_seconds(out, times[i]);
    snprintf(text, sizeof text, "%.9g", info.clock_error_s);
    ana_out_format(out, "%s,%u,%u\r\n", info.clock_error_s >= 0 ? text : "", info.lost_records, info.recycled_records);
    close_table(x, out);
}

/* Iterations first .. last of a rank. */
static void put_iterations(struct ana_exporting *x, struct ana_out *out, size_t index, uint64_t first, uint64_t last)
{
    struct ana_iteration_cell cell[256];
    const struct ana_iterations *of = &x->summary->iterations;
    size_t n = (size_t)(last - first + 1);
    ana_iteration_cells(x->job, of, of->level, index, first, last, n, cell);
    for (size_t i = 0; i < n; i++) {
        if (!(cell[i].time_ns >= 0))
            continue;
        ana_out_format(out, "%u,", first + i);
        put_rank(x, out, index);
        put_seconds(out, (int64_t)cell[i].time_ns);
        put_seconds(out, cell[i].own_ns >= 0 ? (int64_t)cell[i].own_ns : INT64_MIN);
        ana_out_format(out, "%u\r\n", cell[i].mean_of > 1 ? (uint64_t)cell[i].mean_of : UINT64_C(1));
    }
}

static void write_iterations(struct ana_exporting *x)
{
    const struct ana_iterations *of = &x->summary->iterations;
    struct ana_out *out = open_table(x, "iterations", "iteration,rank,world,time_s,outside_calls_s,mean_of\r\n");
    uint64_t count = of->levels ? of->loop[of->level].count : 0;
    for (uint64_t first = 1; out && first <= count; first += 256)
        for (size_t i = 0; i < x->summary->rank_count; i++)
            put_iterations(x, out, x->summary->ranks[i].index, first, first + 255 < count ? first + 255 : count);
    close_table(x, out);
}

#define WRITE(x, table, kind, rows, count) write_rows(x, table, ANA_KIND_##kind, rows, sizeof *(rows), count)
static void write_sums(struct ana_exporting *x)
{
    const struct ana_summary *s = x->summary;
    write_job(x);
    WRITE(x, "calls", CALL, s->calls, s->call_count);
    write_ranks(x);
    WRITE(x, "pairs", PAIR, s->pairs, s->pair_count);
    WRITE(x, "sizes", SIZE, s->sizes, s->size_count);
    WRITE(x, "sites", SITE, s->sites, s->site_count);
    WRITE(x, "waits", WAIT, s->waits, s->wait_count);
    WRITE(x, "segments", SEGMENT, s->segments, s->segment_count);
    WRITE(x, "regions", REGION, s->regions, s->region_count);
    WRITE(x, "prices", PRICE, s->prices, s->price_count);
    WRITE(x, "files", FILE, s->files, s->file_count);
    WRITE(x, "collective_sums", COLLECTIVE, s->collectives, s->collective_count);
    write_iterations(x);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool begin(struct ana_exporting *x)
{
    struct csv *csv = x->own = calloc(1, sizeof *csv);
    if (!csv)
        return ana_export_fail(x, "out of memory");
    write_sums(x);
    csv->events = open_table(x, "events",
                             "rank,world,thread,begin_s,end_s,what,name,calls,busy_s,bytes_sent,bytes_received,peer,"
                             "peer_world,tag,communicator,sequence,site,path\r\n");
    csv->messages = open_table(x, "messages",
                               "src,src_world,dst,dst_world,bytes,tag,communicator,send_call,recv_call,send_begin_s,"
                               "send_end_s,recv_begin_s,recv_wait_begin_s,recv_complete_s\r\n");
    csv->collectives = open_table(x, "collectives",
                                  "instance,name,communicator,sequence,root,root_world,mismatched,rank,world,begin_s,"
                                  "end_s\r\n");
    return !x->error[0];
}

static void put_comm(struct ana_exporting *x, struct ana_out *out, size_t index, uint64_t identity,
                     const struct trc_comm *comm)
{
    const struct ana_export_comm *of =
        identity || comm ? ana_export_comm(x, comm ? ana_comm_identity(x->job, index, comm) : identity, comm) : NULL;
    ana_out_format(out, "%c,", of ? of->name : NULL);
}

/* Columns of a call's data: amounts, partner and place. */
static void put_signature(struct ana_exporting *x, struct ana_out *out, const struct ana_event *e)
{
    int32_t tag;
    ana_out_format(out, "%u,%u,", ana_export_sent(e), ana_export_received(e));
    put_rank(x, out, ana_export_partner(x, e));
    if (ana_export_tag(e, &tag))
        ana_out_signed(out, tag);
    ana_out_text(out, ",");
    put_comm(x, out, e->index, 0, e->use->comm);
    if (e->sig->flags & TRC_SIG_COLL)
        ana_out_integer(out, ana_event_sequence(e));
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    ana_out_format(out, ",%c,%c", site ? site->text : NULL, site ? site->path : NULL);
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    (void)thread;
    struct ana_out *out = ((struct csv *)x->own)->events;
    enum ana_export_what what = ana_export_what(e);
    static const char *const region[] = {
        [TRC_RECORD_BEGIN] = "begin", [TRC_RECORD_END] = "end", [TRC_RECORD_OPEN] = "open"};
    TRC_ASSERT_ROWS(region, TRC_RECORD_OPEN);
    if (e->kind == TRC_RECORD_OPEN)
        return; /* began before, or before the kept records */
    put_rank(x, out, e->index);
    ana_out_format(out, "%u,", (uint64_t)e->thread);
    put_seconds(out, e->begin_ns);
    put_seconds(out, e->end_ns);
    uint64_t calls = e->sig ? ana_event_calls(e) : what == ANA_EXPORT_LOST ? e->count : 0;
    ana_out_format(out, "%s,%c,%u,", what == ANA_EXPORT_REGION ? region[e->kind] : ana_export_what_names[what],
                   ana_export_name(x, e), calls);
    put_seconds(out, e->kind == TRC_RECORD_FOLD ? e->busy_ns : e->end_ns - e->begin_ns);
    if (e->sig)
        put_signature(x, out, e);
    else
        ana_out_text(out, ",,,,,,,,"); /* the last has no comma */
    ana_out_text(out, "\r\n");
}

static void message(struct ana_exporting *x, const struct ana_message *m)
{
    struct ana_out *out = ((struct csv *)x->own)->messages;
    put_rank(x, out, m->source);
    put_rank(x, out, m->destination);
    if (m->bytes != TRC_BYTES_UNKNOWN)
        ana_out_integer(out, m->bytes);
    ana_out_format(out, ",%d,", (int64_t)m->tag);
    put_comm(x, out, m->source, m->comm_identity, NULL);
    ana_out_format(out, "%c,%c,", m->send_call ? m->send_call->name : NULL, m->recv_call ? m->recv_call->name : NULL);
    put_seconds(out, m->send_begin_ns);
    put_seconds(out, m->send_end_ns);
    put_seconds(out, m->recv_begin_ns);
    put_seconds(out, m->recv_wait_begin_ns);
    ana_out_format(out, "%T\r\n", m->recv_complete_ns);
}

static void instance(struct ana_exporting *x, const struct ana_instance *i)
{
    struct csv *csv = x->own;
    struct ana_out *out = csv->collectives;
    csv->instances++;
    for (size_t a = 0; a < i->arrivals; a++) {
        ana_out_format(out, "%u,%c,", csv->instances, i->call->name);
        put_comm(x, out, i->arrival[0].index, i->comm_identity, NULL);
        ana_out_format(out, "%u,", i->sequence);
        put_rank(x, out, i->root < 0 ? SIZE_MAX : (size_t)i->root);
        ana_out_text(out, i->mismatched ? "true," : "false,");
        put_rank(x, out, i->arrival[a].index);
        put_seconds(out, i->arrival[a].begin_ns);
        ana_out_format(out, "%T\r\n", i->arrival[a].end_ns);
    }
}

static void finish(struct ana_exporting *x)
{
    struct csv *csv = x->own;
    if (!csv)
        return;
    close_table(x, csv->events);
    close_table(x, csv->messages);
    close_table(x, csv->collectives);
    free(csv);
}

const struct ana_export_sink ana_export_csv = {
    .is = {"csv", "csv", "tables in a folder: calls, ranks, pairs, waits, events, messages ..", true},
    .wants = ANA_EXPORT_SUMS,
    .begin = begin,
    .event = event,
    .message = message,
    .instance = instance,
    .finish = finish,
};
