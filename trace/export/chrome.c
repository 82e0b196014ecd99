/* JSON trace events, as chrome://tracing, Perfetto and Speedscope read them: a process a rank, a thread a thread or
 * stream, slices for calls, kernels and regions, flows for messages, and a process of its own for collectives.
 * Source: "Trace Event Format", Google, 2016. */
#include "trace/export/export_impl.h"
#include <stdlib.h>

enum { COLLECTIVES = 0, FIRST_RANK = 1 }; /* numbers of processes */

struct chrome {
    bool within; /* an event was written */
    uint64_t flows, instances;
};

static void put(struct ana_out *out, const char *text)
{
    ana_out_text(out, text);
}

/* Begins an event of a phase. */
static void open_event(struct ana_exporting *x, const char *phase, size_t process, size_t thread)
{
    struct chrome *chrome = x->own;
    put(x->out, chrome->within ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    chrome->within = true;
    put(x->out, phase);
    put(x->out, "\",\"pid\":");
    ana_out_integer(x->out, process);
    put(x->out, ",\"tid\":");
    ana_out_integer(x->out, thread);
}

static void put_text(struct ana_out *out, const char *key, const char *text)
{
    put(out, ",\"");
    put(out, key);
    put(out, "\":");
    ana_out_json(out, text);
}

static void put_time(struct ana_out *out, const char *key, int64_t ns)
{
    put(out, ",\"");
    put(out, key);
    put(out, "\":");
    ana_out_time(out, ns, 3);
}

static void put_number(struct ana_out *out, const char *key, uint64_t value)
{
    put(out, ",\"");
    put(out, key);
    put(out, "\":");
    ana_out_integer(out, value);
}

/* Names a process or thread. */
static void put_name(struct ana_exporting *x, const char *what, size_t process, size_t thread, const char *name)
{
    open_event(x, "M", process, thread);
    put_text(x->out, "name", what);
    put(x->out, ",\"args\":{\"name\":");
    ana_out_json(x->out, name);
    put(x->out, "}}");
}

static bool begin(struct ana_exporting *x)
{
    struct ana_job_info info = ana_job_info(x->job);
    char text[512];
    if (!(x->own = calloc(1, sizeof(struct chrome)))) {
        ana_export_fail(x, "out of memory");
        return false;
    }
    put(x->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"command\":");
    ana_out_json(x->out, info.command);
    put_text(x->out, "mpi", info.mpi);
    snprintf(text, sizeof text, ",\"clock_error_s\":%.9g", info.clock_error_s);
    put(x->out, info.clock_error_s >= 0 ? text : ",\"clock_error_s\":null");
    put(x->out, ",\"start_unix_s\":");
    ana_out_time(x->out, info.start_realtime_ns, 9);
    put_number(x->out, "lost_records", info.lost_records);
    put_number(x->out, "recycled_records", info.recycled_records);
    put(x->out, "},\"traceEvents\":[");
    put_name(x, "process_name", COLLECTIVES, 0, "collectives of all ranks");
    for (size_t i = 0; i < ana_job_ranks(x->job); i++) {
        if (!ana_selected(x->ask->part.ranks, i))
            continue;
        ana_export_rank_words(x, i, text, sizeof text);
        put_name(x, "process_name", i + FIRST_RANK, 0, text);
        for (size_t t = 0; t < ana_export_threads(x, i); t++) {
            ana_export_thread_words(x, i, t, text, sizeof text);
            put_name(x, "thread_name", i + FIRST_RANK, t, text);
        }
    }
    return true;
}

static void put_args(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e)
{
    struct ana_out *out = x->out;
    int32_t tag;
    size_t partner = ana_export_partner(x, e);
    put_number(out, "calls", ana_event_calls(e));
    put_number(out, "bytes_sent", ana_export_sent(e));
    put_number(out, "bytes_received", ana_export_received(thread, e));
    if (partner != SIZE_MAX)
        put_text(out, "peer", ana_rank_label(x->job, partner).text);
    if (ana_export_tag(e, &tag)) {
        put(out, ",\"tag\":");
        ana_out_signed(out, tag);
    }
    const struct ana_export_comm *comm =
        e->use->comm ? ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm) : NULL;
    if (comm)
        put_text(out, "communicator", comm->name);
    if (e->sig->flags & TRC_SIG_COLL)
        put_number(out, "sequence", ana_event_sequence(e));
    if (e->kind == TRC_RECORD_FOLD)
        put_time(out, "busy_us", e->busy_ns);
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    if (site && site->text)
        put_text(out, "site", site->text);
    if (site && site->path)
        put_text(out, "path", site->path);
}

/* Requests that the call before completed have bytes of their own: instants at its end. */
static void put_call(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e,
                     enum ana_export_what what)
{
    bool is_part = what == ANA_EXPORT_PART;
    int64_t begin_ns = what == ANA_EXPORT_NESTED ? e->begin_ns : ana_export_begin(thread, e);
    if (is_part && !ana_export_sent(e) && !ana_export_received(thread, e))
        return;
    open_event(x, is_part ? "i" : "X", e->index + FIRST_RANK, e->thread);
    put_text(x->out, "name", ana_export_name(x, e));
    put_text(x->out, "cat", trc_opclass_text(e->use->call->opclass));
    put_time(x->out, "ts", is_part ? e->end_ns : begin_ns);
    if (is_part)
        put(x->out, ",\"s\":\"t\"");
    else
        put_time(x->out, "dur", e->end_ns - begin_ns);
    put(x->out, ",\"args\":{\"what\":\"");
    put(x->out, ana_export_what_name(what));
    put(x->out, "\"");
    put_args(x, thread, e);
    put(x->out, "}}");
}

static void put_region(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e)
{
    uint32_t left = ana_export_regions_left(thread, e);
    for (uint32_t n = thread->open.depth; n > left; n--) {
        open_event(x, "E", e->index + FIRST_RANK, e->thread);
        put_time(x->out, "ts", e->end_ns);
        put(x->out, "}");
    }
    if (e->kind != TRC_RECORD_BEGIN || thread->open.depth == TRC_REGIONS_DEEP)
        return;
    open_event(x, "B", e->index + FIRST_RANK, e->thread);
    put_text(x->out, "name", ana_export_name(x, e));
    put(x->out, ",\"cat\":\"region\"");
    put_time(x->out, "ts", e->begin_ns);
    put(x->out, "}");
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    enum ana_export_what what = ana_export_what(e);
    if (what == ANA_EXPORT_REGION) {
        put_region(x, thread, e);
    } else if (what == ANA_EXPORT_LOST) {
        open_event(x, "i", e->index + FIRST_RANK, e->thread);
        put(x->out, ",\"name\":\"records lost\",\"s\":\"t\"");
        put_time(x->out, "ts", e->end_ns);
        put(x->out, ",\"args\":{\"what\":\"lost\"");
        put_number(x->out, "records", e->count);
        put(x->out, "}}");
    } else {
        put_call(x, thread, e, what);
    }
}

/* One end of a flow.  The last moment of a slice is not in it, for viewers. */
static void put_flow(struct ana_exporting *x, const char *phase, size_t index, uint32_t step, int64_t at_ns)
{
    struct chrome *chrome = x->own;
    open_event(x, phase, index + FIRST_RANK, step ? step - 1 : 0);
    put(x->out, ",\"name\":\"message\",\"cat\":\"message\"");
    put_number(x->out, "id", chrome->flows);
    put_time(x->out, "ts", at_ns);
}

static void message(struct ana_exporting *x, const struct ana_message *m)
{
    struct chrome *chrome = x->own;
    if (!ana_export_has_both(x, m))
        return;
    chrome->flows++;
    put_flow(x, "s", m->source, m->send_step, m->send_begin_ns);
    put(x->out, ",\"args\":{\"bytes\":");
    if (m->bytes == TRC_BYTES_UNKNOWN)
        put(x->out, "null");
    else
        ana_out_integer(x->out, m->bytes);
    put(x->out, ",\"tag\":");
    ana_out_signed(x->out, m->tag);
    put_text(x->out, "dst", ana_rank_label(x->job, m->destination).text);
    put(x->out, "}}");
    put_flow(x, "f", m->destination, m->recv_wait_step,
             m->recv_complete_ns > m->recv_wait_begin_ns ? m->recv_complete_ns - 1 : m->recv_complete_ns);
    put(x->out, ",\"bp\":\"e\"}");
}

static void instance(struct ana_exporting *x, const struct ana_instance *i)
{
    struct chrome *chrome = x->own;
    const struct ana_export_comm *comm = ana_export_comm(x, i->comm_identity, i->comm);
    const struct ana_arrival *last = &i->arrival[i->arrivals - 1];
    int64_t end_ns = ana_export_end_of(i);
    chrome->instances++;
    for (int end = 0; end < 2; end++) {
        open_event(x, end ? "e" : "b", COLLECTIVES, 0);
        put_text(x->out, "name", i->call->name);
        put_text(x->out, "cat", comm ? comm->name : "collective");
        put_number(x->out, "id", chrome->instances);
        put_time(x->out, "ts", end ? end_ns : i->arrival[0].begin_ns);
        if (end)
            break;
        put(x->out, ",\"args\":{\"ranks\":");
        ana_out_integer(x->out, i->arrivals);
        put_number(x->out, "sequence", i->sequence);
        put_text(x->out, "last", ana_rank_label(x->job, last->index).text);
        put_time(x->out, "skew_us", last->begin_ns - i->arrival[0].begin_ns);
        put(x->out, "}}");
    }
    put(x->out, "}");
}

static void finish(struct ana_exporting *x)
{
    if (x->own)
        put(x->out, "\n]}\n");
    free(x->own);
}

const struct ana_export_sink ana_export_chrome = {
    .is = {"chrome", "json", "JSON trace events, for chrome://tracing, ui.perfetto.dev and Speedscope", false},
    .begin = begin,
    .event = event,
    .message = message,
    .instance = instance,
    .finish = finish,
};
