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

/* Begins an event of a phase. */
static void open_event(struct ana_exporting *x, const char *phase, size_t process, uint64_t thread)
{
    struct chrome *chrome = x->own;
    ana_out_format(x->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", chrome->within ? ",\n" : "\n", phase,
                   (uint64_t)process, thread);
    chrome->within = true;
}

/* Names a process or thread. */
static void put_name(struct ana_exporting *x, const char *what, size_t process, size_t thread, const char *name)
{
    open_event(x, "M", process, thread);
    ana_out_format(x->out, ",\"name\":%j,\"args\":{\"name\":%j}}", what, name);
}

static bool begin(struct ana_exporting *x)
{
    struct ana_job_info info = ana_job_info(x->job);
    char text[512];
    if (!(x->own = calloc(1, sizeof(struct chrome))))
        return ana_export_fail(x, "out of memory");
    snprintf(text, sizeof text, "%.9g", info.clock_error_s);
    ana_out_format(x->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"command\":%j,\"mpi\":%j,\"clock_error_s\":%s",
                   info.command, info.mpi, info.clock_error_s >= 0 ? text : "null");
    ana_out_format(x->out, ",\"start_unix_s\":%T,\"lost_records\":%u,\"recycled_records\":%u},\"traceEvents\":[",
                   info.start_realtime_ns, info.lost_records, info.recycled_records);
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
    ana_out_format(out, ",\"calls\":%u,\"bytes_sent\":%u,\"bytes_received\":%u", ana_event_calls(e), ana_export_sent(e),
                   ana_export_received(thread, e));
    if (partner != SIZE_MAX)
        ana_out_format(out, ",\"peer\":%j", ana_rank_label(x->job, partner).text);
    if (ana_export_tag(e, &tag))
        ana_out_format(out, ",\"tag\":%d", (int64_t)tag);
    const struct ana_export_comm *comm =
        e->use->comm ? ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm) : NULL;
    if (comm)
        ana_out_format(out, ",\"communicator\":%j", comm->name);
    if (e->sig->flags & TRC_SIG_COLL)
        ana_out_format(out, ",\"sequence\":%u", ana_event_sequence(e));
    if (e->kind == TRC_RECORD_FOLD)
        ana_out_format(out, ",\"busy_us\":%t", e->busy_ns);
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    if (site && site->text)
        ana_out_format(out, ",\"site\":%j", site->text);
    if (site && site->path)
        ana_out_format(out, ",\"path\":%j", site->path);
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
    ana_out_format(x->out, ",\"name\":%j,\"cat\":%j,\"ts\":%t", ana_export_name(x, e),
                   trc_opclass_text(e->use->call->opclass), is_part ? e->end_ns : begin_ns);
    if (is_part)
        ana_out_text(x->out, ",\"s\":\"t\"");
    else
        ana_out_format(x->out, ",\"dur\":%t", e->end_ns - begin_ns);
    ana_out_format(x->out, ",\"args\":{\"what\":\"%s\"", ana_export_what_name(what));
    put_args(x, thread, e);
    ana_out_text(x->out, "}}");
}

static void put_region(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e)
{
    uint32_t left = ana_export_regions_left(thread, e);
    for (uint32_t n = thread->open.depth; n > left; n--) {
        open_event(x, "E", e->index + FIRST_RANK, e->thread);
        ana_out_format(x->out, ",\"ts\":%t}", e->end_ns);
    }
    if (e->kind != TRC_RECORD_BEGIN || thread->open.depth == TRC_REGIONS_DEEP)
        return;
    open_event(x, "B", e->index + FIRST_RANK, e->thread);
    ana_out_format(x->out, ",\"name\":%j,\"cat\":\"region\",\"ts\":%t}", ana_export_name(x, e), e->begin_ns);
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    enum ana_export_what what = ana_export_what(e);
    if (what == ANA_EXPORT_REGION) {
        put_region(x, thread, e);
    } else if (what == ANA_EXPORT_LOST) {
        open_event(x, "i", e->index + FIRST_RANK, e->thread);
        ana_out_format(x->out,
                       ",\"name\":\"records lost\",\"s\":\"t\",\"ts\":%t,\"args\":{\"what\":\"lost\",\"records\":%u}}",
                       e->end_ns, e->count);
    } else {
        put_call(x, thread, e, what);
    }
}

/* One end of a flow.  The last moment of a slice is not in it, for viewers. */
static void put_flow(struct ana_exporting *x, const char *phase, size_t index, uint32_t step, int64_t at_ns)
{
    struct chrome *chrome = x->own;
    open_event(x, phase, index + FIRST_RANK, step ? step - 1 : 0);
    ana_out_format(x->out, ",\"name\":\"message\",\"cat\":\"message\",\"id\":%u,\"ts\":%t", chrome->flows, at_ns);
}

static void message(struct ana_exporting *x, const struct ana_message *m)
{
    struct chrome *chrome = x->own;
    bool lasts = m->recv_complete_ns > m->recv_wait_begin_ns;
    if (!ana_export_has_both(x, m))
        return;
    chrome->flows++;
    put_flow(x, "s", m->source, m->send_step, m->send_begin_ns);
    if (m->bytes == TRC_BYTES_UNKNOWN)
        ana_out_text(x->out, ",\"args\":{\"bytes\":null");
    else
        ana_out_format(x->out, ",\"args\":{\"bytes\":%u", m->bytes);
    ana_out_format(x->out, ",\"tag\":%d,\"dst\":%j}}", (int64_t)m->tag, ana_rank_label(x->job, m->destination).text);
    put_flow(x, "f", m->destination, m->recv_wait_step, m->recv_complete_ns - lasts);
    ana_out_text(x->out, ",\"bp\":\"e\"}");
}

static void instance(struct ana_exporting *x, const struct ana_instance *i)
{
    struct chrome *chrome = x->own;
    const struct ana_export_comm *comm = ana_export_comm(x, i->comm_identity, i->comm);
    const struct ana_arrival *last = &i->arrival[i->arrivals - 1];
    chrome->instances++;
    for (int end = 0; end < 2; end++) {
        open_event(x, end ? "e" : "b", COLLECTIVES, 0);
        ana_out_format(x->out, ",\"name\":%j,\"cat\":%j,\"id\":%u,\"ts\":%t", i->call->name,
                       comm ? comm->name : "collective", chrome->instances,
                       end ? ana_export_end_of(i) : i->arrival[0].begin_ns);
        if (!end)
            ana_out_format(x->out, ",\"args\":{\"ranks\":%u,\"sequence\":%u,\"last\":%j,\"skew_us\":%t}",
                           (uint64_t)i->arrivals, i->sequence, ana_rank_label(x->job, last->index).text,
                           last->begin_ns - i->arrival[0].begin_ns);
        ana_out_text(x->out, "}");
    }
}

static void finish(struct ana_exporting *x)
{
    if (x->own)
        ana_out_text(x->out, "\n]}\n");
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
