/* Perfetto's protobuf: a track a thread or stream below a process a rank, slices with interned names, flows for
 * messages, tracks of their own for collectives and rates.
 * Source: perfetto.dev, "Trace Packet Defaults", "Track events" and the reference of TracePacket. */
#include "trace/export/perfetto_impl.h"
#include <stdlib.h>

enum { TRACK_JOB = 1, TRACK_SENT, TRACK_RECEIVED, TRACK_COLLECTIVES, FIRST_TRACK };

static const char *const keys[KEYS] = {
#define KEY(id, text) text,
    PERFETTO_KEYS(KEY)
#undef KEY
};

static void put_ranks(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    char text[256];
    for (size_t i = 0; i < ana_job_ranks(x->job); i++) {
        if (!ana_selected(x->ask->part.ranks, i))
            continue;
        uint64_t rank = FIRST_TRACK + perfetto->tracks++;
        ana_export_rank_words(x, i, text, sizeof text);
        ana_perfetto_track(x, rank, 0, text, i + 1, NULL);
        for (size_t t = 0; t < ana_export_threads(x, i); t++) {
            perfetto->track[x->first[i] + t] = FIRST_TRACK + perfetto->tracks++;
            ana_export_thread_words(x, i, t, text, sizeof text);
            ana_perfetto_track(x, perfetto->track[x->first[i] + t], rank, text, 0, NULL);
        }
    }
}

/* Facts needed to read the whole: an instant at the begin of the job. */
static void put_job(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    struct ana_job_info info = ana_job_info(x->job);
    uint32_t name = ana_perfetto_intern(x, NAME, "hpctop export"), command = ana_perfetto_intern(x, TEXT, info.command),
             mpi = ana_perfetto_intern(x, TEXT, info.mpi);
    uint8_t *event = ana_perfetto_begin(x, 0, INSTANT, TRACK_JOB, name, 0);
    if (info.clock_error_s >= 0)
        ana_perfetto_real(perfetto, ERROR, info.clock_error_s);
    ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, COMMAND, command);
    ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, MPI, mpi);
    ana_perfetto_annotate(perfetto, ANNOTATION_UINT, LOST, info.lost_records);
    ana_perfetto_annotate(perfetto, ANNOTATION_UINT, RECYCLED, info.recycled_records);
    ana_perfetto_annotate(perfetto, ANNOTATION_INT, SHIFT, (uint64_t)perfetto->shift_ns);
    ana_perfetto_end(x, event);
}

static bool begin(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own = calloc(1, sizeof *perfetto);
    if (perfetto)
        perfetto->track = calloc(x->first[ana_job_ranks(x->job)] + 1, sizeof *perfetto->track);
    if (!perfetto || !perfetto->track)
        return ana_export_fail(x, "out of memory");
    ana_map_init(&perfetto->interned, sizeof(uint32_t));
    ana_map_init(&perfetto->lanes, sizeof(struct lanes));
    perfetto->step_ns = ana_job_info(x->job).elapsed_ns / RATES + 1;
    perfetto->shift_ns = ana_export_shift(x);
    for (int i = 0; i < KEYS; i++)
        ana_perfetto_intern(x, KEY_TEXT, keys[i]);
    perfetto->send = ana_perfetto_intern(x, NAME, "send");
    perfetto->receive = ana_perfetto_intern(x, NAME, "receive");
    perfetto->is_message = ana_perfetto_intern(x, CATEGORY, "message");
    ana_perfetto_track(x, TRACK_JOB, 0, "the job", 0, NULL);
    ana_perfetto_track(x, TRACK_SENT, TRACK_JOB, "bytes sent, all ranks", 0, "B/s");
    ana_perfetto_track(x, TRACK_RECEIVED, TRACK_JOB, "bytes received, all ranks", 0, "B/s");
    ana_perfetto_track(x, TRACK_COLLECTIVES, TRACK_JOB, "collectives", 0, NULL);
    put_ranks(x);
    put_job(x);
    return true;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Data shared by all events of a signature lies in its `use`, which belongs to this walk: numbers of texts, + 1, 0:
 * not looked up yet. */
struct shared {
    uint32_t name, category, site, path, comm, peer;
};
static struct shared shared_of(struct ana_exporting *x, const struct ana_event *e, enum ana_export_what what)
{
    struct ana_use *use = e->use;
    if (use->number)
        return (struct shared){use->number - 1, use->mark - 1, use->site - 1,
                               use->region - 1, use->from - 1, use->place - 1};
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    const struct ana_export_comm *comm =
        e->use->comm ? ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm) : NULL;
    const char *category = what == ANA_EXPORT_CALL || what == ANA_EXPORT_POLL ? trc_opclass_text(e->use->call->opclass)
                                                                              : ana_export_what_names[what];
    size_t peer = ana_export_partner(x, e);
    struct shared of = {
        ana_perfetto_intern(x, NAME, ana_export_name(x, e)), ana_perfetto_intern(x, CATEGORY, category), 0, 0, 0, 0};
    of.comm = comm ? ana_perfetto_intern(x, TEXT, comm->name) : 0;
    of.site = site && site->text ? ana_perfetto_intern(x, TEXT, site->text) : 0;
    of.path = site && site->path ? ana_perfetto_intern(x, TEXT, site->path) : 0;
    of.peer = peer != SIZE_MAX ? ana_perfetto_intern(x, TEXT, ana_rank_label(x->job, peer).text) : 0;
    use->number = of.name + 1;
    use->mark = of.category + 1;
    use->site = of.site + 1;
    use->region = of.path + 1;
    use->from = of.comm + 1;
    use->place = of.peer + 1;
    return of;
}

/* Counts bytes for the rates. */
static void count_bytes(struct ana_exporting *x, int64_t at_ns, uint64_t sent, uint64_t received)
{
    struct perfetto *perfetto = x->own;
    int64_t at = at_ns / perfetto->step_ns;
    at = at < 0 ? 0 : at >= RATES ? RATES - 1 : at;
    perfetto->sent[at] += sent;
    perfetto->received[at] += received;
}

static void put_details(struct ana_exporting *x, const struct ana_event *e, const struct shared *of, uint64_t sent,
                        uint64_t received)
{
    struct perfetto *perfetto = x->own;
    int32_t tag;
    if (e->kind == TRC_RECORD_FOLD) {
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, CALLS, ana_event_calls(e));
        ana_perfetto_annotate(perfetto, ANNOTATION_INT, BUSY, (uint64_t)e->busy_ns);
    }
    if (sent)
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, SENT, sent);
    if (received)
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, RECEIVED, received);
    if (of->peer)
        ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, PEER, of->peer);
    if (ana_export_tag(e, &tag))
        ana_perfetto_annotate(perfetto, ANNOTATION_INT, TAG, (uint64_t)tag);
    if (of->comm)
        ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, COMM, of->comm);
    if (e->sig->flags & TRC_SIG_COLL)
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, ORDER, ana_event_sequence(e));
    if (of->site)
        ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, SITE, of->site);
    if (of->path)
        ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, PATH, of->path);
}

static void put_call(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e,
                     enum ana_export_what what)
{
    struct perfetto *perfetto = x->own;
    uint64_t track = perfetto->track[thread - x->thread];
    uint64_t sent = ana_export_sent(e), received = ana_export_received(e);
    bool is_part = what == ANA_EXPORT_PART;
    if (is_part && !sent && !received)
        return;
    struct shared of = shared_of(x, e, what);
    int64_t begin_ns = is_part ? e->end_ns : what == ANA_EXPORT_NESTED ? e->begin_ns : ana_export_begin(thread, e);
    if (what != ANA_EXPORT_NESTED && what != ANA_EXPORT_DEVICE)
        count_bytes(x, e->end_ns, sent, received);
    uint8_t *event = ana_perfetto_begin(x, begin_ns, is_part ? INSTANT : SLICE_BEGIN, track, of.name, of.category);
    put_details(x, e, &of, sent, received);
    ana_perfetto_end(x, event);
    if (!is_part)
        ana_perfetto_end(x, ana_perfetto_begin(x, e->end_ns, SLICE_END, track, 0, 0));
}

static void put_region(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e)
{
    struct perfetto *perfetto = x->own;
    uint64_t track = perfetto->track[thread - x->thread];
    uint32_t left = ana_export_regions_left(thread, e);
    for (uint32_t n = thread->open.depth; n > left; n--)
        ana_perfetto_end(x, ana_perfetto_begin(x, e->end_ns, SLICE_END, track, 0, 0));
    if (e->kind != TRC_RECORD_BEGIN || thread->open.depth == TRC_REGIONS_DEEP)
        return;
    uint32_t name = ana_perfetto_intern(x, NAME, ana_export_name(x, e)),
             category = ana_perfetto_intern(x, CATEGORY, "region");
    ana_perfetto_end(x, ana_perfetto_begin(x, e->begin_ns, SLICE_BEGIN, track, name, category));
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    struct perfetto *perfetto = x->own;
    enum ana_export_what what = ana_export_what(e);
    if (what == ANA_EXPORT_REGION) {
        put_region(x, thread, e);
    } else if (what == ANA_EXPORT_LOST) {
        uint32_t name = ana_perfetto_intern(x, NAME, ana_export_name(x, e));
        uint8_t *lost = ana_perfetto_begin(x, e->end_ns, INSTANT, perfetto->track[thread - x->thread], name, 0);
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, RECORDS, e->count);
        ana_perfetto_end(x, lost);
    } else if (e->use) {
        put_call(x, thread, e, what);
    }
}

/* One end of a flow, an instant inside its call. */
static void put_flow(struct ana_exporting *x, bool is_end, const struct ana_export_thread *thread, int64_t at_ns,
                     const struct ana_message *m)
{
    struct perfetto *perfetto = x->own;
    uint8_t *event = ana_perfetto_begin(x, at_ns, INSTANT, perfetto->track[thread - x->thread],
                                        is_end ? perfetto->receive : perfetto->send, perfetto->is_message);
    ana_proto_fixed(&perfetto->p, is_end ? EVENT_FLOW_END : EVENT_FLOW, perfetto->flows);
    if (m->bytes != TRC_BYTES_UNKNOWN)
        ana_perfetto_annotate(perfetto, ANNOTATION_UINT, BYTES, m->bytes);
    ana_perfetto_annotate(perfetto, ANNOTATION_INT, TAG, (uint64_t)m->tag);
    ana_perfetto_end(x, event);
}

static void message(struct ana_exporting *x, const struct ana_message *m)
{
    struct perfetto *perfetto = x->own;
    const struct ana_export_thread *from = ana_export_thread_of(x, m->source, m->send_step),
                                   *to = ana_export_thread_of(x, m->destination, m->recv_wait_step);
    bool lasts = m->recv_complete_ns > m->recv_wait_begin_ns;
    if (!from || !to || !ana_export_has_both(x, m))
        return;
    perfetto->flows++;
    put_flow(x, false, from, m->send_begin_ns, m);
    put_flow(x, true, to, m->recv_complete_ns - lasts, m);
}

/* The track of a communicator that is free from begin to end; 0: all are taken. */
static uint64_t free_lane(struct ana_exporting *x, const struct ana_instance *i, int64_t begin_ns, int64_t end_ns)
{
    struct perfetto *perfetto = x->own;
    struct lanes *lanes = ana_map_add(&perfetto->lanes, i->comm_identity, 0, 0);
    const struct ana_export_comm *comm = ana_export_comm(x, i->comm_identity, i->comm);
    int lane = 0;
    while (lanes && lane < lanes->count && lanes->until_ns[lane] > begin_ns)
        lane++;
    if (!lanes || lane == LANES)
        return 0;
    if (lane == lanes->count) {
        lanes->count++;
        lanes->uuid[lane] = FIRST_TRACK + perfetto->tracks++;
        ana_perfetto_track(x, lanes->uuid[lane], TRACK_COLLECTIVES, comm ? comm->name : "?", 0, NULL);
    }
    lanes->until_ns[lane] = end_ns;
    return lanes->uuid[lane];
}

static void instance(struct ana_exporting *x, const struct ana_instance *i)
{
    struct perfetto *perfetto = x->own;
    const struct ana_arrival *first = &i->arrival[0], *last = &i->arrival[i->arrivals - 1];
    int64_t end_ns = ana_export_end_of(i);
    uint64_t track = free_lane(x, i, first->begin_ns, end_ns);
    if (!track)
        track = TRACK_COLLECTIVES;
    uint32_t name = ana_perfetto_intern(x, NAME, i->call->name),
             category = ana_perfetto_intern(x, CATEGORY, "collective"),
             who = ana_perfetto_intern(x, TEXT, ana_rank_label(x->job, last->index).text);
    uint8_t *event = ana_perfetto_begin(x, first->begin_ns, track == TRACK_COLLECTIVES ? INSTANT : SLICE_BEGIN, track,
                                        name, category);
    ana_perfetto_annotate(perfetto, ANNOTATION_UINT, RANKS, i->arrivals);
    ana_perfetto_annotate(perfetto, ANNOTATION_UINT, ORDER, i->sequence);
    ana_perfetto_annotate(perfetto, ANNOTATION_TEXT, LAST, who);
    ana_perfetto_annotate(perfetto, ANNOTATION_INT, SKEW, (uint64_t)(last->begin_ns - first->begin_ns));
    ana_perfetto_end(x, event);
    if (track != TRACK_COLLECTIVES)
        ana_perfetto_end(x, ana_perfetto_begin(x, end_ns, SLICE_END, track, 0, 0));
}

/* Bytes a second, in a thousand steps. */
static void put_rates(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    int64_t step_ns = perfetto->step_ns;
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < RATES; i++) {
            uint64_t bytes = (way ? perfetto->received : perfetto->sent)[i];
            uint8_t *event = ana_perfetto_begin(x, i * step_ns, COUNTER, way ? TRACK_RECEIVED : TRACK_SENT, 0, 0);
            ana_proto_double(&perfetto->p, EVENT_VALUE, (double)bytes / ((double)step_ns / 1e9));
            ana_perfetto_end(x, event);
        }
}

static void finish(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    if (!perfetto)
        return;
    if (perfetto->track && perfetto->begun)
        put_rates(x);
    ana_map_free(&perfetto->interned);
    ana_map_free(&perfetto->lanes);
    free(perfetto->track);
    free(perfetto);
}

const struct ana_export_sink ana_export_perfetto = {
    .is = {"perfetto", "pftrace", "protobuf for ui.perfetto.dev and its trace_processor", false},
    .begin = begin,
    .event = event,
    .message = message,
    .instance = instance,
    .finish = finish,
};
