/* What ranks do, in their order, out of what they were seen to do: work, messages, waits, collectives. */
#include "trace/export/ti_impl.h"
#include <stdlib.h>

int32_t ti_tag(struct ana_exporting *x, const struct ana_event *e, int32_t tag)
{
    const struct ana_export_comm *of =
        e->use->comm ? ana_export_comm(x, ana_comm_identity(x->job, e->index, e->use->comm), e->use->comm) : NULL;
    return (int32_t)((of ? of->number % TI_TAGS : 0) * TI_TAGS + (uint32_t)tag % TI_TAGS);
}

uint32_t ti_number(const struct ana_exporting *x, const struct ana_event *e, int32_t world_rank)
{
    const struct ti *ti = x->own;
    bool is_rank = world_rank >= 0 || world_rank <= TRC_PEER_REMOTE;
    size_t index = is_rank ? ana_partner(x->job, e->index, e->use->comm, world_rank) : SIZE_MAX;
    return index < x->job->count && ana_selected(x->ask->part.ranks, index) ? ti->rank[index].number : UINT32_MAX;
}

/* Whether a message was meant for a rank: not for MPI_PROC_NULL. */
static bool is_meant(int32_t peer)
{
    return peer != TRC_PEER_NONE && peer != TRC_PEER_NULL;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static struct ti_request *request_of(struct ana_exporting *x, const struct ana_event *e, bool receives, bool make)
{
    struct ti *ti = x->own;
    uint64_t half = (uint64_t)e->request_thread << 1 | receives;
    if (e->request == UINT64_MAX)
        return NULL;
    return make ? ana_map_add(&ti->posted, e->index, half, e->request)
                : ana_map_find(&ti->posted, e->index, half, e->request);
}

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* A half of a message that a request stands for.  Of a receive from anywhere there is no action before it is
 * complete. */
static void start_half(struct ana_exporting *x, const struct ana_event *e, bool receives)
{
    struct ti *ti = x->own;
    const struct trc_sig *sig = e->sig;
    int32_t peer = receives ? sig->source : sig->peer, tag = receives ? sig->rtag : sig->tag;
    uint32_t number = ti_number(x, e, peer);
    bool exact = number != UINT32_MAX && tag >= 0, ends = e->request != UINT64_MAX;
    struct ti_request *request = request_of(x, e, receives, true), said = {0};
    if (ends && !request)
        ana_export_fail(x, "out of memory");
    if (exact && (ends || !receives)) { /* whose end is not known may be sent, but nobody waits for it */
        said = (struct ti_request){number + 1, ti_tag(x, e, tag), 0};
        said.node = ti->writer->message(x, e->index, receives ? TI_IRECV : TI_ISEND, number, said.tag,
                                        known(receives ? sig->received : sig->sent));
    }
    if (request)
        *request = said;
    ti->left_out += !exact && !receives && is_meant(peer);
}

/* A receive that was cancelled would stay open: who was to send to it sends nothing. */
static void answer_cancelled(struct ana_exporting *x, size_t index, const struct ti_request *request)
{
    struct ti *ti = x->own;
    for (size_t i = 0; i < x->job->count; i++)
        if (ti->rank[i].number == request->peer - 1 && ti->rank[i].begun && !ti->rank[i].ended) {
            ti->writer->message(x, i, TI_ISEND, ti->rank[index].number, request->tag, 0);
            return;
        }
}

/* A half that has ended, by a request or at once. */
static void end_half(struct ana_exporting *x, const struct ana_event *e, bool receives)
{
    struct ti *ti = x->own;
    struct ti_request *request = request_of(x, e, receives, false);
    if (request && request->peer) {
        if (receives && e->sig->flags & TRC_SIG_CANCELLED)
            answer_cancelled(x, e->index, request);
        ti->writer->wait(x, e->index, request, receives);
    } else if (receives && !(e->sig->flags & TRC_SIG_CANCELLED)) {
        uint32_t number = ti_number(x, e, e->sig->source);
        if (number != UINT32_MAX && e->sig->rtag >= 0)
            ti->writer->message(x, e->index, TI_RECV, number, ti_tag(x, e, e->sig->rtag), known(e->sig->received));
        ti->left_out += (number == UINT32_MAX || e->sig->rtag < 0) && is_meant(e->sig->source);
    }
    if (request)
        ana_map_remove(&ti->posted, request);
}

/* A blocking call: what it sends leaves first, where it does both. */
static void put_blocking(struct ana_exporting *x, const struct ana_event *e)
{
    struct ti *ti = x->own;
    const struct trc_sig *sig = e->sig;
    bool sends = sig->flags & TRC_SIG_P2P_OUT, receives = sig->flags & TRC_SIG_P2P_IN;
    uint32_t to = sends ? ti_number(x, e, sig->peer) : UINT32_MAX;
    int32_t tag = to != UINT32_MAX ? ti_tag(x, e, sig->tag) : 0;
    ti->left_out += sends && to == UINT32_MAX && is_meant(sig->peer);
    struct ti_request sent = {to + 1, tag, 0};
    if (to != UINT32_MAX)
        sent.node = ti->writer->message(x, e->index, receives ? TI_ISEND : TI_SEND, to, tag, known(sig->sent));
    if (receives)
        end_half(x, e, true);
    if (to != UINT32_MAX && receives)
        ti->writer->wait(x, e->index, &sent, false);
}

static void put_collective(struct ana_exporting *x, const struct ana_event *e)
{
    struct ti *ti = x->own;
    bool starts = e->sig->flags & TRC_SIG_START && ti->writer->started;
    struct ti_request *request = starts ? request_of(x, e, false, true) : NULL;
    if (starts && e->request != UINT64_MAX && !request)
        ana_export_fail(x, "out of memory");
    if (!request) {
        ti->left_out += !ti->writer->collective(x, e);
        return;
    }
    uint64_t node = ti->writer->started(x, e);
    *request = (struct ti_request){node ? UINT32_MAX : 0, 0, node};
    ti->left_out += !node;
}

static void put_call(struct ana_exporting *x, const struct ana_event *e)
{
    uint32_t flags = e->sig->flags;
    bool message = flags & (TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN);
    if (flags & TRC_SIG_COMPLETE) {
        end_half(x, e, flags & TRC_SIG_P2P_IN);
    } else if (flags & TRC_SIG_START && message && e->use->call->opclass != TRC_OP_MPROBE) {
        if (flags & TRC_SIG_P2P_OUT)
            start_half(x, e, false);
        if (flags & TRC_SIG_P2P_IN)
            start_half(x, e, true);
    } else if (message && e->use->call->opclass != TRC_OP_MPROBE && !trc_opclass_is_probe(e->use->call->opclass)) {
        put_blocking(x, e);
    } else if (flags & TRC_SIG_COLL && !(flags & TRC_SIG_CONTROL) && e->use->comm) {
        put_collective(x, e);
    }
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool number_ranks(struct ana_exporting *x, struct ti *ti)
{
    ti->rank = calloc(x->job->count + 1, sizeof *ti->rank);
    for (size_t i = 0; ti->rank && i < x->job->count; i++) {
        ti->rank[i].clock.until_ns = INT64_MIN;
        if (ana_selected(x->ask->part.ranks, i))
            ti->rank[i].number = (uint32_t)ti->ranks++;
    }
    return ti->rank;
}

bool ti_begin(struct ana_exporting *x, const struct ti_writer *writer)
{
    const struct ana_ti *change = x->ask->ti;
    struct ti *ti = x->own = calloc(1, sizeof *ti);
    if (x->ask->part.begin_ns > 0 || x->ask->part.end_ns != INT64_MAX) {
        ana_export_fail(x, "a part of the time cannot be replayed: whom its messages went to is not in it");
        return false;
    }
    if (ti) {
        ti->writer = writer;
        ti->copies = change && change->copies > 1 ? change->copies : 1;
        ana_map_init(&ti->posted, sizeof(struct ti_request));
        ana_map_init(&ti->levels, sizeof(struct ti_level));
    }
    if (!ti || !number_ranks(x, ti) || (change && change->level && !ti_find_levels(x, ti, change->level))) {
        ana_export_fail(x, "out of memory");
        return false;
    }
    if (x->ask->ti)
        *x->ask->ti = (struct ana_ti){change->level, change->copies, INT64_MAX, INT64_MIN, ti->ranks, 0};
    return true;
}

static void end_rank(struct ana_exporting *x, size_t index)
{
    struct ti_rank *rank = &((struct ti *)x->own)->rank[index];
    if (rank->begun && !rank->ended)
        ((struct ti *)x->own)->writer->end(x, index);
    rank->ended = true;
}

static void begin_rank(struct ana_exporting *x, size_t index, int64_t at_ns)
{
    struct ti_rank *rank = &((struct ti *)x->own)->rank[index];
    struct ana_ti *told = x->ask->ti;
    rank->work_ns = 0; /* what it did before is in no rank's run */
    if (!rank->begun)
        ((struct ti *)x->own)->writer->begin(x, index);
    if (told && !rank->begun && at_ns < told->begin_ns)
        told->begin_ns = at_ns;
    rank->begun = true;
}

void ti_event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    struct ti *ti = x->own;
    struct ti_rank *rank = &ti->rank[e->index];
    enum ana_export_what what = ana_export_what(e);
    (void)thread;
    if ((what != ANA_EXPORT_CALL && what != ANA_EXPORT_POLL && what != ANA_EXPORT_PART) || rank->ended)
        return;
    bool inits = e->use->call->opclass == TRC_OP_INIT, ends = e->use->call->opclass == TRC_OP_FINALIZE;
    struct ti_span span = ti_work(x, &rank->clock, e);
    if (!rank->begun)
        begin_rank(x, e->index, inits ? e->end_ns : e->begin_ns);
    else
        rank->work_ns += ti_levelled(ti, x->ask->ti ? x->ask->ti->level : NULL, e->index, span);
    if (ends)
        end_rank(x, e->index);
    else if (what != ANA_EXPORT_POLL)
        put_call(x, e);
    int64_t at_ns = ends ? e->begin_ns : e->end_ns;
    if (x->ask->ti && at_ns > x->ask->ti->end_ns)
        x->ask->ti->end_ns = at_ns;
}

void ti_end_ranks(struct ana_exporting *x)
{
    struct ti *ti = x->own;
    for (size_t i = 0; ti->rank && i < x->job->count; i++)
        end_rank(x, i);
}

void ti_finish(struct ana_exporting *x)
{
    struct ti *ti = x->own;
    if (!ti)
        return;
    if (!x->error[0])
        ti_end_ranks(x);
    if (x->ask->ti)
        x->ask->ti->left_out = ti->left_out * ti->copies;
    ana_map_free(&ti->posted);
    ana_map_free(&ti->levels);
    free(ti->alone);
    free(ti->rank);
    free(ti);
}
